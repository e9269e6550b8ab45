# %% [markdown]
# # Pre-training data: vocabulary and corpus
#
# Pre-training needs three things made from plain text: a vocabulary, a corpus of tokens, and
# batches with masked words. This guide makes each from the language reference that comes with
# Python, and looks at it. It needs `pip install ".[tensorflow,corpus]"`.

# %%
from pathlib import Path
from pydoc_data.topics import topics

import keras_bert

Path("texts").mkdir()
for name, text in topics.items():
    Path("texts", f"{name}.txt").write_text(text, encoding="utf-8")
len(topics), sum(map(len, topics.values()))

# %% [markdown]
# ## A vocabulary
#
# BERT reads *word pieces*. Frequent words are one piece, others are cut; `##` marks a piece inside
# a word. A published vocabulary has about 30,000 pieces. Learn your own for another language or a
# field with words of its own.

# %%
vocabulary = keras_bert.learn_vocabulary("texts", vocabulary_size=2000, progress=False)
print(*vocabulary[:5], "...", *vocabulary[700:712])

# %% [markdown]
# `BertTokenizer` gives the tokens of Google's `tokenization.py`, as lists of ids.

# %%
tokenizer = keras_bert.BertTokenizer(vocabulary, lowercase=True)
token_ids = tokenizer(["Raw text in,", "token ids out."])
token_ids

# %% [markdown]
# With offsets, each token knows the characters that it comes from:

# %%
text = "A decorator is un-pythonic?"
ids, starts, ends = tokenizer.tokenize_with_offsets(text)
for id, start, end in zip(ids, starts, ends):
    print(f"{id:5} {tokenizer.id_to_token(id):8} {text[start:end]}")

# %% [markdown]
# ## A corpus
#
# `prepare_corpus` finds sentences and documents, tokenizes them, and writes them as shards. Do it
# once for a vocabulary.

# %%
corpus = keras_bert.prepare_corpus("texts", "corpus", tokenizer, num_workers=1, progress=False)
corpus

# %% [markdown]
# It and `learn_vocabulary` read text where it lies:
#
# - prose, with paragraphs as lines or wrapped; they find the sentences. A file is a document, or
#   several if you give a `document_separator`, such as `r"^\s*CHAPTER "`;
# - a sentence per line and a blank line between documents (`text_format="sentences"`), the format
#   of Google's code;
# - rows: `.parquet`, or JSON lines (`.jsonl`). `text_column` names the column. A row is a document,
#   read like a text file of the same content, and gives the same tokens.
#
# All but Parquet may be compressed (`.gz`, `.bz2`, `.zst`), and a single worker reads such a file.
# Wikipedia's articles without markup are the rows of `hf://datasets/wikimedia/wikipedia`.
# Inputs are files, folders or patterns, local, in `gs://` buckets, or in data sets of the Hugging
# Face Hub, which are downloaded to its cache:
#
# ```py
# keras_bert.prepare_corpus(
#     "hf://datasets/user/name@main/data/train-*.parquet",  # without a pattern, all of its files
#     "corpus",
#     tokenizer,
#     text_column="body",
#     language_column="language",  # of the rules that end sentences
#     min_tokens=20,  # shorter documents are left out, and counted
#     drop_repeated=True,  # and so are documents with the text of an earlier one
# )
# ```
#
# The work is cut into slices for local processes, one per core, or for workers of Apache Beam.
# Memory doesn't grow with the corpus. An interrupted call resumes when you repeat it.
#
# ## A batch
#
# `pretraining_dataset` pairs and masks the texts during training, differently in every epoch, and
# identically for the same seed and step.

# %%
data = keras_bert.pretraining_dataset(corpus, batch_size=8, sequence_length=32, seed=24)
x, y, weights = next(iter(data))
for name, values in x.items():
    print(f"{name:15} {values.shape}")

# %% [markdown]
# A row is `[CLS] A [SEP] B [SEP]`. Half of the time B follows A, otherwise it is a random text of
# another document. 15 % of the tokens are to be predicted: of these, 80 % become `[MASK]`, 10 % a
# random word, and 10 % stay. Here are two rows, with the tokens to predict:

# %%
for row in range(2):
    print(tokenizer.detokenize(x["token_ids"][row]))
    wanted = y["masked_lm"][row][weights["masked_lm"][row] > 0]
    print("  predict:", *(tokenizer.id_to_token(id) for id in wanted.numpy()))
    print("  B is", ["the next text", "a random text"][y["next_sentence"][row]], end="\n\n")

# %% [markdown]
# `segment_ids` are 0 for A and 1 for B, `padding_mask` is 1 at tokens and 0 at padding, and
# `mask_positions` are the places of the predicted tokens. Arguments set all of this: the rates, the
# masking of whole words, and `next_sentence=False` for masked words alone.
#
# With `packed=True`, several short sequences share a row, and a token sees only its own sequence.
# Losses and gradients are those of rows with one sequence each, and almost nothing is padded:

# %%
settings = {"batch_size": 16, "sequence_length": 256}
plain, _, _ = next(iter(keras_bert.pretraining_dataset(corpus, **settings)))
packed, _, _ = next(iter(keras_bert.pretraining_dataset(corpus, packed=True, **settings)))
print(f"one sequence per row: {plain['padding_mask'].numpy().mean():.0%} are tokens")
print(f"packed:               {(packed['sequence_ids'].numpy() > 0).mean():.0%}")

# %% [markdown]
# ## As commands
#
# The corpus resumes if you rerun it. The last runs on Apache Beam.
#
# ```bash
# python recipes/learn_vocabulary.py books/*.txt --output_file vocab.txt --vocabulary_size 500
# python recipes/prepare_corpus.py books/*.txt --vocabulary vocab.txt --output corpus
# python recipes/prepare_corpus.py books --vocabulary vocab.txt --output corpus \
#     --runner DirectRunner
# ```
#
# One core prepares [2 million tokens a second](../results_speed.md#speed-of-text) and masks 6 million.
# Next: [pre-train](pretrain.py).
