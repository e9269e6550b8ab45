# %% [markdown]
# # Embed and search
#
# An embedder turns a text into a vector, and texts of similar meaning into similar vectors. Search
# then needs no shared words. This guide searches the notices of a village with all-MiniLM-L6-v2, a
# small published embedder, and then teaches it names that it can't know.

# %%
import keras_bert

model = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
notices = [
    "The bakery on Mill Street opens at six in the morning.",
    "Trains to the coast leave every half hour from platform two.",
    "To reset the router, hold its button for ten seconds.",
    "The museum of natural history is closed on Mondays.",
    "Bread stays fresh longest in a linen bag.",
    "A red light on the washing machine means that the filter is blocked.",
    "The library lends books for four weeks, films for one.",
    "Water tomatoes in the morning, never on their leaves.",
    "The swimming pool has free entry for children under six.",
    "Old batteries can be left at the town hall.",
    "Doctor Weber sees patients without an appointment on Tuesdays.",
    "The choir meets on Thursday evening in the school.",
]
vectors = model.encode_document(notices)
vectors.shape

# %%
questions = [
    "Where can I buy rolls before work?",
    "My internet doesn't work.",
    "I would like to sing.",
    "What do I do with used electronics?",
    "I don't feel well.",
]
indices, cosines = model.search(questions, vectors, top_k=2)  # [5, 2] each
for question, found, near in zip(questions, indices, cosines):
    print(question)
    for index, cosine in zip(found, near):
        print(f"    {cosine:.2f}  {notices[index]}")

# %% [markdown]
# `similarity` gives every cosine, and `similarity_pairwise` those of pairs; or
# dot products, if a folder of sentence-transformers says so in its `similarity_fn_name`:

# %%
print(model.similarity(questions[:2], notices[:4]).round(2))  # [2, 4]
print(model.similarity_pairwise(questions[:2], [notices[0], notices[2]]).round(2))  # [2]

# %% [markdown]
# ## An index
#
# `search` is exact: it compares a question with every document, in hardly more time than the matrix
# product takes ([measured](../results_tasks.md#search)). Many millions of documents, ids of their own,
# removal, small vectors and an index on disk are the business of libraries such as
# [usearch](https://unum-cloud.github.io/usearch/python/) or faiss (`pip install ".[recipes]"` brings usearch):

# %%
from usearch.index import Index

index = Index(ndim=vectors.shape[1], metric="cos", dtype="i8")  # a byte for each value
index.add(range(len(vectors)), vectors)
index.remove(11)  # the choir
index.save("notices.usearch")
index = Index.restore("notices.usearch", view=True)  # stays on the disk
matches = index.search(model.encode_query("I would like to play."), 1)
matches.keys, 1 - matches.distances

# %% [markdown]
# An index doesn't know its model: after training, embed the documents again.
#
# ## Keywords and vectors
#
# Vectors find other wordings of the same thing, keywords names and numbers that no encoder has
# learned. Both searches together find more than either: each document gets the reciprocals of its
# ranks ([measured](../results_tasks.md#keywords-and-vectors)). The package `bm25s` searches
# keywords (`pip install ".[recipes]"`):

# %%
from collections import Counter

import bm25s


def tokens(texts):
    return bm25s.tokenize(texts, stopwords="en", show_progress=False)


keywords = bm25s.BM25()
keywords.index(tokens(notices), show_progress=False)


def search(question, top_k=2):
    """Finds notices by vectors and by keywords."""
    by_vectors, _ = model.search(question, notices, top_k=10)
    by_words, scores = keywords.retrieve(tokens([question]), k=10, show_progress=False)
    points = Counter()
    for ranking in (by_vectors[0], by_words[0][scores[0] > 0]):  # those that share a word
        for rank, index in enumerate(ranking.tolist(), 1):
            points[index] += 1 / (60 + rank)
    return [notices[index] for index, _ in points.most_common(top_k)]


for question in questions[:2]:
    print(question, *search(question), sep="\n    ")

# %% [markdown]
# ## Train on pairs
#
# In one house the machines have names. The embedder has never heard of them, so it can't tell which
# notice answers which question. `accuracy` is how often a question's own notice is the nearest.

# %%
machines = {
    "Otter": "washing machine",
    "Falcon": "coffee machine",
    "Badger": "vacuum cleaner",
    "Heron": "dishwasher",
    "Lynx": "lawn mower",
    "Walrus": "freezer",
}
asked = [f"My {name} has a problem." for name in machines]
repairs = [f"Repairs of the {machine} are free for two years." for machine in machines.values()]
model.scores((asked, repairs))

# %% [markdown]
# Pairs of texts that belong together teach it. Notices on repairs are not among them.

# %%
wordings = {
    "How do I look after the {}?": "Clean the {} once a month.",
    "Tell me about the {}.": "The {} was bought last year.",
    "Where is the manual of the {}?": "This is the manual of the {}.",
    "The {} makes a noise.": "Read page nine if your {} is loud.",
}
pairs = [
    (question.format(name), answer.format(machine))
    for question, answer in wordings.items()
    for name, machine in machines.items()
]
anchors, positives = map(list, zip(*pairs))
model.compile(keras_bert.AdamW(1e-4))  # few pairs, so larger steps than the default's
history = model.fit((anchors, positives), epochs=12, batch_size=12, verbose=0)
model.scores((asked, repairs))

