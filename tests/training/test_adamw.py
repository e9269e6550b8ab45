import itertools

import keras
import ml_dtypes
import numpy as np
import pytest
from keras import ops
from numpy.testing import assert_allclose

from keras_bert import BertBackbone, BertClassifier, WarmupLinearDecay
from keras_bert.training.adamw import AdamW

KERNEL = [[0.5, -1.0], [2.0, 0.1]]
BIAS = [0.3, -0.7]
GRADIENTS = [
    ([[0.3, -0.2], [1e-4, 4.0]], [0.5, -2.0]),
    ([[-0.1, 0.7], [3e-4, -1.0]], [0.1, 1.0]),
    ([[0.2, 0.1], [-2e-4, 0.5]], [-0.4, 0.2]),
]


def reference(
    weights,
    gradients,
    decays,
    bias_correction,
    clip=None,
    rates=None,
    decay=0.01,
    dtype="float64",
):
    """BERT's update (and Adam's, Kingma & Ba 2015, algorithm 1) in float64.

    Weights are rounded to `dtype` after each step.
    """
    weights = [np.asarray(weight, dtype).astype("float64") for weight in weights]
    rates = rates or [0.1] * len(gradients)
    m = [np.zeros_like(weight) for weight in weights]
    v = [np.zeros_like(weight) for weight in weights]
    for step, gradient in enumerate(gradients, start=1):
        gradient = [np.float64(part) for part in gradient]
        if clip is not None:
            norm = np.sqrt(sum(np.sum(part**2) for part in gradient))
            gradient = [part * min(1, clip / norm) for part in gradient]
        for i, part in enumerate(gradient):
            m[i] = 0.9 * m[i] + 0.1 * part
            v[i] = 0.999 * v[i] + 0.001 * part**2
            first, second = (1 - 0.9**step, 1 - 0.999**step) if bias_correction else (1, 1)
            update = (m[i] / first) / (np.sqrt(v[i] / second) + 1e-6)
            weight = weights[i] - rates[step - 1] * (update + decay * decays[i] * weights[i])
            weights[i] = weight.astype(dtype).astype("float64")
    return weights


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_weights_of_every_precision_take_the_steps_of_the_formula(dtype):
    """Moments, norm, schedule and accumulation are at least float32; a weight is rounded once."""
    rate = WarmupLinearDecay(0.125, warmup_steps=4, total_steps=16)  # all are exact in float32
    rates = [float(rate(step)) for step in range(1, 12, 2)]
    computed = "float32" if keras.backend.backend() == "jax" or dtype != "float64" else "float64"
    bound = max(float(ml_dtypes.finfo(dtype).eps), 20 * np.finfo(computed).eps)  # of six steps
    # Keras reads NumPy's float64 in float32.
    start = [
        np.float32(KERNEL),
        np.float32(BIAS),
    ]
    for size, clip, bias_correction in (
        (1e-3, None, True),  # float16's squares of these are 0 and infinite
        (300.0, 1.0, False),
        # All gradients together are clipped; alone, each would be otherwise.
        (
            1.0,
            0.5,
            True,
        ),
        (1.0, 1e6, False),
    ):
        gradients = [[(size * np.float32(p)).astype(dtype) for p in g] for g in 4 * GRADIENTS]
        weights = [
            keras.Variable(values, dtype=dtype, name=name)
            for values, name in zip(start, ("kernel", "bias"), strict=True)
        ]
        settings = {"bias_correction": bias_correction, "global_clipnorm": clip}
        optimizer = AdamW(rate, gradient_accumulation_steps=2, **settings)
        for gradient in gradients:
            optimizer.apply([ops.convert_to_tensor(part, dtype) for part in gradient], weights)
        exact = [[part.astype("float64") for part in gradient] for gradient in gradients]
        means = [
            [(a + b) / 2 for a, b in zip(*pair, strict=True)]
            for pair in zip(exact[::2], exact[1::2], strict=True)
        ]
        expected = reference(start, means, [1, 0], bias_correction, clip, rates, dtype=dtype)
        for weight, e in zip(weights, expected, strict=True):
            actual = ops.convert_to_numpy(weight).astype("float64")
            assert_allclose(actual, e, rtol=bound, atol=bound * 0.125, err_msg=size)


def test_a_model_of_several_precisions_is_clipped_as_one():
    dtypes = ("float16", "float32", "float64")
    weights = [keras.Variable([2.0], dtype=dtype, name="a") for dtype in dtypes]
    gradients = [ops.convert_to_tensor([300.0], dtype) for dtype in dtypes]
    AdamW(0.125, beta_1=0.0, beta_2=0.0, epsilon=1.0, weight_decay=0).apply(gradients, weights)
    step = 0.125 / (1 + np.sqrt(3))  # the clipped gradient is 1 / sqrt(3)
    for weight, bound in zip(weights, (2**-10, 1e-6, 1e-6), strict=True):
        assert_allclose(ops.convert_to_numpy(weight), [2 - step], rtol=bound)


