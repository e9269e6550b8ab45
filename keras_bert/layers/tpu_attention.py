"""Attention of whole rows in a TPU's on-chip memory, with dropout, by a Pallas kernel.

BERT's rows are short: the scores of one head, 1 MiB for 512 tokens, fit in on-chip memory (VMEM).
A program therefore takes one row and reads its queries, keys and values once. It computes the
softmax of each head in one piece and writes the result once. The gradient computes the
probabilities again. Nothing of the size of the scores ever reaches the chip's main memory.

The heads stay where the projection writes them, in `[B, S, 3H]`, so nothing is transposed.
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
MAX_LENGTH = 1024  # the float32 scores of a head take 4 MiB
_VMEM_BYTES = 64 * 2**20


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


def tpu_attention(query_key_value, num_heads, padding_mask, sequence_ids, dropout=None, mesh=None):
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
    query_key_value, ids, numbers, seeds, *, num_heads, rate, is_packed, interpret=False
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
        interpret: bool, whether to run on a CPU, slowly.

    Returns:
        `[B, S, H]`.
    """
    settings = num_heads, rate, is_packed, interpret
    return _attend(query_key_value, ids, numbers, seeds, settings)


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def _attend(query_key_value, ids, numbers, seeds, settings):
    width = query_key_value.shape[2] // 3
    return _run(_forward, [query_key_value], ids, numbers, seeds, settings, width, products=2)


def _pull_back(settings, kept, upstream):
    query_key_value, *rest = kept
    tensors, width = [query_key_value, upstream], query_key_value.shape[2]
    gradient = _run(_backward, tensors, *rest, settings, width, products=5)
    return gradient, None, None, None


def _attend_and_keep(*arguments):
    return _attend(*arguments), arguments[:4]


_attend.defvjp(_attend_and_keep, _pull_back)


def _run(kernel, tensors, ids, numbers, seeds, settings, width, products):
    """Runs a kernel on each row of `tensors`; returns `[B, S, width]`."""
    num_heads, rate, is_packed, interpret = settings
    rows, length, _ = tensors[0].shape
    dtype, hidden_dim = tensors[0].dtype, tensors[0].shape[2] // 3

    def row(*shape):
        return pl.BlockSpec((1, *shape), lambda number, *_: (number, 0, 0))

    widths = [tensor.shape[2] for tensor in tensors]
    return pl.pallas_call(
        functools.partial(kernel, num_heads=num_heads, rate=rate, is_packed=is_packed),
        out_shape=jax.ShapeDtypeStruct((rows, length, width), dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,  # numbers and seeds
            grid=(rows,),
            in_specs=[row(1, length), *[row(length, width) for width in widths]],
            out_specs=row(length, width),
        ),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel",), vmem_limit_bytes=_VMEM_BYTES
        ),
        cost_estimate=pl.CostEstimate(
            flops=2 * products * rows * length**2 * hidden_dim,
            transcendentals=rows * num_heads * length**2,
            bytes_accessed=rows * length * (sum(widths) + width) * dtype.itemsize,
        ),
        interpret=interpret,
    )(numbers, seeds, ids[:, None], *tensors)


def _forward(numbers, seeds, ids, query_key_value, context, *, num_heads, rate, is_packed):
    """Writes the context `[1, S, H]` of a row."""
    length, hidden_dim = context.shape[1:]
    head_dim = hidden_dim // num_heads
    bias, row = _bias(ids[0], is_packed), numbers[pl.program_id(0)]

    def compute(block, _):
        """Computes the heads that lie in one block of lanes."""
        lanes = [_lanes(query_key_value, block, hidden_dim, part) for part in range(3)]
        contexts = []
        for number in range(LANES // head_dim):
            query, key, value = (x[:, _head(number, head_dim)] for x in lanes)
            probabilities = _probabilities(query, key, bias)
            if rate:
                head = block * (LANES // head_dim) + number
                keep = kept(seeds, row * num_heads + head, length, rate)
                probabilities = jnp.where(keep, probabilities / (1 - rate), 0)
            contexts.append(_product(probabilities.astype(value.dtype), value, 1, 0))
        _write(context, block, hidden_dim, 0, contexts)

    jax.lax.fori_loop(0, hidden_dim // LANES, compute, None)


def _backward(
    numbers, seeds, ids, query_key_value, upstream, gradients, *, num_heads, rate, is_packed
):
    """Writes the gradients `[1, S, 3H]` of a row's queries, keys and values."""
    length, hidden_dim = upstream.shape[1:]
    head_dim = hidden_dim // num_heads
    bias, row = _bias(ids[0], is_packed), numbers[pl.program_id(0)]

    def compute(block, _):
        lanes = [_lanes(query_key_value, block, hidden_dim, part) for part in range(3)]
        lanes.append(_lanes(upstream, block, hidden_dim, 0))
        parts = [], [], []
        for number in range(LANES // head_dim):
            query, key, value, above = (x[:, _head(number, head_dim)] for x in lanes)
            probabilities = dropped = _probabilities(query, key, bias)
            slopes = _product(above, value, 1, 1)  # [S, S], of the dropped probabilities
            if rate:
                head = block * (LANES // head_dim) + number
                keep = kept(seeds, row * num_heads + head, length, rate)
                dropped = jnp.where(keep, probabilities / (1 - rate), 0)
                slopes = jnp.where(keep, slopes / (1 - rate), 0)
            mean = jnp.sum(slopes * probabilities, axis=1, keepdims=True)
            slopes = probabilities * (slopes - mean) * head_dim**-0.5  # of the scores
            slopes, dropped = slopes.astype(query.dtype), dropped.astype(query.dtype)
            parts[0].append(_product(slopes, key, 1, 0))
            parts[1].append(_product(slopes, query, 0, 0))
            parts[2].append(_product(dropped, above, 0, 0))
        for number, part in enumerate(parts):
            _write(gradients, block, hidden_dim, number, part)

    jax.lax.fori_loop(0, hidden_dim // LANES, compute, None)


def _bias(ids, is_packed):
    """Returns the bias that hides keys, `[S, S]` or `[1, S]`, from ids `[1, S]`."""
    if not is_packed:
        return jnp.where(ids == 0, HIDDEN, 0.0)
    of_queries = jnp.broadcast_to(ids, (LANES, ids.shape[1])).T[:, :1]  # [S, 1]
    return jnp.where(ids == of_queries, 0.0, HIDDEN)


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


def _lanes(tensor, block, hidden_dim, part):
    """Reads a block of heads, `[S, LANES]`, of queries, keys or values."""
    return tensor[0, :, pl.ds(pl.multiple_of(part * hidden_dim + block * LANES, LANES), LANES)]


def _write(tensor, block, hidden_dim, part, heads):
    lanes = pl.ds(pl.multiple_of(part * hidden_dim + block * LANES, LANES), LANES)
    tensor[0, :, lanes] = jnp.concatenate(heads, axis=1).astype(tensor.dtype)


def _head(number, head_dim):
    return slice(number * head_dim, (number + 1) * head_dim)
