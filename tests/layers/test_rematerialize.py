import keras
import numpy as np

from keras_bert import BertBackbone, BertPretrainer

EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps
X = {"token_ids": np.arange(64).reshape(8, 8) % 40}
X["padding_mask"] = (np.arange(8) < np.arange(1, 9)[:, None]).astype("int32")
X["mask_positions"] = np.full((8, 2), 3)
Y = {"masked_lm": np.arange(16).reshape(8, 2), "next_sentence": np.arange(8) % 2}


def trained_pretrainer(remat):
    keras.utils.set_random_seed(1)
    model = BertPretrainer(
        BertBackbone(40, 1, 2, 16, 32, dropout=0.3, remat=remat, relative_bias=True)
    )
    model.compile(**model.default_compile_args(), run_eagerly=EAGERLY)
    losses = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, [keras.ops.convert_to_numpy(w) for w in model.trainable_variables]


def test_gradients_are_those_of_without_with_dropout_too():
    (losses, weights), (expected_losses, expected) = map(trained_pretrainer, (True, False))
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for actual, wanted in zip(weights, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, atol=1e-6)


def test_it_can_be_set_later_and_is_kept():
    backbone = BertBackbone(40, 2, 2, 16, 32)
    assert backbone.remat is False
    backbone.remat = True
    assert all(block.remat for block in backbone.blocks)
    assert BertBackbone.from_config(backbone.get_config()).remat is True
