# %% [markdown]
# # Speed and memory
#
# Rows of different lengths are padded to the same one, and padding costs time. This guide shows how
# to waste less of it, and what to do if memory is short.

# %%
import keras_bert

tagger = keras_bert.BertTokenClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["O", "B-PER", "I-PER"],
    sequence_length=128,
)
words = [["Ada", "Lovelace", "wrote", *["it"] * n] for n in range(40)]
tags = [["B-PER", "I-PER", "O", *["O"] * n] for n in range(40)]

# %% [markdown]
# `fit` tokenizes texts in memory once, before the first batch. A `Batching` sets how rows are
# batched:

# %%
batching = keras_bert.Batching(bucket_lengths=(32, 64, 128), tokens_per_batch=4096)
tagger.fit(words, tags, batching=batching, verbose=2)

# %% [markdown]
# By default each batch is padded to its longest row, or to quarters of the sequence if XLA compiles
# the model for each length. `bucket_lengths` groups rows of similar lengths, and `tokens_per_batch`
# gives short rows larger batches.
#
# `Batching(packed=True)` puts several sequences into a row, so that almost nothing is padded. It
# works for classifiers of one or two texts, taggers and span labelers. The losses and metrics are
# those of the same sequences in rows of their own. `batch_size` counts rows, so a step sees more
# sequences than with padded rows; choose a smaller one to see as many. Recipes take `--packed`:

# %%
tagger.fit(words, tags, batching=keras_bert.Batching(batch_size=8, packed=True), verbose=2)

# %% [markdown]
# The `accumulation_steps` argument of `fit` trades time for memory. The optimizers' `layer_decay`
# slows down the lower layers. Most recipes have options for these.
#
# Every recipe that fine-tunes calls `keras_bert.finetune`. It trains epoch by epoch, keeps the best
# epoch's model, stops early (`--patience`), and resumes when you rerun the command. Without a
# development set, `--validation_split 0.1` selects the epoch on the last tenth of the training
# file.
#
# How full the batches are, without and with packing:

# %%
for packed in (False, True):
    data = tagger.batches(words, tags, batching=keras_bert.Batching(batch_size=8, packed=packed))
    used = total = 0
    for inputs, *_ in data:
        real = inputs["sequence_ids"] > 0 if packed else inputs["padding_mask"] > 0
        used, total = used + real.numpy().sum(), total + real.numpy().size
    print(f"packed={packed}: {used / total:.0%} of {total:,} tokens are real")

# %% [markdown]
# ## Kernels of attention
#
# Attention takes the fastest kernel that runs: on JAX one of our own on TPUs, which keeps scores
# out of the chip's memory and drops probabilities itself, and cuDNN's on GPUs; on PyTorch
# `scaled_dot_product_attention`. The last two have no dropout, so on GPUs they train with
# `BertBackbone(..., attention_dropout=0)`. `keras.config.disable_flash_attention()` selects plain
# attention, which runs everywhere.
#
# ## Memory
#
# If memory is short, split batches with `accumulation_steps`, or set `backbone.remat = True`. That
# recomputes each block for its gradients instead of keeping its intermediate results
# ([measured](../results.md#memory-of-training)). `keras_bert.Lamb` suits batches of many thousands
# of rows.
