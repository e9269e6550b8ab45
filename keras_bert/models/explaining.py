"""Integrated gradients: how much each word adds to an answer. S sequence, W words, E embedding."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.messages import check_int, check_one_of, shown
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.forms import is_single
from keras_bert.preprocessing.text_rows import located
from keras_bert.preprocessing.text_words import word_bounds, word_starts
from keras_bert.text import numpy_ops
from keras_bert.training.keras_internals import all_layers

_TOKENS = 1024  # of the rows that are computed at once, which bounds the memory
_ONE_AT_A_TIME = threading.Lock()


def explain(
    task: keras.Model,
    x: Any,
    chosen: Callable[[np.ndarray], tuple[Any, Callable[[Any], Any]]],
    steps: int,
    baseline: str,
) -> dict[str, Any]:
    """Computes how much each word of a text or pair adds to a value; see `BertClassifier.explain`.

    `chosen` gets the example's outputs, `[1, C]`, and returns the name of what is explained and a
    function of outputs `[B, C]` to its values, `[B]`.
    """
    check_int("steps", steps)
    check_one_of("baseline", baseline, ("pad", "mask"))
    if any(getattr(layer, "quantization_mode", None) for layer in all_layers(task)):
        raise ValueError("A quantized model is not smooth: explain the one that you quantized.")
    preprocessor = preprocessor_of(task)
    if not is_single(x):
        raise ValueError(f"explain takes a single example, such as a text; got {shown(x)}.")
    examples = preprocessor.listed(x)
    preprocessor.rows(examples)  # raises an error if it doesn't take the texts
    read = [located(preprocessor, column) for column in examples.columns]
    inputs, words, word = _row(preprocessor.packer, read)
    inputs |= examples.extra_inputs
    ids = inputs["token_ids"].reshape(-1)  # [S]
    if len(task.input["token_ids"].shape) == 3:  # of a reranker, with an axis of documents
        inputs = {name: values[:, None] for name, values in inputs.items()}
    target, value_of = chosen(ops.convert_to_numpy(task(inputs, training=False)))
    table = task.backbone.token_embedding
    blank = getattr(preprocessor.tokenizer, f"{baseline}_token_id")
    change = table(ids) - table(np.where(word < 0, ids, blank))
    change = ops.convert_to_numpy(ops.cast(change, "float32"))  # [S, E]

    def values(shares):
        """Computes the values `[B]` of rows whose tokens are moved by shares `[B, S]` of it."""
        rows = {name: np.repeat(x, len(shares), axis=0) for name, x in inputs.items()}
        with _moved(table, ops.multiply(ops.expand_dims(shares, -1), change)):
            outputs = task(rows, training=False)
        return value_of(outputs)

    def of_all_tokens(shares):
        return np.repeat(np.float32(shares)[:, None], len(ids), axis=1)  # [B, S]

    points, weights = np.polynomial.legendre.leggauss(steps)  # in [-1, 1]
    adds = np.zeros(len(ids))
    num_rows = max(1, _TOKENS // len(ids))
    for start in range(0, steps, num_rows):
        part = slice(start, start + num_rows)
        slopes = _slopes(values, of_all_tokens((points[part] - 1) / 2))  # [B, S]
        adds += weights[part] @ slopes / 2
    value, baseline_value = ops.convert_to_numpy(values(of_all_tokens([0, -1]))).tolist()
    difference = value - baseline_value
    error = abs(adds.sum() - difference) / max(abs(difference), 1e-12)
    is_word = word >= 0
    return {
        "target": target,
        "value": value,
        "baseline_value": baseline_value,
        "error": float(error),
        **words,
        "word_weight": np.bincount(word[is_word], adds[is_word], words["word_text"].size),
    }


def _row(packer, texts):
    """Packs a text or two: returns the model's inputs, `[1, S]`, words, and each position's word.

    Packing the number of each token's word in place of its id shows the word of each position, -1
    at special tokens.
    """
    tokens = [text.tokens for text in texts]
    first_number = packer.tokenizer.vocabulary_size()  # above all ids of special tokens
    words = {"word_text": [], "word_column": [], "word_start": [], "word_end": []}
    word_numbers = []
    for column, text in enumerate(texts):
        is_first = word_starts(text, packer.tokenizer)  # [T]
        numbers = first_number + len(words["word_text"]) - 1 + np.cumsum(is_first)
        word_numbers.append(dataclasses.replace(tokens[column], values=np.append(numbers, 0)))
        first, last = word_bounds(is_first, numpy_ops)
        starts = text.starts[first]
        ends = text.ends[last]
        words["word_text"].extend(numpy_ops.substrings(text.texts, 0 * first, starts, ends))
        words["word_column"].extend([column] * len(first))
        words["word_start"].extend(starts)
        words["word_end"].extend(ends)
    [width] = packer.lengths(*tokens)
    numbers = packer(*word_numbers, width=width)["token_ids"][0] - first_number
    packed_words, word = np.unique(np.maximum(numbers, -1), return_inverse=True)
    for name, values in words.items():
        words[name] = np.array(values)[packed_words[1:]]
    return packer(*tokens, width=width), words, word - 1


def log_odds(logits: Any, index: int) -> Any:
    """Computes log(p / (1 - p)) of the probability p of a class, `[B]`, from logits `[B, C]`."""
    others = ops.concatenate([logits[:, :index], logits[:, index + 1 :]], axis=-1)
    return logits[:, index] - ops.logsumexp(others, axis=-1)


@contextlib.contextmanager
def _moved(table, change):
    """Adds `change`, `[B, S, E]`, to the output of a table of embeddings, in this thread."""
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
