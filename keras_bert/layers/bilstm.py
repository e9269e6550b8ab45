"""A bidirectional LSTM over token vectors, for heads on top of an encoder."""

import keras

from keras_bert.messages import check_bool, check_int


@keras.saving.register_keras_serializable(package="keras_bert")
class BiLSTM(keras.layers.Layer):
    """Layer that reads token vectors from the left and from the right.

    It gives a left-to-right encoder the words to the right of a token again.
    Source: Devlin et al. 2019, section 5.1 and table 5.

    Args:
        units: int, U, of each direction.
        pooled: bool, whether to return one vector per sequence: the last states of both directions.

    Call arguments:
        x: `[B, S, H]`, one sequence per row.
        padding_mask: `[B, S]` integers or booleans, true at tokens; None if nothing is padded.

    Returns:
        `[B, S, 2U]`, or `[B, 2U]` if `pooled`.

    Example:
    >>> import numpy as np
    >>> vectors = np.ones((1, 4, 8), "float32")
    >>> tuple(BiLSTM(3)(vectors).shape), tuple(BiLSTM(3, pooled=True)(vectors).shape)
    ((1, 4, 6), (1, 6))
    """

    def __init__(self, units, pooled=False, **kwargs):
        super().__init__(**kwargs)
        check_int("units", units)
        check_bool("pooled", pooled)
        self.units = units
        self.pooled = pooled
        lstm = keras.layers.LSTM(
            units, return_sequences=not pooled, name="lstm", dtype=self.dtype_policy
        )
        self.both = keras.layers.Bidirectional(lstm, name="both", dtype=self.dtype_policy)

    def build(self, x_shape, padding_mask_shape=None):
        self.both.build(x_shape)

    def call(self, x, padding_mask=None):
        if padding_mask is not None:
            padding_mask = keras.ops.cast(padding_mask, "bool")
        return self.both(x, mask=padding_mask)

    def compute_output_spec(self, x, padding_mask=None):
        shape = (*x.shape[: 1 if self.pooled else 2], 2 * self.units)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "pooled": self.pooled}
