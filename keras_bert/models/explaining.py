"""Integrated gradients: how much each word adds to an answer. S sequence, W words, E embedding."""

import contextlib
import threading
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.preprocessing.forms import is_single
from keras_bert.preprocessing.task_checks import preprocessor_of
from keras_bert.training.keras_internals import all_layers

_TOKENS = 1024  # of the rows that are computed at once, which bounds the memory
_ONE_AT_A_TIME = threading.Lock()


def explain(
    task: keras.Model, x: Any, target: Any = None, steps: int = 50, baseline: str = "pad"
) -> dict[str, Any]:
    """Computes how much each word of an example adds to an answer; see `BertTask.explain`."""
    check_int("steps", steps)
    check_one_of("baseline", baseline, ("pad", "mask"))
    if any(getattr(layer, "quantization_mode", None) for layer in all_layers(task)):
        raise ValueError("A quantized model is not smooth: explain the one that you quantized.")
    preprocessor = preprocessor_of(task)
    if not is_single(x):
        raise ValueError(f"explain takes a single example, such as a text; got {shown(x)}.")
    row = preprocessor.explained(x, target, lambda inputs: task(inputs, training=False))
    table = task.backbone.token_embedding
    ids = row.inputs["token_ids"].reshape(-1)  # [S]
    blank = getattr(preprocessor.tokenizer, f"{baseline}_token_id")
    change = table(ids) - table(np.where(row.word < 0, ids, blank))
    change = ops.convert_to_numpy(ops.cast(change, "float32"))  # [S, E]

    def values(shares):
        """Computes the values `[B]` of rows that are moved by shares `[B, S, E]` of the change."""
        inputs = {name: np.repeat(x, len(shares), axis=0) for name, x in row.inputs.items()}
        with _moved(table, ops.multiply(shares, change)):
            outputs = task(inputs, training=False)
        return row.value(outputs)

    def everywhere(shares):
        """Repeats shares `[B]` for all values of the change, `[B, S, E]`."""
        shares = np.float32(shares)[:, None, None]
        return np.broadcast_to(shares, (len(shares), *change.shape))

    points, weights = np.polynomial.legendre.leggauss(steps)  # in [-1, 1]
    gradients = 0.0
    num_rows = max(1, _TOKENS // len(ids))
    for start in range(0, steps, num_rows):
        part = slice(start, start + num_rows)
        shares = everywhere((points[part] - 1) / 2)
        slopes = _slopes(values, shares)  # of the change: [B, S, E]
        gradients += np.tensordot(weights[part] / 2, slopes, axes=1)  # [S, E]
    value, baseline_value = ops.convert_to_numpy(values(everywhere([0, -1]))).tolist()
    difference = value - baseline_value
    adds = gradients.sum(axis=-1)  # [S]
    error = abs(adds.sum() - difference) / max(abs(difference), 1e-12)
    is_word = row.word >= 0
    return {
        "target": row.target,
        "value": value,
        "baseline_value": baseline_value,
        "error": float(error),
        **row.words,
        "word_weight": np.bincount(row.word[is_word], adds[is_word], row.words["word_text"].size),
    }


@contextlib.contextmanager
def _moved(table, change):
    """Has a table of embeddings add `change`, `[B, S, E]`, to what it returns to this thread."""
    own = threading.get_ident()

    def moved(*args, **kwargs):
        x = look_up(*args, **kwargs)
        if threading.get_ident() != own:
            return x
        return x + ops.cast(ops.reshape(change, ops.shape(x)), x.dtype)

    with _ONE_AT_A_TIME:
        look_up = table.call
        table.call = moved
        try:
            yield
        finally:
            del table.call


def _slopes(function, x):
    """Computes the gradient of the sum of a function of x, an array like x."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            x = tf.constant(x)
            tape.watch(x)
            total = tf.reduce_sum(function(x))
        return tape.gradient(total, x).numpy()
    if keras.backend.backend() == "jax":
        import jax

        gradient = jax.grad(lambda x: function(x).sum())
        return np.asarray(gradient(x))
    import torch

    x = ops.convert_to_tensor(x).requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0].cpu().numpy()
