import keras
import numpy as np
import pytest
from keras import ops

from keras_bert import AdamW, BertBackbone, BertClassifier, Lamb

RNG = np.random.default_rng(3)
KERNEL, BIAS = RNG.normal(size=(4, 6)), RNG.normal(size=(6,))
GRADIENTS = [(RNG.normal(size=(4, 6)), RNG.normal(size=(6,))) for _ in range(3)]


def reference(parts, bias_correction=True, rate=0.1, decay=0.01):
    """You et al. 2020, algorithm 2, in float64; a kernel in so many parts, and a bias."""
    kernel, bias = KERNEL.copy(), BIAS.copy()
    moments = [np.zeros((2, 4, 6)), np.zeros((2, 6))]
    for step, gradients in enumerate(GRADIENTS, start=1):
        updates = []
        for moment, gradient in zip(moments, gradients, strict=True):
            moment[0] += 0.1 * (gradient - moment[0])
            moment[1] += 0.001 * (gradient**2 - moment[1])
            first, second = (1 - 0.9**step, 1 - 0.999**step) if bias_correction else (1, 1)
            updates.append(moment[0] / first / (np.sqrt(moment[1] / second) + 1e-6))
        update = updates[0] + decay * kernel
        for part in np.split(np.arange(6), parts):
            norms = [np.linalg.norm(values[:, part]) for values in (kernel, update)]
            kernel[:, part] -= rate * norms[0] / norms[1] * update[:, part]
        bias -= rate * updates[1]
    return kernel, bias


def train(optimizer, variables):
    for gradients in GRADIENTS:
        optimizer.apply([ops.convert_to_tensor(np.float32(g)) for g in gradients], variables)
    return [ops.convert_to_numpy(variable) for variable in variables]


@pytest.mark.parametrize("bias_correction", [True, False])
def test_steps_equal_the_formula(assert_close, variable, bias_correction):
    optimizer = Lamb(0.1, bias_correction=bias_correction, global_clipnorm=None)
    actual = train(optimizer, [variable(KERNEL), variable(BIAS, "bias")])
    assert_close(actual, reference(1, bias_correction))


def test_queries_keys_and_values_are_scaled_each_by_itself(assert_close):
    layer = keras.layers.Dense(6, name="query_key_value")
    layer.build((None, 4))
    layer.set_weights([KERNEL, BIAS])
    assert_close(train(Lamb(0.1, global_clipnorm=None), [layer.kernel, layer.bias]), reference(3))


@pytest.mark.parametrize(("name", "inputs", "rank", "parts"), [("a", 4, 6, 1), ("b", 5, 4, 3)])
def test_of_lora_only_what_belongs_to_one_of_the_three_is_scaled_by_itself(
    assert_close, name, inputs, rank, parts
):
    layer = keras.layers.Dense(6, name="query_key_value")
    layer.build((None, inputs))
    layer.enable_lora(rank)
    weights = [getattr(layer, f"lora_kernel_{name}"), layer.bias]
    for weight, values in zip(weights, (KERNEL, BIAS), strict=True):
        weight.assign(values)
    assert_close(train(Lamb(0.1, global_clipnorm=None), weights), reference(parts))


def test_a_weight_of_zero_learns(variable):
    weight = variable(np.zeros((2, 2)))
    Lamb(0.1, global_clipnorm=None).apply([ops.ones((2, 2))], [weight])
    np.testing.assert_allclose(ops.convert_to_numpy(weight), -0.1, rtol=1e-4)


@pytest.mark.parametrize("optimizer", [AdamW, Lamb])
def test_lower_layers_learn_more_slowly(optimizer):
    backbone = BertBackbone(50, 2, 2, 8, 16, dropout=0.0)
    variables = BertClassifier(backbone, num_classes=2).trainable_variables
    before = [ops.convert_to_numpy(variable).copy() for variable in variables]
    rng = np.random.default_rng(1)
    gradients = [ops.convert_to_tensor(np.float32(rng.normal(size=v.shape))) for v in variables]

    def moved(layer_decay):
        for variable, values in zip(variables, before, strict=True):
            variable.assign(values)
        optimizer(1e-3, layer_decay=layer_decay, weight_decay=0.0).apply(gradients, variables)
        return {
            variable.path: ops.convert_to_numpy(variable) - values
            for variable, values in zip(variables, before, strict=True)
        }

    plain, decayed = moved(None), moved(0.5)
    expected = {"embeddings/": 1 / 8, "block_0/": 1 / 4, "block_1/": 1 / 2}
    for path, step in plain.items():
        scale = next((value for part, value in expected.items() if part in path), 1.0)
        # Weights of about 1 move by 1e-3, so a step is a difference that rounds at 2^-23.
        np.testing.assert_allclose(decayed[path], scale * step, rtol=2e-3, atol=3e-7, err_msg=path)
    assert {"pooler/kernel", "logits/kernel"} <= set(decayed)
