import keras
import numpy as np
from keras import ops
from sklearn.preprocessing import StandardScaler

from keras_bert.layers.dense_and_norms import FeatureNormalization

DATA = np.random.default_rng(1).normal([3e6, 0.1, -4, 0.1], [7, 1e-4, 100, 0], (50, 4))


def normal(layer, data=DATA):
    return ops.convert_to_numpy(layer(data.astype("float32")))


def test_columns_are_scaled_as_scikit_learn_scales_them():
    layer = FeatureNormalization()
    layer.adapt(DATA)
    expected = StandardScaler().fit_transform(DATA.astype("float32").astype("float64"))
    np.testing.assert_allclose(normal(layer), expected, atol=0.05)  # 3e6 in float32: steps of 0.25
    assert np.abs(normal(layer)[:, 3]).max() < 1e-6  # the same in every row


def test_a_new_layer_changes_nothing_and_says_so():
    layer = FeatureNormalization()
    assert (normal(layer) == DATA.astype("float32")).all()
    assert not layer.is_adapted
    layer.adapt(DATA[:, :4])
    assert layer.is_adapted


def test_weights_that_are_assigned_count_at_once():
    layer, other = FeatureNormalization(), FeatureNormalization()
    layer.adapt(DATA)
    other.build((None, 4))
    for weight, value in zip(other.weights, layer.weights, strict=True):
        weight.assign(value)
    assert (normal(other) == normal(layer)).all() and other.is_adapted


def test_a_saved_model_keeps_it(tmp_path):
    layer = FeatureNormalization()
    layer.adapt(DATA)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert (ops.convert_to_numpy(loaded(DATA.astype("float32"))) == normal(layer)).all()
