"""Trains small models on some devices and prints their logs and weights as lines of JSON.

    python _divided_batches.py tensorflow 2 '{"accumulation_steps": 2, "jit_compile": true}' ...

Run by divided_batches.py: one number of devices to a process, several settings in it.
"""

import json
import os
import sys

BACKEND, DEVICES = sys.argv[1], int(sys.argv[2])
os.environ["KERAS_BACKEND"] = BACKEND
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"

import contextlib  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402

import keras_bert  # noqa: E402

SIZE = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 32}
ROWS, LENGTH, SLOTS, STEPS = 16, 12, 4, 20


def make_scope():
    if BACKEND == "tensorflow" and DEVICES > 1:
        return keras_bert.get_strategy("mirrored").scope
    if BACKEND == "jax":
        return keras_bert.get_strategy().scope
    return contextlib.nullcontext


def make_devices():
    if BACKEND == "tensorflow":
        import tensorflow as tf

        [cpu] = tf.config.list_physical_devices("CPU")
        logical = [tf.config.LogicalDeviceConfiguration()] * DEVICES
        tf.config.set_logical_device_configuration(cpu, logical)


def inputs(rng, rows):
    lengths = np.linspace(3, LENGTH, rows).astype("int32")
    padding_mask = (np.arange(LENGTH) < lengths[:, None]).astype("int32")
    token_ids = rng.integers(5, 40, (rows, LENGTH)).astype("int32") * padding_mask
    return {"token_ids": token_ids, "padding_mask": padding_mask}


def pretrainer(rng, rows):
    model = keras_bert.BertPretrainer(backbone())
    x = inputs(rng, rows)
    x["mask_positions"] = np.tile(np.arange(SLOTS, dtype="int32"), (rows, 1))
    y = {
        "masked_lm": rng.integers(0, 40, (rows, SLOTS)),
        "next_sentence": rng.integers(0, 2, (rows,)),
    }
    slots = np.linspace(1, SLOTS, rows).astype("int32")  # few in the first rows
    used = (np.arange(SLOTS) < slots[:, None]).astype("float32")
    weights = {"masked_lm": used, "next_sentence": np.ones(rows, "float32")}
    return model, x, y, weights


def classifier(rng, rows):
    model = keras_bert.BertClassifier(backbone(), num_classes=3, dropout=0.0)
    weights = np.linspace(0.1, 3, rows).astype("float32")
    return model, inputs(rng, rows), rng.integers(0, 3, (rows,)), weights


def token_classifier(rng, rows):
    model = keras_bert.BertTokenClassifier(backbone(), num_classes=3, dropout=0.0)
    x = inputs(rng, rows)
    return model, x, rng.integers(0, 3, (rows, LENGTH)), x["padding_mask"].astype("float32")


def span_labeler(rng, rows):
    model = keras_bert.BertSpanLabeler(backbone())
    names = list(model.default_compile_args()["loss"])
    return model, inputs(rng, rows), {name: rng.integers(0, 3, (rows,)) for name in names}, None


def backbone():
    return keras_bert.BertBackbone(40, **SIZE, dropout=0.0, max_sequence_length=LENGTH)


def train(
    scope,
    task,
    accumulation_steps=1,
    steps_per_execution=1,
    jit_compile="auto",
    total=STEPS * ROWS,
    stock=False,
):
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    rows = ROWS
    with scope():
        model, x, y, weights = globals()[task](rng, total)
        arguments = model.default_compile_args()
        optimizer = keras_bert.AdamW(1e-3, global_clipnorm=0.05)
        if stock:
            model, optimizer = stock_model(model, accumulation_steps)
            rows //= accumulation_steps
        arguments |= {"optimizer": optimizer, "jit_compile": jit_compile}
        model.compile(**arguments, steps_per_execution=steps_per_execution)
    order = np.random.default_rng(2).permutation(total)
    x, y, weights = keras.tree.map_structure(
        lambda part: None if part is None else part[order], (x, y, weights)
    )
    options = {} if stock else {"accumulation_steps": accumulation_steps}
    options |= {"sample_weight": weights, "batch_size": rows, "shuffle": False, "verbose": 0}
    history = model.fit(x, y, **options)
    return {
        "logs": {name: float(values[-1]) for name, values in history.history.items()},
        "weights": {
            weight.path: keras.ops.convert_to_numpy(weight).ravel().tolist()
            for weight in model.trainable_variables
        },
    }


def stock_model(model, accumulation_steps):
    """The same layers with Keras's own `fit` and AdamW."""
    parts = accumulation_steps if accumulation_steps > 1 else None
    settings = {"weight_decay": 0.01, "epsilon": 1e-6, "global_clipnorm": 0.05}
    optimizer = keras.optimizers.AdamW(1e-3, gradient_accumulation_steps=parts, **settings)
    optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return Stock(model), optimizer


class Stock(keras.Model):
    """A task in a model of Keras's own, which otherwise needs data for every optional input."""

    def __init__(self, task):
        super().__init__()
        self.task = task

    def call(self, inputs, training=None):
        return self.task(inputs, training=training)


if __name__ == "__main__":
    make_devices()
    scope = make_scope()
    for settings in map(json.loads, sys.argv[3:]):
        print(json.dumps(train(scope, **settings)), flush=True)
