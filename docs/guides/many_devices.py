# %% [markdown]
# # Train on many devices
#
# The same recipes run on one CPU or GPU, on all GPUs of a machine, on several machines and on a
# TPU; with `KERAS_BACKEND=jax` they run on JAX's devices. At the start they print the devices they
# use. They have been tested with virtual CPU devices instead of GPUs and local processes instead of
# machines.

# %%
import keras_bert

strategy = keras_bert.get_strategy("auto")  # or "mirrored", "multiworker", "tpu", "single"
with strategy.scope():
    model = keras_bert.BertClassifier.from_preset(
        "hf://sentence-transformers/all-MiniLM-L6-v2", num_classes=2
    )
    model.compile()
history = model.fit(
    ["a fine book", "a dull book"], [1, 0], batch_size=2, accumulation_steps=2, verbose=0
)

# %% [markdown]
# The batch size counts the rows of all replicas together. However the batch is divided, losses,
# metrics and weights are the same within 1e-5 after 20 steps ([what is
# tested](../results_numbers.md#equal-on-any-number-of-devices)). Replicas use different dropout masks, and
# a run is reproducible from its seed. `jit_compile=True` compiles the forward and backward pass of
# each replica; it is the default if TensorFlow finds a GPU.
#
# Rerun an interrupted command to resume it. The result has the same bits as an uninterrupted run,
# in pre-training and fine-tuning (`make kill-test` kills recipes at 99 random moments).
# `TrainingCheckpoint` writes in a background thread, keeps the last few checkpoints, and skips
# damaged files with a warning. It refuses a checkpoint of another model or optimizer; the number of
# devices may change.
#
# ## Several machines
#
# Start the same program on each machine. On TensorFlow, TF_CONFIG lists the machines and says which
# of them this one is, 0 or 1:
#
# ```bash
# export TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}'
# ```
#
# `get_strategy("multiworker")` is the first line of the program, before anything makes a tensor.
# This one fine-tunes a classifier on two machines that share a folder:
#
# ```py
# import pandas as pd
#
# import keras_bert
#
# strategy = keras_bert.get_strategy("multiworker")
# table = pd.read_csv("train.tsv", sep="\t", dtype=str)
# texts, labels = table["text"], table["label"]
# with strategy.scope():
#     model = keras_bert.BertClassifier.from_preset(
#         "hf://sentence-transformers/all-MiniLM-L6-v2", label_names=sorted(set(labels))
#     )
# keras_bert.finetune(model, (texts, labels), 0.1, "reviews", strategy=strategy)
# ```
#
# The recipes take `--strategy multiworker`, which is also what `auto` finds. Until all processes have
# started, they wait, and only `kill -9` ends them. On JAX, set the variables that Keras documents:
#
# ```bash
# export KERAS_BACKEND=jax KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:1234  # of the first process
# export KERAS_DISTRIBUTION_NUM_PROCESSES=2 KERAS_DISTRIBUTION_PROCESS_ID=0  # 1 in the second
# ```
#
# Every process makes the same batches, and its devices take their share of the rows. On JAX, `fit`
# raises an error if processes get different data; the recipes, if they get different settings. The
# first process writes checkpoints, presets and logs; all processes read them, so `--output` must be
# a folder that all of them can access. The results equal a single process's, as tested with two
# local processes (`pytest tests/pairs tests/training/test_jax_processes.py
# tests/recipes/test_many_processes.py`). `train_bilstm_tagger.py` runs on one device, because its
# BiLSTM is a plain Keras model.
#
# ## TPUs
#
# TPU requirements are tested without a TPU. Each model's train step has static shapes, no strings
# and only ops that XLA compiles, and the TPU's own compiler accepts it (`pytest
# tests/training/test_tpu_ready.py`).
#
# On a TPU all batches need the same shape. The default, `Batching(pad_to="auto")`, pads every row
# to the full sequence there and drops a smaller last batch in training. With `pretrain_tpu.py` the
# corpus and the output may be `gs://...`, and so may the folder of `TrainingCheckpoint`.
# Fine-tuning writes to the machine's own disk.
#
# On a TPU's host, tensorflow-tpu replaces tensorflow:
# `pip install ".[tensorflow]" tensorflow-text==2.20.1`, `pip uninstall tensorflow`, then
# `pip install tensorflow-tpu==2.20.0 libtpu==0.0.17`. tensorflow-tpu has no XLA for CPUs, so
# outside of the strategy Keras's own models and a bare `BertBackbone` need
# `compile(jit_compile=False)`.
#
# What training on TPUs or GPUs would take, their compilers tell without one: see
# [Traffic and memory](../results_speed.md#traffic-and-memory-on-a-gpu).
