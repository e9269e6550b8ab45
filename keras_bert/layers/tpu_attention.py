"""Attention of whole rows in a TPU's on-chip memory, with dropout, by a Pallas kernel.

BERT's rows are short: the scores of one head, 1 MiB for 512 tokens, fit in on-chip memory (VMEM).
The kernel therefore computes the softmax of whole rows, reads queries, keys and values once, and
writes the result once. The gradient computes the probabilities again. Nothing of the size of the
scores ever reaches the chip's main memory.

The heads stay where the projection writes them, in `[B, S, 3H]`, so nothing is transposed. A
program takes a row and the heads that share a block of lanes, two heads of 64 for instance.
"""

import functools

import jax
import numpy as np
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec

from keras_bert.layers.plain_attention import HIDDEN

LANES = 128  # numbers in a TPU's vector register, along the last axis
MAX_LENGTH = 512  # of BERT; the scores of longer rows need more VMEM than a v4 has


def fits(query_key_value, num_heads, mesh=None):
    """Returns whether the kernel takes projections `[B, S, 3H]` of this shape on a mesh."""
    rows, length, width = query_key_value.shape
    hidden_dim = width // 3
    head_dim = hidden_dim // num_heads
    return (
        length % LANES == 0
        and length <= MAX_LENGTH
        and hidden_dim % LANES == 0
        and LANES % head_dim == 0
        and rows % (1 if mesh is None else mesh.size) == 0
    )


def tpu_attention(
    query_key_value,
    num_heads,
    *,
    padding_mask=None,
    sequence_ids=None,
    dropout=None,
    causal=False,
    training=False,
    mesh=None,
):
    """Computes attention in VMEM; see `keras_bert.layers.attention.attention`.

    Rows are sharded over the first axis of the mesh, if there is one.
    """
    ids = padding_mask if sequence_ids is None else sequence_ids
    if ids is None:
        ids = jnp.ones(query_key_value.shape[:2], "int32")
    seeds = jnp.zeros(2, "uint32") if dropout is None else dropout.next_seed()
    attend = functools.partial(
        whole_rows,
        num_heads=num_heads,
        rate=0.0 if dropout is None else dropout.rate,
        is_packed=sequence_ids is not None,
        causal=causal,
    )
    if mesh is not None:  # XLA can't split a kernel's work among devices by itself
        by_row = PartitionSpec(mesh.axis_names[0])
        attend = jax.shard_map(
            attend,
            mesh=mesh,
            in_specs=(by_row, by_row, by_row, PartitionSpec()),
            out_specs=by_row,
            check_vma=False,
        )
    numbers = jnp.arange(query_key_value.shape[0], dtype="int32")
    return attend(query_key_value, ids.astype("int32"), numbers, seeds)


def whole_rows(
    query_key_value,
    ids,
    numbers,
    seeds,
    *,
    num_heads,
    rate,
    is_packed,
    causal=False,
    interpret=False,
):
    """Computes attention, a row at a time.

    Args:
        query_key_value: `[B, S, 3H]`.
        ids: int32 `[B, S]`. If `is_packed`, tokens see the tokens with the same number; otherwise
            all tokens but those with a 0.
        numbers: int32 `[B]`, the number of each row in the batch, which dropout depends on.
        seeds: uint32 `[2]`.
        num_heads: int.
        rate: float, of the dropout.
        is_packed: bool.
        causal: bool, whether tokens see no later ones.
        interpret: bool, whether to run on a CPU, slowly.

    Returns:
        `[B, S, H]`.
    """
    settings = num_heads, rate, is_packed, causal, interpret
    return _attend(query_key_value, ids, numbers, seeds, settings)


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def _attend(query_key_value, ids, numbers, seeds, settings):
    width = query_key_value.shape[2] // 3
    return _run(_forward, [query_key_value], ids, numbers, seeds, settings, width, products=2)


def _pull_back(settings, saved, upstream):
    query_key_value, *rest = saved
    tensors, width = [query_key_value, upstream], query_key_value.shape[2]
    gradient = _run(_backward, tensors, *rest, settings, width, products=5)
    return gradient, None, None, None


def _attend_and_save(*arguments):
    return _attend(*arguments), arguments[:4]


_attend.defvjp(_attend_and_save, _pull_back)


def _run(kernel, tensors, ids, numbers, seeds, settings, width, products):
    """Runs a kernel on each row and block of heads; returns `[B, S, width]`."""
    num_heads, rate, is_packed, causal, interpret = settings
    (rows, length, triple), dtype = tensors[0].shape, tensors[0].dtype
    hidden_dim = triple // 3
    head_dim, num_blocks = hidden_dim // num_heads, hidden_dim // LANES

    def heads(part=0):
        """A block of heads of the queries (part 0), keys or values."""
        place = part * num_blocks
        return pl.BlockSpec((1, length, LANES), lambda row, block, *_: (row, 0, place + block))

    def whole(*shape):
        return pl.BlockSpec((1, *shape), lambda row, *_: (row, 0, 0))

    blocks = [
        (tensor, heads(part)) for tensor in tensors for part in range(tensor.shape[2] // hidden_dim)
    ]
    inputs, specs = zip(*blocks, strict=True)
    return pl.pallas_call(
        functools.partial(kernel, head_dim=head_dim, rate=rate, is_packed=is_packed, causal=causal),
        out_shape=jax.ShapeDtypeStruct((rows, length, width), dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,  # numbers and seeds
            grid=(rows, num_blocks),
            in_specs=[whole(1, length), *specs],
            out_specs=heads() if width == hidden_dim else whole(length, width),
        ),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary"),
            vmem_limit_bytes=_vmem_bytes(length, hidden_dim, dtype),
        ),
        cost_estimate=pl.CostEstimate(
            flops=2 * products * rows * length**2 * hidden_dim,
            transcendentals=rows * num_heads * length**2,
            bytes_accessed=rows * length * (len(inputs) * hidden_dim + width) * dtype.itemsize,
        ),
        interpret=interpret,
    )(numbers, seeds, ids[:, None], *inputs)


