"""Unicode's composed form, NFC, as TensorFlow ops, as `text/composed.py` has it."""

from typing import Any

import tensorflow as tf

from keras_bert.graph.tensorflow_text import cut_with_offsets, tf_text
from keras_bert.text.composed import composing_regex


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
            # Of the runs and tokens of all texts together:
            run_ends = tf.cumsum(_num_bytes(composed.values))
            run_begins = run_ends - _num_bytes(composed.values)
            is_same = composed.values == runs.values
            shift = tf.gather(tf.cumsum(_num_bytes(texts), exclusive=True), ids.value_rowids())

            def sources(places, bounds, side):
                places = shift + places.values
                run = tf.searchsorted(run_ends, places, side=side)
                moved = places - tf.gather(run_begins - begins.values, run)
                found = tf.where(tf.gather(is_same, run), moved, tf.gather(bounds.values, run))
                return ids.with_values(found)

            return ids, sources(starts, begins, "right"), sources(lasts, ends, "left")


def _num_bytes(texts):
    return tf.cast(tf.strings.length(texts), tf.int64)
