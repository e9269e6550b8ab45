"""One vector per sequence, for heads that judge the whole: that of [CLS], or of the last token."""

import keras
from keras import ops

from keras_bert.layers.gather_positions import gather_positions
from keras_bert.layers.packed_rows import packed_input


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
        `[B, H]`, or `[B, K, H]` with `cls_positions`. Without them, packed rows give the vector of
        their first sequence.

    Raises:
        ValueError: if `last` is given `cls_positions` without `sequence_ids`.

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
        cls_positions = packed_input("cls_positions", cls_positions)
        if self.last:
            sequence_ids = packed_input("sequence_ids", sequence_ids)
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
    if sequence_ids is not None:
        count = 1 if cls_positions is None else ops.shape(cls_positions)[1]
        numbers = ops.arange(1, count + 1, dtype="int32")
        is_own = ops.equal(
            ops.expand_dims(ops.cast(sequence_ids, "int32"), 1), ops.expand_dims(numbers, 1)
        )  # [B, K, S]
    elif cls_positions is not None:
        raise ValueError(
            "In a causal encoder the last token of each sequence is read, which sequence_ids "
            "tell: give them with cls_positions."
        )
    elif padding_mask is not None:
        is_own = ops.expand_dims(ops.cast(padding_mask, "bool"), 1)  # [B, 1, S]
    else:
        return sequence_output[:, -1, :]
    last = ops.max(ops.where(is_own, places, 0), axis=2)
    vectors = gather_positions(sequence_output, last)
    return vectors[:, 0, :] if cls_positions is None else vectors
