import functools

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone

X = {"token_ids": np.arange(64).reshape(8, 8) % 40}
X["padding_mask"] = (np.arange(8) < np.arange(1, 9)[:, None]).astype("int32")


@functools.cache
def trained(dtype, remat, dropout=0.3):
    """The losses and weights of a model that was trained for two steps."""
    keras.utils.set_random_seed(1)
    backbone = BertBackbone(40, 1, 2, 16, 32, dropout=dropout, dtype=dtype, remat=remat)
    inputs = {name: keras.Input((8,), dtype="int32", name=name) for name in X}
    model = keras.Model(inputs, backbone(inputs)["pooled_output"])
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    losses = model.fit(X, np.ones((8, 16)), epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, [keras.ops.convert_to_numpy(w) for w in model.trainable_variables]


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"), [("float32", 1e-5, 1e-6), ("mixed_bfloat16", 1e-2, 2e-4)]
)
def test_gradients_are_those_of_without_with_dropout_too(dtype, rtol, atol):
    (losses, weights), (expected_losses, expected) = trained(dtype, True), trained(dtype, False)
    np.testing.assert_allclose(losses, expected_losses, rtol=rtol)
    for actual, wanted in zip(weights, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=atol)


def test_dropout_acts():
    losses = [trained("mixed_bfloat16", True, dropout)[0][0] for dropout in (0.3, 0.0)]
    assert abs(losses[0] - losses[1]) > 1e-3


def test_it_can_be_set_later_and_is_kept():
    backbone = BertBackbone(40, 2, 2, 16, 32)
    assert backbone.remat is False
    backbone.remat = True
    assert all(block.remat for block in backbone.blocks)
    assert BertBackbone.from_config(backbone.get_config()).remat is True
