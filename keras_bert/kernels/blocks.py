"""The blocks of a model: traced once if they are alike, and recomputed for their gradients."""

import contextlib
import contextvars
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import keras

from keras_bert.kernels.switch import are_on

_shares_functions = contextvars.ContextVar("_shares_functions", default=False)


@contextlib.contextmanager
def shared_functions() -> Iterator[None]:
    """Has layers that are alike share functions in graphs that are traced in a `with` block.

    Train loops use it. Exported graphs have none: LiteRT's converter gives all calls of a function
    the weights of one.
    """
    token = _shares_functions.set(True)
    try:
        yield
    finally:
        _shares_functions.reset(token)


def repeated(call: Callable) -> Callable:
    """Decorates `call` of a layer that a model has many of, such as an encoder's block.

    In TensorFlow's graphs of `fit`, `evaluate` and `predict` for one replica, layers that are alike
    share a function that gets their weights as arguments. It is traced once, so models begin to
    train and to answer sooner. Layers that differ, such as by adapters, frozen weights or dtypes,
    have functions of their own.

    If the layer has a true attribute `remat`, training keeps no intermediate results of `call`, and
    computes it a second time for the gradients, with the same dropout. (On TensorFlow,
    `keras.RematScope` would draw another one, which makes gradients wrong.)

    Example:
    >>> import keras
    >>> from keras_bert.kernels import repeated
    >>> class Block(keras.layers.Layer):
    ...     def build(self, shape):
    ...         self.scale = self.add_weight(shape[-1:], "ones")
    ...     @repeated
    ...     def call(self, x, training=None):
    ...         return x * self.scale
    >>> tuple(Block()(keras.ops.ones((2, 3))).shape)
    (2, 3)
    """

    @functools.wraps(call)
    def call_of_block(self, *args, **kwargs):
        recomputes = bool(kwargs.get("training") and getattr(self, "remat", False))
        functions = _functions_of_graph()
        if functions is None and not recomputes:
            return call(self, *args, **kwargs)
        block = _Block(self, call, args, kwargs)
        function = block.recomputed if recomputes else block.compute
        if functions is not None:
            kind = (*block.kind(), recomputes)
            function = functions.setdefault(kind, _traced(function))
        return block.finish(*function(*block.values()))

    return call_of_block


class _Block:
    """A call of a layer as a function of tensors: its arguments, then its variables' values."""

    def __init__(self, layer, call, args, kwargs):
        self.layer = layer
        self.call = call
        self.arguments = args, kwargs
        self.variables = layer.variables
        leaves = keras.tree.flatten(self.arguments)
        self.tensors = [leaf for leaf in leaves if keras.ops.is_tensor(leaf)]

    def values(self):
        """Returns what `compute` takes."""
        values = [keras.ops.convert_to_tensor(variable.value) for variable in self.variables]
        return [*self.tensors, *values]

    def compute(self, *values):
        """Returns the outputs, the new values of variables by index, and losses."""
        tensors = iter(values)
        args, kwargs = keras.tree.map_structure(
            lambda leaf: next(tensors) if keras.ops.is_tensor(leaf) else leaf, self.arguments
        )
        given = list(tensors)
        scope = keras.StatelessScope(collect_losses=True, initialize_variables=False)
        for variable, value in zip(self.variables, given, strict=True):
            scope.add_update((variable, value))
        with scope:
            outputs = self.call(self.layer, *args, **kwargs)
        updates = {}
        for index, variable in enumerate(self.variables):
            value = scope.get_current_value(variable)
            if value is not given[index]:
                updates[index] = value
        return outputs, updates, scope.losses

    def recomputed(self, *values):
        """Like `compute`, without keeping intermediate results for the gradients."""
        backend = keras.backend.backend()
        if backend == "jax":
            import jax

            return jax.checkpoint(self.compute)(*values)
        if backend == "torch":
            import torch

            checkpoint = torch.utils.checkpoint.checkpoint
            return checkpoint(self.compute, *values, use_reentrant=False)
        import tensorflow as tf

        others = []  # of the first computation: TensorFlow would differentiate integers

        def outputs_alone(*values):
            outputs, *rest = self.compute(*values)
            others.append(rest)
            return outputs

        outputs = tf.recompute_grad(outputs_alone)(*values)
        return outputs, *others[0]

    def finish(self, outputs, updates, losses):
        """Gives variables their new values, and the layer its losses; returns the outputs."""
        for index, value in updates.items():
            self.variables[index].assign(value)
        for loss in losses:
            self.layer.add_loss(loss)
        return outputs

    def kind(self):
        """Returns what tells layers apart that can't share a function; names and values don't."""
        leaves = keras.tree.flatten(self.arguments)
        settings = [None if keras.ops.is_tensor(leaf) else leaf for leaf in leaves]
        variables = [(v.name, tuple(v.shape), v.dtype, v.trainable) for v in self.variables]
        layers = map(_settings_of_layer, _layers_in(self.layer, set()))
        return *settings, *variables, *layers


def _settings_of_layer(layer):
    try:
        config = layer.get_config()
    except NotImplementedError:  # of a user's layer, whose arguments Keras doesn't know
        return id(layer)
    del config["name"]
    patched = vars(layer).get("call")
    return type(layer), id(patched), json.dumps(config, sort_keys=True, default=repr)


def _layers_in(value: Any, seen: set[int]) -> Iterator[keras.layers.Layer]:
    """Yields the layers in an attribute's value, at any depth, each once."""
    if isinstance(value, keras.layers.Layer):
        if id(value) in seen:
            return
        seen.add(id(value))
        yield value
        value = vars(value)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for part in value:
        yield from _layers_in(part, seen)


def _functions_of_graph():
    """Returns the functions that the graph being traced has, by kind; None outside of graphs.

    A graph that is traced later has its own, as layers may have changed.
    """
    if not (_shares_functions.get() and are_on() and keras.backend.backend() == "tensorflow"):
        return None
    import tensorflow as tf

    has_replicas = (
        tf.distribute.get_strategy().num_replicas_in_sync > 1
    )  # with dropout of their own
    if has_replicas or not tf.inside_function():
        return None
    functions = tf.compat.v1.get_collection_ref("keras_bert_blocks")
    if not functions:
        functions.append({})
    return functions[0]


def _traced(function):
    import tensorflow as tf

    return tf.function(function, autograph=False)
