"""Gradients that the layers define themselves equal those of the plain expressions."""

import keras
import numpy as np
import pytest
from keras import ops
from numpy.testing import assert_allclose

from keras_bert import kernels
from keras_bert.kernels.decoding import by_rows
from keras_bert.kernels.gelus import plain_gelu, with_slope
from keras_bert.kernels.normalizing import normalized
from keras_bert.layers.dense_and_norms import EPSILON, LayerNorm
from keras_bert.layers.gelu import gelu

# Of the largest gradient.
TOLERANCES = {
    "float64": 1e-12,
    "float32": 2e-6,
    "bfloat16": 1.6e-2,
}
generator = np.random.default_rng(3)
X, UPSTREAM = generator.normal(1, 3, (2, 3, 5, 8))
GAMMA, BETA = generator.normal(1, 1, (2, 8))


def plain_norm(x, gamma, beta):
    return ops.layer_normalization(x, gamma, beta, axis=-1, epsilon=EPSILON)


@pytest.mark.parametrize(
    ("own", "plain", "inputs"),
    [
        pytest.param(with_slope, plain_gelu, [X], id="gelu"),
        pytest.param(normalized(EPSILON), plain_norm, [X, GAMMA, BETA], id="norm"),
    ],
)
def test_own_gradients_equal_those_of_the_plain_expressions(
    value_and_gradients, own, plain, inputs
):
    for dtype, tolerance in TOLERANCES.items():
        if dtype == "float64" and keras.backend.backend() == "jax":
            continue  # JAX has it only if it is enabled for the whole process
        actual = value_and_gradients(own, dtype, UPSTREAM, *inputs)
        expected = value_and_gradients(plain, dtype, UPSTREAM, *inputs)
        computed = keras.backend.result_type(dtype, "float32")  # PyTorch has float32 for float64
        tolerance = max(tolerance, TOLERANCES[computed])
        for a, b in zip(actual, expected, strict=True):
            assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max(), err_msg=dtype)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_layer_norm_uses_its_gradient_in_training(
    assert_close, tensorflow, monkeypatch, jit_compile
):
    uses = []

    def recorded(epsilon):
        uses.append(epsilon)
        return normalized(epsilon)

    monkeypatch.setattr("keras_bert.kernels.normalizing.normalized", recorded)
    layer = LayerNorm(epsilon=EPSILON)
    layer.build(X.shape)
    normalize = tensorflow.function(layer, jit_compile=jit_compile)
    own = normalize(X, training=True)
    assert uses == [EPSILON]
    assert_close(own, normalize(X, training=False))
    assert uses == [EPSILON]


def test_gelu_uses_its_gradient_on_tensors(tensorflow, monkeypatch):
    rows = [
        row._replace(compute=lambda x: "own") for row in kernels.TABLE if row.operation == "gelu"
    ]
    monkeypatch.setattr(kernels, "TABLE", rows)
    assert gelu(tensorflow.constant(X)) == "own"


def test_accelerators_keep_keras_layer_norm(tensorflow, monkeypatch):
    layer = LayerNorm(epsilon=EPSILON)
    monkeypatch.setattr("keras_bert.kernels.normalizing.normalized", None)
    for kind in ("GPU", "TPU"):
        devices = [tensorflow.config.LogicalDevice(name, name) for name in ("CPU", kind)]
        monkeypatch.setattr(tensorflow.config, "list_logical_devices", lambda found=devices: found)
        assert_allclose(layer(X, training=True), layer(X, training=False))


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_decoder_is_the_reversed_embedding(assert_close, dtype, tensorflow):
    table = keras.layers.ReversibleEmbedding(11, 8, dtype=dtype)
    table.build(())
    x = ops.cast(X, table.compute_dtype)
    found = []
    for decode in (by_rows, lambda table, x: table(x, reverse=True)):
        with tensorflow.GradientTape() as tape:
            logits = decode(table, x)
        found.append([logits, tape.gradient(logits, table.embeddings.value)])
    assert_close(*(keras.tree.map_structure(lambda v: ops.cast(v, "float32"), f) for f in found))


def test_bfloat16_gradients_are_within_rounding_of_the_exact_ones(value_and_gradients):
    rounded = ops.convert_to_numpy(ops.cast(ops.cast(X, "bfloat16"), "float32"))
    exact = value_and_gradients(plain_gelu, "float32", UPSTREAM, rounded)
    actual = value_and_gradients(with_slope, "bfloat16", UPSTREAM, X)
    for a, b in zip(actual, exact, strict=True):
        assert_allclose(a, b, rtol=1.3e-2, atol=1e-6)  # three roundings of 2^-8 or less
