"""Rotary positions: queries and keys are rotated by their position; scores depend on the distance.

Source: Su et al. 2021, "RoFormer", section 3.2.2.
"""

import numpy as np
from keras import ops

from keras_bert.layers.packed_rows import token_positions
from keras_bert.saved import SavedLayer, registered


@registered
class RotaryPositions(SavedLayer):
    """Layer that computes how far each position turns; `rotated` turns the vectors.

    Args:
        head_dim: int, D, the width of a head, even.
        theta: float; the slowest pair completes a turn in almost 2 pi `theta` positions.

    Uses only the shape of the ids, `[B, S]`; returns cosines of both numbers of each pair, then
    sines, negative for the first, float32 `[1, 1, S, 2 D]`; or `[B, 1, S, 2 D]` for packed rows,
    whose positions restart with each sequence.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import RotaryPositions
    >>> tuple(RotaryPositions(head_dim=2)(np.zeros((1, 3), "int32")).shape)
    (1, 1, 3, 4)
    """

    def __init__(self, head_dim, theta=10_000.0, **kwargs):
        super().__init__(**kwargs)
        if head_dim % 2:
            raise ValueError(f"Rotary positions turn pairs: head_dim must be even; got {head_dim}.")
        self.head_dim = head_dim
        self.theta = theta

    def call(self, token_ids):
        exponents = -np.arange(0, self.head_dim, 2) / self.head_dim
        speeds = np.float32(self.theta**exponents)  # radians, [D / 2]
        positions = ops.cast(token_positions(token_ids), "float32")
        angles = ops.multiply(ops.expand_dims(positions, (1, 3)), speeds)
        cosine = ops.cos(angles)  # [B or 1, 1, S, D / 2]
        sine = ops.sin(angles)
        return ops.concatenate([cosine, cosine, -sine, sine], axis=-1)


def rotated(heads, rotation):
    """Turns each pair of numbers i and i + D / 2 of heads `[B, N, S, D]`; see `RotaryPositions`.

    Example:
    >>> import numpy as np
    >>> from keras import ops
    >>> from keras_bert.layers import RotaryPositions, rotated
    >>> rotation = RotaryPositions(head_dim=2)(np.zeros((1, 3), "int32"))
    >>> tuple(rotated(ops.ones((1, 1, 3, 2)), rotation).shape)
    (1, 1, 3, 2)
    """
    cosine, sine = ops.split(rotation, 2, axis=-1)  # [B or 1, 1, S, D]
    first, second = ops.split(heads, 2, axis=-1)
    swapped = ops.concatenate([second, first], axis=-1)
    turned = heads * cosine + swapped * sine
    return ops.cast(turned, heads.dtype)
