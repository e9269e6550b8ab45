# %% [markdown]
# # Embed and search
#
# A BERT turns a text into a vector, so that texts with similar meanings have similar vectors. Start
# from a published embedder; all-MiniLM-L6-v2 is small and good.

# %%
import keras_bert

model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
documents = [
    "The bakery on Mill Street opens at six.",
    "Trains to the coast leave every half hour.",
    "To reset the router, hold the button for ten seconds.",
    "The museum is closed on Mondays.",
    "Bread keeps longest in a linen bag.",
    "Our office is on the third floor, next to the stairs.",
]
vectors = model.encode_document(documents)
vectors.shape

# %% [markdown]
# ## Search
#
# `search` is exact. It goes through the documents in blocks, and their vectors may be a
# memory-mapped array.

# %%
query = "Where can I buy fresh rolls in the morning?"
indices, cosines = model.search(query, vectors, top_k=2)
for index, cosine in zip(indices[0], cosines[0]):
    print(f"{cosine:.2f}  {documents[index]}")

# %%
model.similarity(["fresh rolls", "a day at the sea"], vectors).round(2)

# %% [markdown]
# `similarity` gives every cosine, and `similarity_pairwise` those of pairs.
#
# ## Your data and the loss
#
# `BertEmbedder.fit` takes what you have, and each kind of data has one default loss:
#
# | your data | call | loss |
# |---|---|---|
# | pairs that belong together: question and answer, title and text | `fit((anchors, positives))` | `InBatchNegatives` |
# | the same, with texts that don't belong | `fit((anchors, positives, negatives))` | `InBatchNegatives` |
# | pairs with a score, 0 to 1 or 0 to 5 | `fit((texts, others), scores)` | `CoSENT` |
# | texts with classes, also a few of each | `fit(texts, classes)` | `InBatchNegatives` on drawn triplets |
# | texts with vectors of a teacher | `compile(loss="mse")`, `fit(texts, vectors)` | your own |
#
# `InBatchNegatives` is cross-entropy over cosines times 20: each anchor must find its positive
# among the positives and negatives of all examples in the batch. `CoSENT` orders the cosines of
# pairs by their scores. Both are `keras.losses.Loss`, so
# `compile(loss=keras_bert.CoSENT(scale=10.0))` works too.
#
# ## Train
#
# Start from an encoder, or better from an embedder as above. Here are questions and their answers:

# %%
questions = ["What is dull?", "What is fine?", "What is a book?"]
answers = ["the film", "the day", "paper"]
model.fit((questions, answers), epochs=2, batch_size=3, verbose=0)
model.scores((questions, answers))  # {'mrr@10': ..., 'accuracy': ...}: does each find its own?

# %% [markdown]
# - **Larger batches are better**, because they hold more negatives. `accumulation_steps=8` gives
#   the numbers of the whole batch in the memory of an eighth: all parts are embedded without
#   gradients, and then again, one by one, with them. Several devices share their negatives as well.
#   The weights equal those of one device and one part.
# - **Equal texts are not negatives of each other.** If two anchors have the same positive, or an
#   anchor occurs twice, the loss leaves out the texts that would be wrong negatives. No sampler has
#   to keep them apart.
# - **Shorter vectors.** `matryoshka_dims=(384, 128, 64)` trains the first 128 and 64 values of each
#   vector to be good vectors of their own.
# - **Many devices.** Make the model in the scope of `get_strategy()`, as for every task.
#
# With the same weights, batches and schedule, losses equal those of sentence-transformers
# ([measured](../results.md#training-of-sentence-embeddings)).
#
# As a command, with a development file that selects the best epoch:
#
# ```bash
# python recipes/finetune_embedder.py --init bert/preset --train pairs.tsv --dev dev.tsv \
#     --text_columns question answer --batch_size 64 --output embedder
# python recipes/finetune_embedder.py --init bert/preset --train sts.tsv --dev sts_dev.tsv \
#     --text_columns sentence1 sentence2 --score_column score --output sts
# ```
#
# ## Prompts and shorter vectors
#
# Some published embedders need a prompt before each text: E5 has "query: " and "passage: ".
# `from_preset` reads the prompts of sentence-transformers' folders. For a model of your own:

# %%
reader = keras_bert.BertEmbedderPreprocessor.like(
    model.preprocessor, prompts={"query": "query: ", "document": "passage: "}
)
prompted = keras_bert.BertEmbedder(model.backbone, preprocessor=reader, truncate_dim=64)
prompted.encode_query("What is a book?")  # [1, 64], of length 1
prompted.export("served/embedder")  # with the signatures query and document

# %% [markdown]
# `encode_query`, `search` and the anchors of pairs without scores get the prompt of queries, and
# documents and positives that of documents. `predict` and `answer` get none, unless
# `default_prompt_name` is set.
#
# `truncate_dim` keeps the first values of each vector, and then scales them to length 1.
# sentence-transformers, which doesn't store it, cuts after its scaling; cosines are the same.
# `save_to_hugging_face` writes a folder for `SentenceTransformer`.
