"""Functions of tensors that run as one graph."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorflow as tf

_is_reused = contextvars.ContextVar("_is_reused", default=False)


@contextlib.contextmanager
def graphs_reused() -> Iterator[None]:
    """Makes functions that run in a graph call it from other graphs, too, such as those of `map`.

    A pipeline over other examples then traces nothing again.
    """
    token = _is_reused.set(True)
    try:
        yield
    finally:
        _is_reused.reset(token)


def in_graph(function: Callable) -> Callable:
    """Makes a function of tensors run as one graph when it is called eagerly.

    Use it for functions of ragged tensors, whose ops are slow when they run one by one. The graph
    is traced once for each structure of arguments, for any number of rows. The preprocessor among
    the arguments keeps it, so that both are freed together; `tf.function` would keep it forever.
    Inside another graph, the function is called unchanged, except in a context of `graphs_reused`.

    Args:
        function: a function of tensors, ragged tensors and arrays, and of tuples, dicts and
            dataclasses of them. All other arguments are constants of the graph and must be
            hashable. One of them is a `BertPreprocessor`.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not tf.executing_eagerly() and not _is_reused.get():
            return function(*args, **kwargs)
        with tf.device("CPU:0"):
            tensors, constants = [], []
            structure = _flatten((args, kwargs), tensors, constants)
            graphs = next(value.graphs for value in constants if hasattr(value, "graphs"))
            key = (function, structure)
            if key not in graphs:
                with tf.init_scope():
                    graphs[key] = _trace(function, structure, tensors)
            graph, returned = graphs[key]
            return _unflatten(returned, iter(graph(*tensors)))

    return call


@dataclasses.dataclass(frozen=True)
class _Node:
    """A value that consists of others, such as a dict."""

    kind: type
    names: tuple
    parts: tuple


@dataclasses.dataclass(frozen=True)
class _Constant:
    value: Any


class _Tensor(NamedTuple):
    """A tensor with any number of rows; unlike a `tf.TensorSpec`, quick to make and compare."""

    dtype: tf.DType
    shape: tuple


def _trace(function, structure, tensors):
    """Returns a function of flat tensors and the structure of what it returns."""
    returned = None

    def flat(*tensors):
        nonlocal returned
        args, kwargs = _unflatten(structure, iter(tensors))
        outputs = []
        returned = _flatten(function(*args, **kwargs), outputs, [])
        return outputs

    specs = [tf.TensorSpec(leaf.shape, leaf.dtype) for leaf in map(_leaf, tensors)]
    graph = tf.function(flat, input_signature=specs, autograph=False).get_concrete_function()
    return graph, returned


def _flatten(value: Any, tensors: list, constants: list) -> _Node | _Constant | _Tensor:
    """Collects the tensors and the constants of a value and returns its structure."""
    if isinstance(value, tf.RaggedTensor):
        names, parts = (), (value.values, value.row_splits)
    elif isinstance(value, tf.Tensor) or hasattr(value, "__array__"):
        tensors.append(tf.convert_to_tensor(value))
        return _leaf(tensors[-1])
    elif isinstance(value, dict):
        names, parts = tuple(value), tuple(value.values())
    elif isinstance(value, (tuple, list)):
        names, parts = (), value
    elif dataclasses.is_dataclass(value):
        names = tuple(field.name for field in dataclasses.fields(value))
        parts = tuple(getattr(value, name) for name in names)
    else:
        constants.append(value)
        return _Constant(value)
    parts = tuple(_flatten(part, tensors, constants) for part in parts)
    return _Node(type(value), names, parts)


def _unflatten(structure: _Node | _Constant | _Tensor, tensors: Iterator[tf.Tensor]) -> Any:
    """Rebuilds a value from its structure and its tensors."""
    if isinstance(structure, _Constant):
        return structure.value
    if isinstance(structure, _Tensor):
        return next(tensors)
    kind, names = structure.kind, structure.names
    parts = [_unflatten(part, tensors) for part in structure.parts]
    if kind is tf.RaggedTensor:
        return tf.RaggedTensor.from_row_splits(*parts, validate=False)
    if kind in (tuple, list):
        return kind(parts)
    return kind(**dict(zip(names, parts, strict=True)))


def _leaf(tensor):
    shape = tuple(tensor.shape)
    return _Tensor(tensor.dtype, (None, *shape[1:]) if shape else ())
