# %% [markdown]
# # Speed and memory
#
# Texts have different lengths, and the rows of a batch have one. The rest is padding, which costs
# as much time as text. This guide wastes less of it in training, then goes on to precision, kernels
# and memory. For several devices, see [train on many devices](many_devices.py).
#
# ## Batches with little padding
#
# These 400 texts are about the sea or about a kitchen. Most are short and some are long, as reviews
# and questions are.

# %%
import keras
import numpy as np

import keras_bert

keras.utils.set_random_seed(1)
words = {
    "sea": "the old boat left its small harbor and sailed along a quiet coast".split(),
    "kitchen": "she stirred the hot soup and cut fresh bread with a sharp knife".split(),
}
labels = [*words] * 200
lengths = np.random.lognormal(3.2, 0.8, 400).astype(int) + 1
texts = [" ".join(np.random.choice(words[label], length)) for label, length in zip(labels, lengths)]
print(f"Half of the texts have at most {np.median(lengths):.0f} words, one has {lengths.max()}.")

# %% [markdown]
# A `Batching` sets how rows are batched. `batches` gives what `fit` trains on, so how full the
# batches are can be seen before training:

# %%
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["sea", "kitchen"],
    sequence_length=128,
)
buckets = (16, 32, 64, 128)
ways = {
    'pad_to="full"': keras_bert.Batching(pad_to="full"),
    "the default": keras_bert.Batching(),
    "bucket_lengths": keras_bert.Batching(bucket_lengths=buckets),
    "and tokens_per_batch": keras_bert.Batching(bucket_lengths=buckets, tokens_per_batch=2048),
}
print(f"{'':20}  batches   tokens  real")
for name, batching in ways.items():
    batches = [inputs for inputs, *_ in classifier.batches(texts, labels, batching=batching)]
    total = sum(np.size(inputs["token_ids"]) for inputs in batches)
    real = sum(np.count_nonzero(inputs["padding_mask"]) for inputs in batches)
    print(f"{name:20}  {len(batches):7}  {total:7,}  {real / total:4.0%}")

# %% [markdown]
# - By default, a batch is padded to its longest row. XLA compiles a model for each length, so on
#   JAX's CPU a batch is padded to one of the lengths 8, 12, 16, 24, 32, 48, ..., on GPUs to one of
#   four, and on TPUs to the sequence length.
# - `bucket_lengths` batches texts of similar lengths. `tokens_per_batch` then gives short texts
#   larger batches, so that each step takes about as long.
#
# `fit` takes any of them; recipes take `--bucket_lengths`. A model's first epoch takes longer,
# because its step is traced, so compare the second epochs. In pre-training, several texts can share
# a row: see `packed` of `pretraining_dataset`.

# %%
for name in ("the default", "bucket_lengths"):
    print(name)
    classifier.fit(texts, labels, batching=ways[name], epochs=2, verbose=2)

# %% [markdown]
# `predict`, `answer` and `scores` sort texts in memory by length; there is nothing to set.
#
# ## Half the bytes
#
# GPUs, TPUs and new CPUs multiply bfloat16 numbers faster than float32, and they take half the
# space. With the policy `mixed_bfloat16`, a model computes in bfloat16 and keeps its weights in
# float32. Recipes take `--precision mixed_bfloat16`.

# %%
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["sea", "kitchen"],
    sequence_length=128,
    dtype="mixed_bfloat16",
)
classifier.compute_dtype, classifier.variable_dtype

# %% [markdown]
# On a CPU without instructions for bfloat16, it is slower than float32. `lscpu` lists
# `avx512_bf16` or `amx_bf16` if they are there.
#
# ## Kernels of attention
#
# Attention takes the fastest kernel that runs:
#
# | backend | device | kernel |
# |---|---|---|
# | JAX | GPU | cuDNN's flash attention, in bfloat16 and float16, from Ampere (A100) on |
# | PyTorch | all | `scaled_dot_product_attention` |
# | others | all | plain attention |
#
# JAX's kernel has no dropout, so a model that trains with it takes plain attention;
# `BertBackbone(..., attention_dropout=0)` selects the kernel in training too. `predict` always takes
# it. `keras.config.disable_flash_attention()` selects plain attention everywhere.
#
# ## If memory is short
#
# Training keeps what each block computed until its gradients are done. Two settings keep less:

# %%
classifier.backbone.remat = True  # each block is computed again for its gradients
history = classifier.fit(
    texts,
    labels,
    batch_size=32,
    accumulation_steps=4,  # a batch goes through the model in four parts
    verbose=2,
)

# %% [markdown]
# Neither changes the losses or the weights, beyond rounding. Base on 8 rows of 512 tokens peaks at
# 9.3 GiB. Four parts need 5.8 GiB, and `remat` 4.2
# ([measured](../results_speed.md#memory-of-training)). Recipes take `--accumulation_steps`, and
# `pretrain_tpu.py` also `--remat`.
#
# To make a trained model smaller, see [int8](published_weights.py#precision-and-quantization) and
# [exported models](serve.py).
