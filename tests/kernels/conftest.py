"""Values and gradients of functions on every backend."""

import keras
import numpy as np
import pytest


def by_tensorflow(function, dtype, upstream, inputs):
    import tensorflow as tf

    upstream, *inputs = (tf.cast(x, dtype) for x in (upstream, *inputs))

    @tf.function
    def compute(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = function(*inputs)
        return value, tape.gradient(value, inputs, upstream)

    return compute(*inputs)


def by_jax(function, dtype, upstream, inputs):
    import jax

    upstream, *inputs = (jax.numpy.asarray(x, dtype) for x in (upstream, *inputs))

    @jax.jit
    def compute(*inputs):
        value, pull_back = jax.vjp(function, *inputs)
        return value, pull_back(upstream)

    return compute(*inputs)


def by_torch(function, dtype, upstream, inputs):
    import torch

    inputs = [torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True) for x in inputs]
    value = function(*inputs)
    upstream = torch.tensor(upstream, dtype=value.dtype)
    return value.detach(), torch.autograd.grad(value, inputs, upstream)


GRADIENTS = {"tensorflow": by_tensorflow, "jax": by_jax, "torch": by_torch}


@pytest.fixture(scope="session")
def value_and_gradients():
    """Lists a function's value and the gradients of its sum weighted by `upstream`, as arrays."""

    def compute(function, dtype, upstream, *inputs, backend=None):
        gradients_of = GRADIENTS[backend or keras.backend.backend()]
        value, gradients = gradients_of(function, dtype, upstream, inputs)
        results = [value, *gradients]
        assert {keras.backend.standardize_dtype(x.dtype) for x in results} == {dtype}
        if keras.backend.backend() == "torch" and backend is None:
            results = [x.double().cpu() for x in results]
        return [np.asarray(x, "float64") for x in results]

    return compute
