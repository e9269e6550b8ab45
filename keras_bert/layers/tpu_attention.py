"""Attention of whole rows in a TPU's on-chip memory, with dropout, by a Pallas kernel.

BERT's rows are short: the scores of one head, 1 MiB for 512 tokens, fit in on-chip memory (VMEM).
The kernel therefore computes the softmax of whole rows, reads queries, keys and values once, and
writes the result once. The gradient computes the probabilities again. Nothing of the size of the
scores ever reaches the chip's main memory.

A program takes a row and the heads that share a block of lanes, two heads of 64 for instance. They
lie as the projection writes them, `[B, S, H]`, so nothing is transposed.
"""

import functools
from typing import NamedTuple

import jax
import numpy as np
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec

from keras_bert.layers.plain_attention import HIDDEN

LANES = 128  # numbers in a TPU's vector register, along the last axis
MAX_LENGTH = 512  # of BERT; the scores of longer rows need more VMEM than a v4 has


def fits(query, mesh=None):
    """Returns whether the kernel takes heads `[B, N, S, D]` of this shape on a mesh."""
    rows, num_heads, length, head_dim = query.shape
    return (
        length % LANES == 0
        and length <= MAX_LENGTH
        and num_heads * head_dim % LANES == 0
        and LANES % head_dim == 0
        and rows % (1 if mesh is None else mesh.size) == 0
    )


def tpu_attention(query, key, value, visibility, dropout=None, training=False, mesh=None):
    """Computes attention in VMEM; see `keras_bert.layers.attention.attention`.

    Rows are sharded over the first axis of the mesh, if there is one.
    """
    padding_mask, sequence_ids, causal, window, _ = visibility
    ids = padding_mask if sequence_ids is None else sequence_ids
    if ids is None:
        ids = jnp.ones(query.shape[::2], "int32")
    rate = 0.0
    seeds = jnp.zeros(2, "uint32")
    if dropout is not None:
        rate = dropout.rate
        seeds = dropout.next_seed()
    settings = Settings(query.shape[-1], rate, sequence_ids is not None, causal, window)
    attend = functools.partial(whole_rows, settings=settings)
    if mesh is not None:  # XLA can't split a kernel's work among devices by itself
        by_row = PartitionSpec(mesh.axis_names[0])
        attend = jax.shard_map(
            attend,
            mesh=mesh,
            in_specs=(*[by_row] * 5, PartitionSpec()),
            out_specs=by_row,
            check_vma=False,
        )
    numbers = jnp.arange(query.shape[0], dtype="int32")
    rows = (heads.swapaxes(1, 2) for heads in (query, key, value))  # [B, S, N, D], as in memory
    context = attend(*rows, ids.astype("int32"), numbers, seeds)
    return context.swapaxes(1, 2)


class Settings(NamedTuple):
    """What a kernel is compiled for."""

    head_dim: int
    rate: float  # of dropout
    is_packed: bool
    causal: bool
    window: int | None
    interpret: bool = False  # on a CPU, slowly


def whole_rows(query, key, value, ids, numbers, seeds, settings):
    """Computes attention of heads `[B, S, N, D]`, a row at a time.

    If rows are packed, tokens see those with the same number of `ids`, int32 `[B, S]`; otherwise
    all but those with a 0. Dropout depends on `numbers`, int32 `[B]`, the numbers of the rows in
    the batch, and on `seeds`, uint32 `[2]`.
    """
    shape = (*query.shape[:2], -1)
    rows = tuple(heads.reshape(shape) for heads in (query, key, value))  # [B, S, H]
    return _attend(rows, ids, numbers, seeds, settings).reshape(query.shape)


@functools.partial(jax.custom_vjp, nondiff_argnums=[4])
def _attend(tensors, ids, numbers, seeds, settings):
    [context] = _run(_forward, 1, tensors, ids, numbers, seeds, settings, products=2)
    return context


def _attend_and_save(*arguments):
    return _attend(*arguments), arguments[:4]


def _pull_back(settings, saved, upstream):
    tensors, *others = saved
    gradients = _run(_backward, 3, (*tensors, upstream), *others, settings, products=5)
    return tuple(gradients), None, None, None


_attend.defvjp(_attend_and_save, _pull_back)


def _run(kernel, num_outputs, tensors, ids, numbers, seeds, settings, products):
    """Runs a kernel on each row and block of heads; returns a list of outputs, `[B, S, H]`."""
    rows, length, hidden_dim = tensors[0].shape
    dtype = tensors[0].dtype
    num_tensors = len(tensors) + num_outputs
    ids_of_row = pl.BlockSpec((1, 1, length), lambda row, *_: (row, 0, 0))
    heads = pl.BlockSpec((1, length, LANES), lambda row, block, *_: (row, 0, block))
    scores = rows * hidden_dim // settings.head_dim * length**2
    # VMEM that a block takes; what isn't taken serves the operations around it.
    moved = 2 * length * num_tensors * LANES * dtype.itemsize  # a block and the next one
    kept_scores = 10 * 4 * length**2  # by the compiler, of two heads
    return pl.pallas_call(
        functools.partial(kernel, settings),
        out_shape=[jax.ShapeDtypeStruct((rows, length, hidden_dim), dtype)] * num_outputs,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,  # numbers and seeds
            grid=(rows, hidden_dim // LANES),
            in_specs=[ids_of_row] + [heads] * len(tensors),
            out_specs=[heads] * num_outputs,
        ),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel"),
            vmem_limit_bytes=moved + kept_scores + 2 * 2**20,
        ),
        cost_estimate=pl.CostEstimate(
            flops=2 * products * scores * settings.head_dim,
            transcendentals=scores,
            bytes_accessed=rows * length * num_tensors * hidden_dim * dtype.itemsize,
        ),
        interpret=settings.interpret,
    )(numbers, seeds, ids[:, None], *tensors)


