"""Logits of tokens, separately for each sequence of a packed row."""

import keras
from keras import ops

from keras_bert.layers.packed_rows import packed_input
from keras_bert.layers.plain_attention import HIDDEN


@keras.saving.register_keras_serializable(package="keras_bert")
class SequenceLogits(keras.layers.Layer):
    """Layer that gives each sequence of a packed row its own logits, for a softmax over its tokens.

    Call arguments:
        logits: `[B, S]`.
        sequence_ids: `[B, S]` int32, the number of each token's sequence in a packed row; None
            means one sequence per row.
        cls_positions: `[B, K]` int32, whose number of slots K the layer reads; or None.

    Returns:
        `[B, S]` unchanged, or `[B, K, S]` for packed rows, -10,000 at the tokens of other
        sequences.

    Example:
    >>> import numpy as np
    >>> logits, sequence_ids = np.array([[1.0, 2.0, 3.0]]), np.array([[1, 1, 2]])
    >>> SequenceLogits()(logits, sequence_ids, cls_positions=np.array([[0, 2]])).numpy().tolist()
    [[[1.0, 2.0, -10000.0], [-10000.0, -10000.0, 3.0]]]
    """

    def call(self, logits, sequence_ids=None, cls_positions=None):
        sequence_ids = packed_input("sequence_ids", sequence_ids)
        cls_positions = packed_input("cls_positions", cls_positions)
        if sequence_ids is None or cls_positions is None:
            return logits
        slots = 1 + ops.arange(ops.shape(cls_positions)[1], dtype=sequence_ids.dtype)
        is_own = ops.equal(ops.expand_dims(sequence_ids, 1), ops.expand_dims(slots, 1))
        return ops.where(is_own, ops.expand_dims(logits, 1), HIDDEN)  # [B, K, S]

    def compute_output_spec(self, logits, sequence_ids=None, cls_positions=None):
        # A functional model has one shape for its logits: that of unpacked rows.
        return keras.KerasTensor(logits.shape, dtype=self.compute_dtype)
