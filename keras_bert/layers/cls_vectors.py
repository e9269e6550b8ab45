"""One vector per sequence, for heads that judge the whole: that of [CLS], or of the last token."""

import keras
from keras import ops

from keras_bert.layers.gather_positions import gather_positions


@keras.saving.register_keras_serializable(package="keras_bert")
class ClsVectors(keras.layers.Layer):
    """Layer that takes the vector of each sequence's [CLS] token.

    Args:
        last: bool, whether to take the last token instead, the [SEP] at the end: in a causal
            encoder it is the one that sees the whole sequence.

    Call arguments:
        sequence_output: `[B, S, H]`.
        cls_positions: `[B, K]` int32 in `[0, S)`, for packed rows; None means the first token.
        padding_mask: `[B, S]`, true at tokens, or None; read with `last` alone.
        sequence_ids: `[B, S]`, the sequences of packed rows, or None; read with `last` alone.

    Returns:
        `[B, H]`, or `[B, K, H]` with `cls_positions`.

    Example:
    >>> import numpy as np
    >>> vectors = np.arange(4.0).reshape(1, 4, 1)
    >>> ClsVectors()(vectors).numpy().tolist()
    [[0.0]]
    >>> ClsVectors()(vectors, cls_positions=np.array([[0, 2]])).numpy().tolist()
    [[[0.0], [2.0]]]
    >>> ClsVectors(last=True)(vectors, padding_mask=np.array([[1, 1, 1, 0]])).numpy().tolist()
    [[2.0]]
    """

    def __init__(self, last=False, **kwargs):
        super().__init__(**kwargs)
        self.last = last

    def call(self, sequence_output, cls_positions=None, padding_mask=None, sequence_ids=None):
        if self.last:
            length = ops.shape(sequence_output)[1]
            return _last_vectors(sequence_output, cls_positions, padding_mask, sequence_ids, length)
        if cls_positions is None:
            return sequence_output[:, 0, :]
        return gather_positions(sequence_output, cls_positions)

    def compute_output_spec(self, sequence_output, *args, **kwargs):
        # A functional model has one shape for its pooled vectors: that of unpacked rows.
        batch, _, width = sequence_output.shape
        return keras.KerasTensor((batch, width), dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "last": self.last}


def _last_vectors(sequence_output, cls_positions, padding_mask, sequence_ids, length):
    places = ops.arange(length, dtype="int32")
    if cls_positions is None:
        if padding_mask is None:
            return sequence_output[:, -1, :]
        is_own = ops.expand_dims(ops.cast(padding_mask, "bool"), 1)  # [B, 1, S]
    else:
        numbers = ops.arange(1, ops.shape(cls_positions)[1] + 1, dtype="int32")
        is_own = ops.equal(
            ops.expand_dims(ops.cast(sequence_ids, "int32"), 1), ops.expand_dims(numbers, 1)
        )  # [B, K, S]
    last = ops.max(ops.where(is_own, places, 0), axis=2)
    vectors = gather_positions(sequence_output, last)
    return vectors[:, 0, :] if cls_positions is None else vectors
