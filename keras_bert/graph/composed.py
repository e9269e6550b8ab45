"""Unicode's composed form, NFC, as TensorFlow ops: the counterpart of `text/composed.py`."""

from typing import Any

import tensorflow as tf

from keras_bert.graph import graph_ops
from keras_bert.graph.tensorflow_text import cut_with_offsets, num_bytes, tf_text
from keras_bert.text.composed import composing_regex, sources


class GraphComposed:
    """Composes tensors of strings; `pieces` cuts them into tokens."""

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
            runs, begins, ends = cut_with_offsets(texts, self._regex)  # [N, (R)]
            composed = tf_text.normalize_utf8(runs.values, "NFC")
            is_same = tf.cast(composed == runs.values, tf.int64)
            run_bounds = (num_bytes(composed), begins.values, ends.values, is_same)

            texts = tf.strings.reduce_join(runs.with_values(composed), axis=-1)
            text_begins = tf.cumsum(num_bytes(texts), exclusive=True)
            ids, starts, ends = self._pieces.tokenize_with_offsets(texts)
            shift = tf.gather(text_begins, ids.value_rowids())
            starts = sources(graph_ops, run_bounds, starts.values + shift, "right")
            ends = sources(graph_ops, run_bounds, ends.values + shift, "left")
            return ids, ids.with_values(starts), ids.with_values(ends)
