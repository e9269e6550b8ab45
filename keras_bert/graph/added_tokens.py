"""Added tokens as TensorFlow ops: the counterpart of `text/added_tokens.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from keras_bert.graph.tensorflow_text import cut_with_offsets
from keras_bert.text.added_tokens import added_regex, ids_by_case


class GraphAddedTokens:
    """Cuts tensors of strings at added tokens; `pieces` cuts what is between."""

    def __init__(self, added: Mapping[str, bool], tokens: Sequence[str], pieces: Any):
        self._regex = added_regex(added)
        self._exact, self._lower = ids_by_case(added, tokens)
        self._pieces = pieces

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Turns strings `[N]` into int32 ids `[N, (T)]`."""
        return self.tokenize_with_offsets(texts)[0]

    def tokenize_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """Turns strings `[N]` into int32 ids, int64 byte starts and ends, all `[N, (T)]`."""
        with tf.device("CPU:0"):
            parts, begins, ends = cut_with_offsets(texts, self._regex)  # [N, (P)]
            is_added, added_ids = self._lookup(parts.values)
            between = tf.where(is_added, "", parts.values)
            ids, starts, lasts = self._pieces.tokenize_with_offsets(between)
            shift = tf.gather(begins.values, ids.value_rowids())

            def joined(of_pieces, of_added):
                added = tf.ragged.boolean_mask(of_added[:, None], is_added[:, None])
                pieces = ids.with_values(of_pieces)
                tokens = tf.concat([pieces, added], axis=1)
                return parts.with_values(tokens).merge_dims(1, 2)  # of [N, (P), (T)]

            return (
                joined(ids.values, added_ids),
                joined(starts.values + shift, begins.values),
                joined(lasts.values + shift, ends.values),
            )

    def _lookup(self, parts):
        """Returns whether parts of texts are added tokens, and the ids of those that are."""
        lower = tf.strings.lower(parts, encoding="utf-8")
        exact_tokens = tf.constant(list(self._exact), tf.string)
        lower_tokens = tf.constant(list(self._lower), tf.string)
        is_exact = parts[:, None] == exact_tokens
        is_lower = lower[:, None] == lower_tokens
        is_token = tf.concat([is_exact, is_lower], axis=1)
        index = tf.argmax(tf.cast(is_token, tf.int8), axis=1)  # of the first that matches
        ids = tf.constant([*self._exact.values(), *self._lower.values()], tf.int32)
        return tf.reduce_any(is_token, axis=1), tf.gather(ids, index)
