"""Flash attention of cuDNN, by JAX, on NVIDIA's GPUs."""

import contextlib
import re
from unittest import mock

import jax
from jax import numpy as jnp

AMPERE, HOPPER = (8, 0), (9, 0)  # compute capabilities


def fits(query_key_value, num_heads, sequence_ids, device):
    """Returns whether cuDNN takes projections `[B, S, 3H]` on a JAX device."""
    _, length, width = query_key_value.shape
    head_dim, capability = width // 3 // num_heads, compute_capability(device)
    return (
        query_key_value.dtype in ("bfloat16", "float16")
        and capability >= AMPERE
        and head_dim % 8 == 0
        and head_dim <= (256 if capability >= HOPPER else 128)
        and (sequence_ids is None or length % 2 == 0)  # gradients under a mask need even lengths
    )


def compute_capability(device):
    """Returns the compute capability of a JAX device as a pair, `(0, 0)` if it isn't NVIDIA's."""
    numbers = re.fullmatch(r"(\d+)\.(\d+)", str(getattr(device, "compute_capability", "")))
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


@contextlib.contextmanager
def answering_for(device):
    """Answers what JAX asks of a GPU before it calls cuDNN, for a device that may be absent."""
    from jax._src.cudnn import fused_attention_stablehlo

    def check_compute_capability(least):
        return compute_capability(device) >= tuple(map(int, least.split(".")))

    with mock.patch.multiple(
        fused_attention_stablehlo,
        check_cudnn_version=lambda: 91200,
        check_compute_capability=check_compute_capability,
    ):
        yield


def cudnn_attention(
    query_key_value,
    num_heads,
    *,
    padding_mask=None,
    sequence_ids=None,
    dropout=None,
    causal=False,
    training=False,
    implementation="cudnn",
):
    """Computes attention by cuDNN, without dropout; see `keras_bert.layers.attention.attention`.

    cuDNN hides padding by the length of each row, so it needs no mask, but the tokens must come
    first. Other rows are therefore reordered, which costs nothing: heads are copied in any case.
    """
    batch, length, width = query_key_value.shape
    hidden_dim, visible, lengths, order = width // 3, None, None, None
    if sequence_ids is not None:
        visible = (sequence_ids[:, :, None] == sequence_ids[:, None, :])[:, None]  # [B, 1, S, S]
    elif padding_mask is not None:
        is_token = padding_mask.astype("bool")
        lengths = jnp.maximum(is_token.sum(1, dtype="int32"), 1)  # rows of padding stay finite
        order = jnp.argsort(~is_token, axis=1, stable=True)
        first = 0 if causal else hidden_dim  # without order among them, queries may stay
        query_key_value = jnp.concatenate(
            [query_key_value[:, :, :first], _take(query_key_value[:, :, first:], order)], axis=2
        )
    heads = query_key_value.reshape(batch, length, 3, num_heads, -1)  # [B, S, 3, N, D]
    query, key, value = (heads[:, :, part] for part in range(3))
    context = jax.nn.dot_product_attention(
        query,
        key,
        value,
        mask=visible,
        is_causal=causal,
        key_value_seq_lengths=lengths,
        implementation=implementation,
    )  # [B, S, N, D]
    context = context.reshape(batch, length, hidden_dim)
    return _take(context, jnp.argsort(order, axis=1)) if causal and order is not None else context


def _take(x, places):
    """Takes vectors of each row of `[B, S, C]` at places `[B, S]`, each once."""

    def take(row, places):
        return row.at[places].get(unique_indices=True, mode="promise_in_bounds")

    return jax.vmap(take)(x, places)