# %%
indices, cosines = model.search(asked, repairs, top_k=1)
for question, index, cosine in zip(asked, indices[:, 0], cosines[:, 0]):
    print(f"{question:28} {cosine:.2f}  {repairs[index]}")

# %% [markdown]
# ## Hard negatives
#
# To `fit`, the other positives of a batch are wrong answers, and most of them are easy to tell
# apart. `mine_hard_negatives` adds harder ones: of all positives, or of a `corpus`, those nearest to
# each question. Here most of them give the same answer for another machine:

# %%
mined = model.mine_hard_negatives((anchors, positives), num_negatives=1, relative_margin=0.0)
for question, answer, negative in list(zip(*mined))[::6]:
    print(question, f"    {answer}", f"not {negative}", sep="\n")

# %%
history = model.fit(mined, epochs=4, batch_size=12, verbose=0)
model.scores((asked, repairs))

# %% [markdown]
# The text nearest to a question is often another right answer, which nobody marked. A margin keeps
# such texts out: `relative_margin=0.0` takes only those farther away than the question's own
# answer. On real data, `relative_margin=0.05` is a good start, and `range_min=10` skips the ten
# nearest. `fit` takes the result as it is; a [reranker](rerank.py) takes pairs with their relevance:
#
# ```py
# questions, answers, others = model.mine_hard_negatives(pairs, documents, relative_margin=0.05)
# model.fit((questions, answers, others))
# right, wrong = {*zip(questions, answers)}, {*zip(questions, others)}
# reranker.fit([*right, *wrong], [1.0] * len(right) + [0.0] * len(wrong))
# ```
#
# A question with too few negatives gets fewer examples; a warning counts them. Negatives and their
# order are those of sentence-transformers' function of that name.
#
# ## Good to know
#
# Start from an encoder, or better from a published embedder, as here. With the same weights,
# batches and schedule, losses equal those of sentence-transformers
# ([measured](../results_tasks.md#training-of-sentence-embeddings)). Four things to know:
#
# - **Larger batches are better**, because they hold more negatives. `accumulation_steps=8` gives
#   the numbers of the whole batch in the memory of an eighth: all parts are embedded without
#   gradients, and then again, one by one, with them. Several devices share their negatives as well.
#   The weights equal those of one device and one part.
# - **Equal texts are not negatives of each other.** If two anchors have the same positive, or an
#   anchor occurs twice, the loss leaves out the texts that would be wrong negatives. No sampler has
#   to keep them apart.
# - **Shorter vectors.** `matryoshka_dims=(384, 128, 64)` trains the first 128 and 64 values of each
#   vector to be good vectors of their own.
# - **Many devices.** Make the model in the scope of `get_strategy()`, as for [every
#   task](many_devices.py).
#
# The recipe selects the best epoch on a development file:
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
# `from_preset` reads the prompts of sentence-transformers' folders. A model of your own takes them
# from its preprocessor, and keeps the first values of its vectors with `truncate_dim`:

# %%
reader = keras_bert.BertEmbedderPreprocessor.like(
    model.preprocessor, prompts={"query": "query: ", "document": "passage: "}
)
short = keras_bert.BertEmbedder(model.backbone, preprocessor=reader, truncate_dim=64)
indices, cosines = short.search("I would like to sing.", notices, top_k=1)
short.encode_query("I would like to sing.").shape, notices[indices[0, 0]]

# %% [markdown]
# `encode_query`, `search` and the anchors of pairs without scores get the prompt of queries, and
# documents and positives that of documents. `predict` and `answer` get none, unless
# `default_prompt_name` is set. The [exported model](serve.py) has the signatures `query` and
# `document`.
#
# `truncate_dim` keeps the first values of each vector, and then scales them to length 1.
# sentence-transformers, which doesn't store it, cuts after its scaling; cosines are the same.
# `save_to_hugging_face` writes a folder for `SentenceTransformer`.
#
# If the best hits come in the wrong order, [rerank](rerank.py) them.
#
# ## Reference: your data and the loss
#
# `BertEmbedder.fit` takes what you have, and each kind of data has one default loss:
#
# | your data | call | loss |
# |---|---|---|
# | pairs that belong together: question and answer, title and text | `fit((anchors, positives))` | `InBatchNegatives` |
# | the same, with texts that don't belong, such as [mined ones](#hard-negatives) | `fit((anchors, positives, negatives))` | `InBatchNegatives` |
# | pairs with a score, 0 to 1 or 0 to 5 | `fit((texts, others), scores)` | `CoSENT` |
# | texts with classes, also [a few of each](few_labels.py) | `fit(texts, classes)` | `InBatchNegatives` on drawn triplets |
# | texts with vectors of a teacher | `compile(loss="mse")`, `fit(texts, vectors)` | your own |
#
# `InBatchNegatives` is cross-entropy over cosines times 20: each anchor must find its positive
# among the positives and negatives of all examples in the batch. `CoSENT` orders the cosines of
# pairs by their scores. Both are `keras.losses.Loss`, so
# `compile(loss=keras_bert.losses.CoSENT(scale=10.0))` works too.
