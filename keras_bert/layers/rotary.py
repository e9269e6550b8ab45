"""Rotary positions: queries and keys turn with their place, so that scores know the distance.

Source: Su et al. 2021, "RoFormer", section 3.2.2.
"""

import keras
import numpy as np
from keras import ops

from keras_bert.layers.packed_rows import packed_input, positions_in_sequences
from keras_bert.saved import SavedLayer, registered


@registered
class RotaryPositions(SavedLayer):
    """Layer that computes how far each position turns; `rotated` turns the vectors.

    Args:
        head_dim: int, D, the width of a head, even.
        theta: float; the slowest pair of numbers turns once in almost 2 pi `theta` positions.

    Takes `[B, S]` ids for their shape alone; returns cosines of both numbers of each pair, then
    sines, negative for the first, float32 `[1, 1, S, 2 D]`; or `[B, 1, S, 2 D]` for packed rows,
    whose positions restart with each sequence.
    """

    def __init__(self, head_dim, theta=10_000.0, **kwargs):
        super().__init__(**kwargs)
        if head_dim % 2:
            raise ValueError(f"Rotary positions turn pairs: head_dim must be even; got {head_dim}.")
        self.head_dim = head_dim
        self.theta = theta

    def call(self, token_ids):
        sequence_ids = packed_input("sequence_ids")
        if sequence_ids is None:
            positions = ops.expand_dims(ops.arange(ops.shape(token_ids)[1], dtype="int32"), 0)
        else:
            positions = positions_in_sequences(sequence_ids)
        speeds = self.theta ** (-np.arange(0, self.head_dim, 2) / self.head_dim)  # radians, [D / 2]
        positions = ops.expand_dims(ops.cast(positions, "float32"), (1, 3))
        angles = ops.multiply(positions, np.float32(speeds))
        cosine, sine = ops.cos(angles), ops.sin(angles)  # [B or 1, 1, S, D / 2]
        return ops.concatenate([cosine, cosine, -sine, sine], axis=-1)

    def compute_output_spec(self, token_ids):
        return keras.KerasTensor((None, 1, token_ids.shape[1], 2 * self.head_dim), dtype="float32")


def rotated(heads, rotation):
    """Turns each pair of numbers i and i + D / 2 of heads `[B, N, S, D]`; see `RotaryPositions`."""
    cosine, sine = ops.split(rotation, 2, axis=-1)  # [B or 1, 1, S, D]
    shape = ops.shape(heads)
    pairs = ops.reshape(heads, (*shape[:-1], 2, heads.shape[-1] // 2))
    swapped = ops.reshape(ops.flip(pairs, axis=-2), shape)
    return ops.cast(heads * cosine + swapped * sine, heads.dtype)
