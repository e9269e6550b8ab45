"""Kernels: faster ways to compute an operation of a layer, on one backend or device.

A layer calls `compute("gelu", plain_gelu, x)`. The first kernel of `TABLE` that takes the arguments
on this backend computes them, and the plain function does if there is none. Both return the same
numbers, up to rounding, and the same gradients; the kernel's test proves it.

`keras_bert.kernels.disable()` turns all kernels off, so that you can tell whether a fault is a
kernel's. It takes effect in what is traced after it, such as in a new model.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.kernels import (
    decoding,
    dropping,
    fused_attention,
    gelus,
    near_attention,
    normalizing,
    onednn,
    query_blocks,
)
from keras_bert.kernels.blocks import repeated as repeated
from keras_bert.kernels.switch import are_on
from keras_bert.kernels.switch import disable as disable
from keras_bert.kernels.switch import enable as enable


class Kernel(NamedTuple):
    """A way to compute an operation, and where it is taken."""

    operation: str
    backend: str | None  # of Keras; None is any
    device: str
    takes: Callable  # from the operation's arguments: bool, or a tensor known when a graph runs
    compute: Callable  # the signature of the plain function; with `splits`, the whole one first
    ran_on: str  # "lowered" was compiled for a device that it hasn't run on
    test: str  # below tests/
    splits: bool = False  # whether it cuts the work into parts, for the other kernels


def always(*arguments: Any) -> bool:
    """Returns True: the kernel takes all arguments."""
    return True


TABLE = (
    Kernel(
        "attention",
        None,
        "any",
        near_attention.takes_blocks,
        near_attention.near_attention,
        "CPU",
        "kernels/test_near_attention.py",
        splits=True,
    ),
    Kernel(
        "attention",
        "tensorflow",
        "CPU",
        query_blocks.is_long,
        query_blocks.by_queries,
        "CPU",
        "kernels/test_onednn.py",
        splits=True,
    ),
    Kernel(
        "attention",
        "torch",
        "any",
        fused_attention.may_fuse,
        fused_attention.sdpa_attention,
        "CPU",
        "kernels/test_fused_attention.py",
    ),
    Kernel(
        "attention",
        "jax",
        "NVIDIA, from Ampere",
        fused_attention.takes_cudnn,
        fused_attention.attention_by_cudnn,
        "lowered",
        "kernels/test_gpu_ready.py",
    ),
    Kernel(
        "dense",
        "tensorflow",
        "any",
        onednn.are_sequences,
        onednn.dense_of_rows,
        "CPU",
        "kernels/test_onednn.py",
    ),
    Kernel(
        "layer_norm",
        "tensorflow",
        "CPU",
        normalizing.trains_on_cpus,
        normalizing.with_own_gradient,
        "CPU",
        "kernels/test_own_gradients.py",
    ),
    Kernel(
        "layer_norm",
        "tensorflow",
        "CPU",
        onednn.takes_norm,
        onednn.layer_norm,
        "CPU",
        "kernels/test_onednn.py",
    ),
    Kernel(
        "gated",
        "tensorflow",
        "CPU",
        onednn.takes_gates,
        onednn.gated,
        "CPU",
        "kernels/test_onednn.py",
    ),
    Kernel(
        "gelu",
        "tensorflow",
        "any",
        ops.is_tensor,
        gelus.with_slope,
        "CPU",
        "kernels/test_own_gradients.py",
    ),
    Kernel("gelu", "torch", "any", ops.is_tensor, gelus.of_torch, "CPU", "layers/test_gelu.py"),
    Kernel(
        "decode",
        "tensorflow",
        "any",
        decoding.is_plain,
        decoding.by_rows,
        "CPU",
        "kernels/test_own_gradients.py",
    ),
    Kernel(
        "dropout",
        "tensorflow",
        "any",
        always,
        dropping.by_tensorflow,
        "CPU",
        "layers/test_dropout.py",
    ),
    Kernel("dropout", "jax", "any", always, dropping.by_jax, "CPU", "layers/test_dropout.py"),
)


def compute(operation: str, plain: Callable, *arguments: Any) -> Any:
    """Computes an operation by the first kernel that takes its arguments here, or plainly."""
    return _by_first(_kernels_of(operation), plain, arguments)


def _kernels_of(operation):
    if not are_on():
        return []
    backends = (None, keras.backend.backend())
    return [row for row in TABLE if row.operation == operation and row.backend in backends]


def _by_first(kernels, plain, arguments):
    if not kernels:
        return plain(*arguments)
    kernel, *others = kernels

    def otherwise(*arguments):
        return _by_first(others, plain, arguments)

    computed = kernel.compute
    if kernel.splits:
        computed = functools.partial(computed, otherwise)
    takes = kernel.takes(*arguments)
    if isinstance(takes, bool):
        return computed(*arguments) if takes else otherwise(*arguments)
    return ops.cond(takes, lambda: computed(*arguments), lambda: otherwise(*arguments))