def _forward(settings, numbers, seeds, ids, query, key, value, context):
    """Writes the context of a block of heads, `[1, S, LANES]`."""
    bias = _bias(ids[0], settings)
    contexts = []
    for head, lanes in _heads(numbers, settings.head_dim):
        probabilities = _probabilities(query[0][:, lanes], key[0][:, lanes], bias)
        drop = _dropout(seeds, head, query.shape[1], settings.rate)
        dropped = drop(probabilities).astype(value.dtype)
        contexts.append(_product(dropped, value[0][:, lanes], 1, 0))
    context[0] = jnp.concatenate(contexts, axis=1).astype(context.dtype)


def _backward(settings, numbers, seeds, ids, query, key, value, upstream, *gradients):
    """Writes the gradients of a block of heads, `[1, S, LANES]` each."""
    bias = _bias(ids[0], settings)
    to_query = []
    to_key = []
    to_value = []
    for head, lanes in _heads(numbers, settings.head_dim):
        head_query = query[0][:, lanes]
        head_key = key[0][:, lanes]
        head_upstream = upstream[0][:, lanes]
        probabilities = _probabilities(head_query, head_key, bias)
        drop = _dropout(seeds, head, query.shape[1], settings.rate)
        dropped = drop(probabilities).astype(query.dtype)
        slopes = drop(_product(head_upstream, value[0][:, lanes], 1, 1))  # [S, S]
        mean = jnp.sum(slopes * probabilities, axis=1, keepdims=True)
        slopes = probabilities * (slopes - mean) * settings.head_dim**-0.5  # of the scores
        slopes = slopes.astype(query.dtype)
        to_query.append(_product(slopes, head_key, 1, 0))
        to_key.append(_product(slopes, head_query, 0, 0))
        to_value.append(_product(dropped, head_upstream, 0, 0))
    for gradient, heads in zip(gradients, (to_query, to_key, to_value), strict=True):
        gradient[0] = jnp.concatenate(heads, axis=1).astype(gradient.dtype)


def _heads(numbers, head_dim):
    """Yields each head of a block: its number in the batch, and its lanes."""
    in_block = LANES // head_dim
    row = numbers[pl.program_id(0)]
    block = row * pl.num_programs(1) + pl.program_id(1)
    for index in range(in_block):
        start = index * head_dim
        yield block * in_block + index, slice(start, start + head_dim)


def _bias(ids, settings):
    """Computes the bias that hides keys, `[S, S]` or `[1, S]`, from ids `[1, S]`."""
    length = ids.shape[1]
    if settings.is_packed:
        of_queries = jnp.broadcast_to(ids, (LANES, length)).T[:, :1]  # [S, 1]
        bias = jnp.where(ids == of_queries, 0.0, HIDDEN)
    else:
        bias = jnp.where(ids == 0, HIDDEN, 0.0)
    queries = jax.lax.broadcasted_iota(jnp.int32, (length, 1), 0)
    keys = jax.lax.broadcasted_iota(jnp.int32, (1, length), 1)
    if settings.causal:
        bias = jnp.where(keys > queries, HIDDEN, bias)
    if settings.window is not None:
        bias = jnp.where(jnp.abs(keys - queries) > settings.window, HIDDEN, bias)
    return bias


def _probabilities(query, key, bias):
    """Returns the softmax of a head's scores, float32 `[S, S]`."""
    query = query * query.shape[1] ** -0.5
    scores = _product(query, key, 1, 1) + bias
    powers = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    return powers * (1 / jnp.sum(powers, axis=1, keepdims=True))


def _dropout(seeds, head, length, rate):
    """Returns a function that drops a head's probabilities, or their gradients."""
    if not rate:
        return lambda values: values
    keep = kept(seeds, head, length, rate)
    return lambda values: jnp.where(keep, values / (1 - rate), 0)


def kept(seeds, head, length, rate):
    """Draws which probabilities of a head dropout keeps, bool `[S, S]`, by a hash.

    `seeds` are uint32 `[2]`, and `head` is a number of the head that is unique in the batch.
    """
    queries = jax.lax.broadcasted_iota(jnp.uint32, (length, 1), 0)
    keys = jax.lax.broadcasted_iota(jnp.uint32, (1, length), 1)
    of_head = _mixed(head.astype(jnp.uint32) ^ seeds[0])
    of_head = _mixed(of_head ^ seeds[1])
    of_queries = _mixed(queries ^ of_head)
    bits = _mixed(of_queries ^ (keys * np.uint32(0x9E3779B9)))
    dropped = np.int32(round(rate * 2**32) - 2**31)
    return bits.astype(jnp.int32) >= dropped  # signed numbers, which TPUs compare


def _mixed(bits):
    """Mixes uint32s, as the end of MurmurHash3 does; the high bits are good enough for dropout."""
    bits = (bits ^ (bits >> 16)) * np.uint32(0x85EBCA6B)
    return (bits ^ (bits >> 13)) * np.uint32(0xC2B2AE35)


def _product(a, b, a_axis, b_axis):
    """Sums the products of two matrices over an axis of each, in float32."""
    axes = ((a_axis,), (b_axis,)), ((), ())
    return jax.lax.dot_general(a, b, axes, preferred_element_type=jnp.float32)
