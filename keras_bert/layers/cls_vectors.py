"""The vectors of [CLS] tokens, one per sequence."""

import keras

from keras_bert.layers.gather_positions import gather_positions


@keras.saving.register_keras_serializable(package="keras_bert")
class ClsVectors(keras.layers.Layer):
    """Layer that takes the vector of each sequence's [CLS] token.

    Call arguments:
        sequence_output: `[B, S, H]`.
        cls_positions: `[B, K]` int32 in `[0, S)`, for packed rows; None means the first token.

    Returns:
        `[B, H]`, or `[B, K, H]` with `cls_positions`.

    Example:
    >>> import numpy as np
    >>> vectors = np.arange(4.0).reshape(1, 4, 1)
    >>> ClsVectors()(vectors).numpy().tolist()
    [[0.0]]
    >>> ClsVectors()(vectors, cls_positions=np.array([[0, 2]])).numpy().tolist()
    [[[0.0], [2.0]]]
    """

    def call(self, sequence_output, cls_positions=None):
        if cls_positions is None:
            return sequence_output[:, 0, :]
        return gather_positions(sequence_output, cls_positions)

    def compute_output_spec(self, sequence_output, cls_positions=None):
        # A functional model has one shape for its pooled vectors: that of unpacked rows.
        batch, _, width = sequence_output.shape
        return keras.KerasTensor((batch, width), dtype=self.compute_dtype)
