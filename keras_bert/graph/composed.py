"""Unicode's composed form, NFC, as TensorFlow ops, as `text/composed.py` has it."""

from typing import Any

import tensorflow as tf

from keras_bert.graph import graph_ops
from keras_bert.graph.tensorflow_text import cut_with_offsets, num_bytes, tf_text
from keras_bert.text.composed import composing_regex, sources


class GraphComposed:
    """Composes tensors of strings; `pieces` cuts them."""

    def __init__(self, pieces: Any):
        self._regex = composing_regex()
        self._pieces = pieces

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Turns strings `[N]` into int32 ids `[N, (T)]`."""
        with tf.device("CPU:0"):
            return self._pieces.tokenize(tf_text.normalize_utf8(texts, "NFC"))

    def tokenize_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """Turns strings `[N]` into int32 ids, int64 byte starts and ends, all `[N, (T)]`."""
        with tf.device("CPU:0"):
            runs, begins, ends = cut_with_offsets(texts, self._regex)
            composed = runs.with_values(tf_text.normalize_utf8(runs.values, "NFC"))
            texts = tf.strings.reduce_join(composed, axis=-1)
            ids, starts, lasts = self._pieces.tokenize_with_offsets(texts)
            shift = tf.gather(tf.cumsum(num_bytes(texts), exclusive=True), ids.value_rowids())
            is_same = tf.cast(composed.values == runs.values, tf.int64)
            runs = num_bytes(composed.values), begins.values, ends.values, is_same
            starts = sources(graph_ops, runs, shift + starts.values, "right")
            ends = sources(graph_ops, runs, shift + lasts.values, "left")
            return ids, ids.with_values(starts), ids.with_values(ends)