def _vmem_bytes(length, hidden_dim, dtype):
    """Returns the VMEM that a row takes; what isn't taken serves the operations around it."""
    moved = 2 * length * (4 * LANES + 3 * hidden_dim) * dtype.itemsize  # a row and the next one
    return moved + 10 * 4 * length**2 + 2 * 2**20  # the compiler keeps scores of two heads


def _forward(numbers, seeds, ids, query, key, value, context, *, head_dim, rate, is_packed, causal):
    """Writes the context of a block of heads, `[1, S, LANES]`."""
    bias = _bias(ids[0], is_packed, causal)
    contexts = []
    for head, lanes in _heads(numbers, head_dim):
        probabilities = _probabilities(query[0][:, lanes], key[0][:, lanes], bias)
        if rate:
            keep = kept(seeds, head, query.shape[1], rate)
            probabilities = jnp.where(keep, probabilities / (1 - rate), 0)
        contexts.append(_product(probabilities.astype(value.dtype), value[0][:, lanes], 1, 0))
    context[0] = jnp.concatenate(contexts, axis=1).astype(context.dtype)


def _backward(
    numbers,
    seeds,
    ids,
    query,
    key,
    value,
    upstream,
    gradients,
    *,
    head_dim,
    rate,
    is_packed,
    causal,
):
    """Writes the gradients of a block of heads into those of its row, `[1, S, 3H]`."""
    bias = _bias(ids[0], is_packed, causal)
    parts = [], [], []
    for head, lanes in _heads(numbers, head_dim):
        own_query, own_key, own_value, own_upstream = (
            tensor[0][:, lanes] for tensor in (query, key, value, upstream)
        )
        probabilities = dropped = _probabilities(own_query, own_key, bias)
        slopes = _product(own_upstream, own_value, 1, 1)  # [S, S], of the dropped probabilities
        if rate:
            keep = kept(seeds, head, query.shape[1], rate)
            dropped = jnp.where(keep, probabilities / (1 - rate), 0)
            slopes = jnp.where(keep, slopes / (1 - rate), 0)
        mean = jnp.sum(slopes * probabilities, axis=1, keepdims=True)
        slopes = probabilities * (slopes - mean) * head_dim**-0.5  # of the scores
        slopes, dropped = slopes.astype(query.dtype), dropped.astype(query.dtype)
        parts[0].append(_product(slopes, own_key, 1, 0))
        parts[1].append(_product(slopes, own_query, 0, 0))
        parts[2].append(_product(dropped, own_upstream, 0, 0))
    block, num_blocks = pl.program_id(1), pl.num_programs(1)
    for number, part in enumerate(parts):
        first = pl.multiple_of((number * num_blocks + block) * LANES, LANES)
        gradient = jnp.concatenate(part, axis=1).astype(gradients.dtype)
        gradients[0, :, pl.ds(first, LANES)] = gradient


def _heads(numbers, head_dim):
    """Yields each head of a block: its number in the batch, and its lanes."""
    in_block = LANES // head_dim
    first = (numbers[pl.program_id(0)] * pl.num_programs(1) + pl.program_id(1)) * in_block
    for number in range(in_block):
        yield first + number, slice(number * head_dim, (number + 1) * head_dim)


def _bias(ids, is_packed, causal):
    """Returns the bias that hides keys, `[S, S]` or `[1, S]`, from ids `[1, S]`."""
    length = ids.shape[1]
    if is_packed:
        of_queries = jnp.broadcast_to(ids, (LANES, length)).T[:, :1]  # [S, 1]
        bias = jnp.where(ids == of_queries, 0.0, HIDDEN)
    else:
        bias = jnp.where(ids == 0, HIDDEN, 0.0)
    if not causal:
        return bias
    queries = jax.lax.broadcasted_iota(jnp.int32, (length, 1), 0)
    keys = jax.lax.broadcasted_iota(jnp.int32, (1, length), 1)
    return jnp.where(keys > queries, HIDDEN, bias)


def _probabilities(query, key, bias):
    """Returns the softmax of a head's scores, float32 `[S, S]`."""
    scores = _product(query * query.shape[1] ** -0.5, key, 1, 1) + bias
    powers = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    return powers * (1 / jnp.sum(powers, axis=1, keepdims=True))


def kept(seeds, head, length, rate):
    """Draws which probabilities of a head dropout keeps, by a hash of seeds and positions.

    Args:
        seeds: uint32 `[2]`.
        head: int32 scalar, a number of the head that is unique in the batch.
        length: int, S.
        rate: float.

    Returns:
        bool `[S, S]`.
    """
    queries = jax.lax.broadcasted_iota(jnp.uint32, (length, 1), 0)
    keys = jax.lax.broadcasted_iota(jnp.uint32, (1, length), 1)
    of_head = _mixed(_mixed(head.astype(jnp.uint32) ^ seeds[0]) ^ seeds[1])
    bits = _mixed(_mixed(queries ^ of_head) ^ (keys * np.uint32(0x9E3779B9)))
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
