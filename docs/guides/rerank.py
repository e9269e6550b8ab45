# %% [markdown]
# # Rerank search results
#
# A cross-encoder reads a query and a document together. It is more accurate than comparing vectors,
# and slower: search first, then rerank what was found.

# %%
import keras_bert

reranker = keras_bert.BertReranker.from_preset("hf://sentence-transformers/all-MiniLM-L6-v2")
reranker.fit((["What is dull?", "What is dull?"], ["the film", "the day"]), [1.0, 0.0], verbose=0)
reranker.rank("What is dull?", ["the day", "the film"], top_k=1)  # index, score and text

# %% [markdown]
# | your data | call | loss |
# |---|---|---|
# | query, document, relevance from 0 to 1 | `fit((queries, documents), relevance)` | binary cross-entropy |
# | query, document, a teacher's score | `compile(loss="mse")`, the same `fit` | squared error |
# | query, better and worse document, the teacher's margin | `compile(loss=MarginMeanSquaredError())`, `fit((queries, better, worse), margins)` | squared error of margins |
#
# ```bash
# python recipes/finetune_reranker.py --init bert/preset --train train.tsv --dev dev.tsv \
#     --output reranker
# ```
#
# `retrieval_scores` computes MRR, NDCG, recall and MAP as `trec_eval` does.
