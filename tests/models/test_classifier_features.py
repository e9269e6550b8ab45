"""Classifiers that take numbers alongside texts."""

import keras
import numpy as np
import pandas
import pytest
from sklearn.preprocessing import StandardScaler

from tests.models.test_bert_classifier import TEXTS

LABELS = np.array([0, 1, 1, 0, 1, 0, 0, 1])
FEATURES = np.random.default_rng(1).normal([3e6, 0.1, 7], [7, 1e-4, 0], (8, 3))


@pytest.fixture
def model(make_classifier, varied, eager):
    return eager(varied(make_classifier(2, num_features=3)))


def test_the_first_fit_adapts_to_what_it_learns_from(model, inputs):
    model.fit({**inputs, "features": FEATURES}, LABELS)
    numbers = FEATURES.astype("float32")
    normal = keras.ops.convert_to_numpy(model.feature_normalization(numbers))
    expected = StandardScaler().fit_transform(numbers.astype("float64"))
    np.testing.assert_allclose(normal, expected, atol=0.05)  # 3e6 in float32: steps of 0.25
    assert np.abs(normal[:, 2]).max() == 0  # is always 7
    model.fit({**inputs, "features": 0 * FEATURES}, LABELS)
    assert (keras.ops.convert_to_numpy(model.feature_normalization(numbers)) == normal).all()


def test_features_count_with_texts_and_with_pairs(assert_close, model, difference):
    model.adapt_features(FEATURES)
    x = {"text": TEXTS, "features": FEATURES}
    expected = model.predict(x)
    table = pandas.DataFrame({"text": TEXTS, "features": [*FEATURES]})
    assert_close(model.predict(table), expected)
    for other in ({"features": FEATURES[::-1]}, {"text": (TEXTS, TEXTS[::-1])}):
        assert difference(expected, model.predict({**x, **other})) > 1e-3


def test_a_dataset_trains_after_adapt_features_only(model, inputs, tf, refused):
    x = {**inputs, "features": FEATURES}
    data = tf.data.Dataset.from_tensor_slices((x, LABELS)).batch(4)
    batches = model.batches(x, LABELS)
    for given in (data, batches, iter(batches)):
        refused("call model.adapt_features", model.fit, given)
    refused("column 1 of features deviate by", model.adapt_features, FEATURES * [1, 1e24, 1])
    model.adapt_features([[-1.0] * 3, [1.0] * 3])  # of which nothing changes
    model.fit(data)
    assert int(model.optimizer.iterations) == 2


def test_what_has_no_features_is_refused(model, tmp_path, refused):
    refused("num_features=3.*save_to_preset", model.save_to_hugging_face, tmp_path / "theirs")
    with_features, without = {"text": "a", "features": [1, 2, 3]}, {"text": "b"}
    for rows in ([with_features, without], [without, with_features]):
        refused("Example 1 .*unlike the first", model.predict, iter(rows))
    for x in (["a"], FEATURES):
        refused("takes features alongside text", model.predict, x)
