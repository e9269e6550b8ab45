# %% [markdown]
# # BERT as features
#
# A BERT that is never trained further still gives vectors: of texts, for any model of scikit-learn,
# or of tokens, for a tagger. This is cheap. The vectors are computed once, and only a small model
# is trained on them. scikit-learn comes with `pip install ".[recipes]"`.

# %%
import numpy as np
from sklearn.linear_model import LogisticRegression

import keras_bert

embedder = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
texts = [
    "Chop the onions and fry them gently.",
    "Bake at 180 degrees until golden.",
    "Add a pinch of salt to the dough.",
    "The keeper saved a penalty in the last minute.",
    "She won the final in three sets.",
    "Their coach resigned after the match.",
]
labels = ["food"] * 3 + ["sport"] * 3
regression = LogisticRegression().fit(embedder.predict(texts, verbose=0), labels)
new = ["Let it simmer for an hour.", "They lost both games at home."]
regression.predict(embedder.predict(new, verbose=0))

# %% [markdown]
# Such vectors are mostly about topics. For other classes, fine-tuning is better: see
# [classify](classify.py), or [a few labels](few_labels.py).
#
# ## Vectors of tokens
#
# With `pooling=None` each token has a vector, and padding has 0. A word's vector depends on its
# sentence. The layers show how: in the embeddings, layer 0, every "spring" is nearly the same, and
# in the last layer the two seasons are near each other, and far from the two coils of steel.

# %%
sentences = [
    "The tulips bloom in spring.",
    "It was a warm day in early spring.",
    "The mattress has a broken spring.",
    "A steel spring holds the lid shut.",
]
for layer in (0, -1):
    tokens = keras_bert.BertEmbedder.from_preset(
        "hf://sentence-transformers/all-MiniLM-L6-v2", layers=[layer], pooling=None
    )
    vectors = tokens.predict(sentences, verbose=0)  # [4, S, H]
    token_ids = tokens.preprocessor(sentences)["token_ids"]
    spring = tokens.preprocessor.tokenizer("spring")[0]
    springs = np.array([row[list(ids).index(spring)] for row, ids in zip(vectors, token_ids)])
    print(f"layer {layer}\n{(springs @ springs.T).round(2)}")

# %% [markdown]
# Layers are numbered as in transformers: 0 is the embeddings, 1 the first block, -1 the last.
# Several are combined with `combine`: "concat", "sum", "mean", or "weighted", which trains a weight
# for each layer, as ELMo does. Blocks after the highest layer are not computed.

# %%
features = keras_bert.BertEmbedder.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    layers=[-1, -2],
    pooling=None,
    normalize=False,
)
features.predict(sentences, verbose=0).shape  # [4, S, 2 * H]: "concat" is the default

# %% [markdown]
# As a command, for a file with a text per line. `.jsonl` is the format of Google's
# `extract_features.py`; `.npz` is smaller and faster.
#
# ```bash
# python recipes/extract_features.py books/strings.txt --init bert/preset \
#     --output_file features.npz --layers -1 -2
# ```
#
# ## A tagger on a frozen BERT
#
# With `backbone.freeze()` only a task's head is trained. A tagger's head is a linear layer
# on the tokens' vectors:

# %%
tagger = keras_bert.BertTokenClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=["O", "B-PET", "B-FOOD"]
)
tagger.backbone.freeze()
tagger.compile(keras_bert.AdamW(1e-2))
words = [
    "my cat likes fish".split(),
    "the old dog ate my bread".split(),
    "give the rabbit a carrot".split(),
    "an apple for the horse".split(),
]
tags = [
    "O B-PET O B-FOOD".split(),
    "O O B-PET O O B-FOOD".split(),
    "O O B-PET O B-FOOD".split(),
    "O B-FOOD O O B-PET".split(),
]
tagger.fit(words, tags, epochs=40, verbose=0)
print("trained:", *(variable.path for variable in tagger.trainable_variables))
text = "The hamster sleeps on a potato, and the goat took your sandwich."
found = tagger.answer(text)
list(zip(found["entity_text"], found["entity_type"]))

# %% [markdown]
# The paper's feature-based approach is a BiLSTM of two layers on the last four layers. On
# CoNLL-2003 it comes within 0.3 F1 of fine-tuning; [table 7](../paper.md#table-7-features) is the
# same at a small scale. The recipe computes the vectors once and keeps them in memory:
#
# ```bash
# python recipes/train_bilstm_tagger.py --init bert/preset --output tagger \
#     --train train.conll --dev dev.conll --layers -1 -2 --units 64 --epochs 2
# ```
#
# To search with the vectors of texts, and to train them, see [embed and
# search](embed_and_search.py).
