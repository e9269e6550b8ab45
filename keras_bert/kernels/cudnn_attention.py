"""Flash attention of cuDNN, by JAX, on NVIDIA's GPUs."""

import re

import jax
from jax import numpy as jnp

AMPERE, HOPPER = (8, 0), (9, 0)  # compute capabilities


def fits(query, device, has_mask):
    """Returns whether cuDNN takes heads `[B, N, S, D]` on a JAX device."""
    length, head_dim = query.shape[2:]
    capability = compute_capability(device)
    return (
        query.dtype in ("bfloat16", "float16")
        and capability >= AMPERE
        and head_dim % 8 == 0
        and head_dim <= (256 if capability >= HOPPER else 128)
        and (length % 2 == 0 or not has_mask)  # gradients under a mask need even lengths
    )


def compute_capability(device):
    """Returns the compute capability of a JAX device as a pair, `(0, 0)` if it isn't NVIDIA's."""
    version = str(getattr(device, "compute_capability", ""))
    if not re.fullmatch(r"\d+\.\d+", version):
        return (0, 0)
    return tuple(map(int, version.split(".")))


def cudnn_attention(
    query, key, value, visibility, dropout=None, training=False, implementation="cudnn"
):
    """Computes attention by cuDNN, without dropout; see `keras_bert.layers.attention`.

    cuDNN hides padding by the length of each row, so it needs no mask, but the tokens must come
    first. Other rows are therefore reordered, which costs nothing: heads are copied in any case.
    """
    padding_mask, sequence_ids, window, *_ = visibility
    query, key, value = (heads.swapaxes(1, 2) for heads in (query, key, value))  # [B, S, N, D]
    visible = lengths = None
    if sequence_ids is not None:
        is_same = sequence_ids[:, :, None] == sequence_ids[:, None, :]
        visible = is_same[:, None]  # [B, 1, S, S]
    elif padding_mask is not None:
        is_token = padding_mask.astype("bool")
        if window is not None:
            visible = is_token[:, None, None]  # [B, 1, 1, S]
        else:
            lengths = jnp.maximum(is_token.sum(1, dtype="int32"), 1)  # rows of padding stay finite
            order = jnp.argsort(~is_token, axis=1, stable=True)
            key = _take(key, order)
            value = _take(value, order)
    if window is not None:
        positions = jnp.arange(query.shape[1])
        is_near = abs(positions[:, None] - positions) <= window  # [S, S]
        visible = is_near[None, None] if visible is None else visible & is_near
    context = jax.nn.dot_product_attention(
        query,
        key,
        value,
        mask=visible,
        key_value_seq_lengths=lengths,
        implementation=implementation,
    )
    return context.swapaxes(1, 2)


def _take(x, positions):
    """Takes the tokens of each row of `[B, S, N, D]` at positions `[B, S]`, each once."""

    def take(row, positions):
        return row.at[positions].get(unique_indices=True, mode="promise_in_bounds")

    return jax.vmap(take)(x, positions)
