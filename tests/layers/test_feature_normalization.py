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
