"""Gathering of token vectors at given positions."""

from keras import ops


def gather_positions(x, positions):
    """Gathers the vectors of `x` `[B, S, H]` at `positions` `[B, P]`: `[B, P, H]`.

    This is a matrix product with a one-hot matrix. It rounds no more than the dense layer after it,
    and usually not at all. With a sharded batch each device gathers only its own rows, whereas
    `ops.take` would all-gather. The gradient is also a product, which TPUs compute faster than a
    scatter-add.
    """
    chosen = ops.one_hot(positions, ops.shape(x)[1], dtype=x.dtype)  # [B, P, S]
    return ops.matmul(chosen, x)  # [B, P, H]