def test_averages_of_bfloat16_weights_move():
    weight = keras.Variable([1.0, 2.0], dtype="bfloat16", name="kernel")
    optimizer = AdamW(0.125, weight_decay=0, use_ema=True, ema_momentum=0.75)
    optimizer.build([keras.Variable([3.0], name="frozen_later"), weight])
    for _ in range(2):
        optimizer.apply([ops.convert_to_tensor([1.0, 1.0], "bfloat16")], [weight])
    optimizer.finalize_variable_values([weight])
    # Keras starts with a weight.
    expected = [
        1 - 0.125 - 0.25 * 0.125,
        2 - 0.125 - 0.25 * 0.125,
    ]
    assert_allclose(ops.convert_to_numpy(weight).astype("float32"), expected, rtol=2**-8)


def test_a_transposed_gradient_moves_its_own_weights(assert_close, variable):
    """The gradient of a tied table may be a transposed view, which a kernel must not misread."""
    kernel = np.float32([KERNEL[0], KERNEL[1], [0.2, 0.4]])
    gradient = np.float32([[0.3, -0.2], [1e-2, 4.0], [-0.5, 0.1]])
    weight = variable(kernel)
    AdamW(0.1).apply([ops.transpose(ops.convert_to_tensor(gradient.T.copy()))], [weight])
    [expected] = reference([kernel], [[gradient]], [1], True, clip=1.0)
    assert_close(ops.convert_to_numpy(weight), expected)


def test_the_norm_of_a_large_table_is_exact(variable):
    """A float32 sum of all its squares in one go is off by 1e-3 on PyTorch."""
    gradient = np.random.default_rng(0).normal(size=(4000, 256)).astype("float32")
    weight = variable(np.zeros_like(gradient))
    optimizer = AdamW(0.1, beta_1=0.0, weight_decay=0.0, epsilon=1e3, bias_correction=False)
    optimizer.apply([ops.convert_to_tensor(gradient.copy())], [weight])
    clipped = np.float64(gradient) / np.linalg.norm(np.float64(gradient))
    assert_allclose(ops.convert_to_numpy(weight), -1e-4 * clipped, rtol=2e-5)


def test_biases_and_norms_alone_do_not_decay(variable):
    for name in ("bias", "gamma", "beta", "kernel", "embeddings", "bias_table"):
        weight = variable([2.0], name)
        expected = 2.0 if name in ("bias", "gamma", "beta") else 1.9
        for settings in ({}, {"no_decay": [name]}):  # which then stays as it is
            optimizer = AdamW(0.1, weight_decay=0.5, **settings)
            optimizer.apply([ops.convert_to_tensor([0.0])], [weight])
            assert_allclose(ops.convert_to_numpy(weight), expected, rtol=1e-6, err_msg=name)


def test_lower_layers_learn_more_slowly():
    backbone = BertBackbone(50, 2, 2, 8, 16, dropout=0.0)
    variables = BertClassifier(backbone, num_classes=2).trainable_variables
    gradients = [ops.ones_like(variable.value) for variable in variables]
    for variable in variables:
        variable.assign(ops.ones_like(variable))
    AdamW(1e-3, layer_decay=0.5, weight_decay=0.5).apply(gradients, variables)
    rates = {"embeddings/": 1e-3 / 8, "block_0/": 1e-3 / 4, "block_1/": 1e-3 / 2}
    for variable in variables:
        rate = next((value for part, value in rates.items() if part in variable.path), 1e-3)
        decay = 0 if variable.path.endswith(("bias", "gamma", "beta")) else 0.5
        # A step is a difference of weights of 1, which round at 2^-24.
        moved = 1 - ops.convert_to_numpy(variable)
        assert_allclose(moved, rate * (1 + decay), rtol=2e-3, err_msg=variable.path)


def test_a_word_that_occurs_twice_learns_by_the_sum_of_its_gradients(assert_close, tensorflow):
    """Word 1 is three times in the batch; Keras's AdamW squares the gradient of each."""
    start = np.float32([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8]])
    factors = tensorflow.constant([[[1.0, 2.0], [3.0, -1.0], [0.5, 0.5], [2.0, 2.0]]])
    for bias_correction, clip in itertools.product((True, False), (None, 1.0)):
        found = []
        for form in (tensorflow.identity, tensorflow.convert_to_tensor):
            table = keras.layers.Embedding(4, 2, weights=[start])
            optimizer = AdamW(0.1, bias_correction=bias_correction, global_clipnorm=clip)
            for size in (1.0, 0.1):  # the second gradient is too small to be clipped
                with tensorflow.GradientTape() as tape:
                    loss = tensorflow.reduce_sum(table(np.array([[1, 1, 1, 2]])) * factors * size)
                [gradient] = tape.gradient(loss, [table.embeddings.value])
                assert isinstance(gradient, tensorflow.IndexedSlices)
                optimizer.apply([form(gradient)], [table.embeddings])
            found.append(table.embeddings.numpy())
        assert_close(*found)
