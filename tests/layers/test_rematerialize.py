import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertPretrainer

EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps
X = {"token_ids": np.arange(64).reshape(8, 8) % 40}
X["padding_mask"] = (np.arange(8) < np.arange(1, 9)[:, None]).astype("int32")
MASKED = {**X, "mask_positions": np.full((8, 2), 3)}
Y = {"masked_lm": np.arange(16).reshape(8, 2), "next_sentence": np.arange(8) % 2}


def trained(model, x, y, **compiled):
    model.compile(**compiled)
    losses = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, [keras.ops.convert_to_numpy(w) for w in model.trainable_variables]


def trained_pretrainer(remat):
    keras.utils.set_random_seed(1)
    model = BertPretrainer(
        BertBackbone(40, 1, 2, 16, 32, dropout=0.3, remat=remat, relative_bias=True)
    )
    return trained(model, MASKED, Y, **model.default_compile_args(), run_eagerly=EAGERLY)


def trained_encoder(remat):
    keras.utils.set_random_seed(1)
    backbone = BertBackbone(40, 1, 2, 16, 32, dropout=0.3, dtype="mixed_bfloat16", remat=remat)
    inputs = {name: keras.Input((8,), dtype="int32", name=name) for name in X}
    model = keras.Model(inputs, backbone(inputs)["pooled_output"])
    without_dropout = np.mean((keras.ops.convert_to_numpy(model(X)) - 1) ** 2)
    sgd = keras.optimizers.SGD(0.1)
    losses, weights = trained(model, X, np.ones((8, 16)), optimizer=sgd, loss="mse")
    assert abs(losses[0] - without_dropout) > 1e-3
    return losses, weights


@pytest.mark.parametrize(
    ("train", "rtol", "atol"),
    [
        pytest.param(trained_pretrainer, 1e-5, 1e-6, id="float32"),
        pytest.param(trained_encoder, 1e-2, 2e-4, id="mixed_bfloat16"),
    ],
)
def test_gradients_are_those_of_without_with_dropout_too(train, rtol, atol):
    (losses, weights), (expected_losses, expected) = train(True), train(False)
    np.testing.assert_allclose(losses, expected_losses, rtol=rtol)
    for actual, wanted in zip(weights, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=atol)


def test_it_can_be_set_later_and_is_kept():
    backbone = BertBackbone(40, 2, 2, 16, 32)
    assert backbone.remat is False
    backbone.remat = True
    assert all(block.remat for block in backbone.blocks)
    assert BertBackbone.from_config(backbone.get_config()).remat is True
