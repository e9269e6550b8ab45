# %% [markdown]
# # Rerank search results
#
# A search by vectors embeds query and document apart, and small words get lost: in "What isn't
# closed on Sunday?" the word that counts is "closed". A cross-encoder reads query and document
# together, so each word of one sees each word of the other. It is more accurate than comparing
# vectors, and slower: search first, then rerank what was found.

# %%
import keras_bert

documents = [
    "The planetarium is closed on Sunday.",
    "On Sunday the zoo stays closed.",
    "The ice rink is open on Sunday.",
    "Nobody works at the cinema on Sunday.",
    "On Sunday you can visit the castle.",
    "The town museum is open on Monday.",
]
embedder = keras_bert.BertEmbedder.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
query = "What isn't closed on Sunday?"
indices, cosines = embedder.search(query, documents, top_k=len(documents))
for index, cosine in zip(indices[0], cosines[0]):
    print(f"{cosine:.2f}  {documents[index]}")

# %% [markdown]
# ## Train a reranker
#
# It learns from pairs of a query and a document, and the document's relevance from 0 to 1. These
# are about other places than the documents above. If you have right documents only, an embedder
# [mines wrong ones](embed_and_search.py#hard-negatives).

# %%
places = ["bakery", "library", "swimming pool", "theater", "market hall", "flower shop"]
days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
is_open = ["The {} is open on {}.", "On {1} you can visit the {0}.", "The {} opens at ten on {}."]
is_closed = [
    "The {} is closed on {}.",
    "Nobody works at the {} on {}.",
    "On {1} the {0} stays closed.",
]
asked = ["Where can I go on {}?", "What is open on {}?", "What isn't closed on {}?"]
pairs, relevance = [], []
for number, (place, day) in enumerate((place, day) for place in places for day in days):
    question = asked[number // 7 % 3].format(day)
    other_day = days[(days.index(day) + 1 + number % 6) % 7]
    pairs.append((question, is_open[number % 3].format(place, day)))
    pairs.append((question, is_closed[number % 3].format(place, day)))
    pairs.append((question, is_open[(number + 1) % 3].format(place, other_day)))
    relevance += [1.0, 0.0, 0.0]
len(pairs), pairs[:3]

# %%
reranker = keras_bert.BertReranker.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2", sequence_length=32
)
steps = 12 * len(pairs) // 16
rate = keras_bert.WarmupLinearDecay(2e-4, warmup_steps=steps // 10, total_steps=steps)
reranker.compile(keras_bert.AdamW(rate))
history = reranker.fit(pairs, relevance, epochs=12, batch_size=16, verbose=2)

# %% [markdown]
# ## Rank
#
# `rank` scores the documents for a query, and returns the best with index, score and text.

# %%
for found in reranker.rank(query, documents):
    print(f"{found['score']:.2f}  {found['text']}")

# %% [markdown]
# ## Score rankings
#
# `metrics.retrieval_scores` computes MRR, NDCG, recall and MAP as `trec_eval` does.

# %%
right = {query: {documents[2]: 1, documents[4]: 1}}
searched = {query: {documents[i]: float(c) for i, c in zip(indices[0], cosines[0])}}
reranked = {query: {each["text"]: each["score"] for each in reranker.rank(query, documents)}}
for name, scores in {"searched": searched, "reranked": reranked}.items():
    found = keras_bert.metrics.retrieval_scores(right, scores, k=2)
    print(name, *(f"{score} {value:.2f}" for score, value in found.items()))

# %% [markdown]
# ## The same as a command
#
# The recipe reads queries, documents and their relevance, and keeps the epoch with the best MRR.
#
# ```bash
# python recipes/finetune_reranker.py --init bert/preset --train train.tsv --dev dev.tsv \
#     --output reranker
# ```
#
# On paragraphs of SQuAD, a reranker trained on 1,000 questions raises the MRR@10 of a search from
# .76 to .78 ([measured](../results_tasks.md#search-and-reranking)); its negatives are drawn from the
# nearest 100, and its rate is 1e-4. `from_preset` also loads published cross-encoders of
# sentence-transformers, which need no training.
#
# Trained on tens of questions, a reranker orders results worse than the search did. So compare: give
# the pairs of the development set in the order in which the search found them, and `scores` warns if
# that order was the better one.
#
# ## Reference: your data and the loss
#
# | your data | call | loss |
# |---|---|---|
# | query, document, relevance from 0 to 1 | `fit((queries, documents), relevance)` | binary cross-entropy |
# | query, document, a teacher's score | `compile(loss="mse")`, the same `fit` | squared error |
# | query, better and worse document, the teacher's margin | `compile(loss=MarginMeanSquaredError())`, `fit((queries, better, worse), margins)` | squared error of margins |
