"""Added tokens as TensorFlow ops, as `text/added_tokens.py` has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from keras_bert.graph.tensorflow_text import cut_with_offsets
from keras_bert.text.added_tokens import added_regex, ids_by_case


def with_added_tokens(added: Mapping[str, bool], tokens: Sequence[str], pieces: Any) -> Any:
    """Returns a graph's tokenizer that keeps added tokens whole; without any, `pieces` itself."""
    if not added:
        return pieces
    ids = {token: index for index, token in enumerate(tokens)}
    return GraphAddedTokens(added, ids, pieces)


class GraphAddedTokens:
    """Cuts tensors of strings at added tokens; `pieces` cuts what is between."""

    def __init__(self, added: Mapping[str, bool], ids: Mapping[str, int], pieces: Any):
        self._regex = added_regex(added)
        self._exact, self._lower = ids_by_case(added, ids)
        self._pieces = pieces

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Turns strings `[N]` into int32 ids `[N, (T)]`."""
        return self.tokenize_with_offsets(texts)[0]

    def tokenize_with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
        """Turns strings `[N]` into int32 ids, int64 byte starts and ends, all `[N, (T)]`."""
        with tf.device("CPU:0"):
            rows, begins, ends = cut_with_offsets(texts, self._regex)
            begins, ends = begins.flat_values, ends.flat_values
            is_added, added_ids = self._lookup(rows.flat_values)
            between = tf.where(is_added, "", rows.flat_values)
            pieces = self._pieces.tokenize_with_offsets(between)
            added = (added_ids, 0 * begins, ends - begins)

            def joined(of_pieces, of_added, shift):
                of_added = tf.boolean_mask(of_added, is_added)
                of_added = tf.RaggedTensor.from_row_lengths(of_added, tf.cast(is_added, tf.int64))
                values = tf.concat([of_pieces, of_added], axis=1)
                shift = tf.repeat(shift, values.row_lengths())
                values = values.with_flat_values(values.flat_values + shift)
                return rows.with_values(values).merge_dims(1, 2)

            shifts = (0 * added_ids, begins, begins)
            return tuple(map(joined, pieces, added, shifts))

    def _lookup(self, parts):
        """Returns whether parts of texts are added tokens, and the ids of those that are."""
        lower = tf.strings.lower(parts, encoding="utf-8")
        is_exact = parts[:, None] == tf.constant([*self._exact], tf.string)
        is_lower = lower[:, None] == tf.constant([*self._lower], tf.string)
        is_token = tf.concat([is_exact, is_lower], axis=1)
        place = tf.argmax(tf.cast(is_token, tf.int8), axis=1)
        ids = tf.constant([*self._exact.values(), *self._lower.values()], tf.int32)
        return tf.reduce_any(is_token, axis=1), tf.gather(ids, place)
