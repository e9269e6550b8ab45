# %% [markdown]
# # Use BERT as features
#
# A BERT that is not trained further still gives vectors: for search and similarity, or as features
# for another model.

# %%
import keras_bert

embedder = keras_bert.BertEmbedder.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", layers=[-1, -2], combine="mean"
)
texts = ["a fine book", "a good novel", "a rainy day"]
vectors = embedder.predict(texts)  # each of length 1
vectors.shape, embedder.similarity(texts, texts).round(2)

# %% [markdown]
# Layers are numbered as in transformers: 0 is the embeddings, -1 the last block. `combine` is
# "concat", "sum", "mean", or "weighted", which trains a weight for each layer, as ELMo does.
#
# Any model of scikit-learn takes the vectors:

# %%
from sklearn.linear_model import LogisticRegression

regression = LogisticRegression().fit(vectors, ["book", "book", "weather"])
regression.predict(embedder.predict(["a storm at night", "a thick volume of stories"]))

# %% [markdown]
# Without pooling there is a vector for each token, 0 at padding:

# %%
tokens = keras_bert.BertEmbedder.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", layers=[-1, -2], pooling=None, normalize=False
)
tokens.predict(["a fine book"]).shape  # texts, tokens of the sequence, layers x hidden size

# %% [markdown]
# [Embed and search](embed_and_search.py) trains an embedder and searches with it.
#
# ## As commands
#
# The first writes token vectors as JSON lines like those of Google's `extract_features.py`, or as
# `.npz`. The second is the paper's feature-based approach, a BiLSTM on a frozen BERT
# ([table 7](../paper.md#table-7-features)).
#
# ```bash
# python recipes/extract_features.py books/strings.txt --init bert/preset \
#     --output_file features.npz --layers -1 -2
# python recipes/train_bilstm_tagger.py --init bert/preset --output tagger \
#     --train train.conll --dev dev.conll --layers -1 -2 --units 64 --epochs 2
# ```
