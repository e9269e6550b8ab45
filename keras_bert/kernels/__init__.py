"""Kernels: faster ways to compute an operation of a layer, on one backend or device.

A layer calls `compute("gelu", plain_gelu, x)`. The first kernel of `TABLE` that takes the arguments
on this backend computes them, and the plain function does if there is none. Both return the same
numbers and gradients, up to rounding; dropout draws from other random numbers. `repeated` traces
the blocks of an encoder once.

`keras_bert.kernels.disable()` turns all kernels off, so that you can tell whether a fault is a
kernel's. It takes effect in what is traced after it, such as in a new model.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.kernels import onednn
from keras_bert.kernels.blocks import repeated as repeated
from keras_bert.kernels.decoding import by_rows, is_plain
from keras_bert.kernels.dropping import dropout_of_jax, dropout_of_tensorflow
from keras_bert.kernels.fused_attention import by_cudnn, may_fuse, sdpa_attention, takes_cudnn
from keras_bert.kernels.gelus import gelu_of_torch, with_slope
from keras_bert.kernels.near import near_attention, takes_blocks
from keras_bert.kernels.normalizing import trains_on_cpus, with_own_gradient
from keras_bert.kernels.query_blocks import by_queries, is_long
from keras_bert.kernels.switch import are_on
from keras_bert.kernels.switch import disable as disable
from keras_bert.kernels.switch import enable as enable


class Kernel(NamedTuple):
    """A way to compute an operation, and where it is taken."""

    operation: str
    backend: str | None  # of Keras; None is any
    device: str
    takes: Callable  # from the operation's arguments: bool, or a tensor if only a run can tell
    compute: Callable  # the signature of the plain function; with `splits`, the whole one first
    test: str  # below tests/
    ran_on: str = "CPU"  # "nothing": lowered, but never run on its device
    splits: bool = False  # whether it cuts the work into parts, for the other kernels


def always(*arguments: Any) -> bool:
    """Returns True: the kernel takes all arguments."""
    return True


_ATTENTION = "kernels/test_fused_attention.py"
_NEAR = "kernels/test_near_attention.py"
_ONEDNN = "kernels/test_onednn.py"
_GRADIENTS = "kernels/test_own_gradients.py"
_DROPOUT = "layers/test_dropout.py"
TABLE = (
    Kernel("attention", None, "any", takes_blocks, near_attention, _NEAR, splits=True),
    Kernel("attention", "tensorflow", "CPU", is_long, by_queries, _ONEDNN, splits=True),
    Kernel("attention", "torch", "any", may_fuse, sdpa_attention, _ATTENTION),
    Kernel("attention", "jax", "NVIDIA", takes_cudnn, by_cudnn, _ATTENTION, ran_on="nothing"),
    Kernel("dense", "tensorflow", "any", onednn.are_sequences, onednn.dense_of_rows, _ONEDNN),
    Kernel("layer_norm", "tensorflow", "CPU", trains_on_cpus, with_own_gradient, _GRADIENTS),
    Kernel("layer_norm", "tensorflow", "CPU", onednn.takes_norm, onednn.layer_norm, _ONEDNN),
    Kernel("gated", "tensorflow", "CPU", onednn.takes_gates, onednn.gated, _ONEDNN),
    Kernel("gelu", "tensorflow", "any", ops.is_tensor, with_slope, _GRADIENTS),
    Kernel("gelu", "torch", "any", ops.is_tensor, gelu_of_torch, "layers/test_gelu.py"),
    Kernel("decode", "tensorflow", "any", is_plain, by_rows, _GRADIENTS),
    Kernel("dropout", "tensorflow", "any", always, dropout_of_tensorflow, _DROPOUT),
    Kernel("dropout", "jax", "any", always, dropout_of_jax, _DROPOUT),
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
