import keras
import numpy as np
from keras import ops

from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.self_attention import SelfAttention

ONES = np.ones((101, 99), "float32")  # an odd number of values
MANY = np.ones((1000, 1000), "float32")


def dropped(rate=0.1, seed=1, calls=1, x=ONES, **kwargs):
    layer = Dropout(rate, seed=seed, **kwargs)
    return [keras.ops.convert_to_numpy(layer(x, training=True)) for _ in range(calls)][-1]


def test_the_rate_is_kept_and_so_is_the_mean():
    actual = dropped(0.1, x=MANY)
    assert abs((actual == 0).mean() - 0.1) < 0.0015  # five deviations
    assert abs(actual.mean() - 1) < 0.002
    np.testing.assert_allclose(actual[actual > 0], 1 / 0.9, rtol=2e-5)


def test_rates_near_0_and_1_are_taken():
    for rate in (1e-9, 1 - 1e-9):
        assert np.isfinite(dropped(rate)).all()


def test_places_are_independent_of_each_other():
    actual = dropped(0.5, x=MANY) == 0
    for other in (
        np.roll(actual, 1, axis=1),
        np.roll(actual, 2, axis=1),
        np.roll(actual, 1, 0),
    ):
        assert abs((actual & other).mean() - 0.25) < 0.0025


def test_each_call_drops_other_places_and_a_seed_repeats_them():
    assert (dropped(calls=1) != dropped(calls=2)).any()
    np.testing.assert_array_equal(dropped(calls=2), dropped(calls=2))
    assert (dropped(seed=1) != dropped(seed=2)).any()


def test_the_variables_name_is_valid_in_a_tensorflow_graph():
    [state] = Dropout(0.5).variables
    assert state.path[0].isalnum()  # graphs are exported under these names


def test_each_dropout_acts_in_training_only(randomized, difference):
    x = np.random.default_rng(1).normal(size=(2, 5, 8)).astype("float32")
    for layer, inputs, number in (
        (Embeddings(10, 8, 6, dropout=0.1), np.array([[2, 7, 7, 3, 0]]), 1),
        (SelfAttention(2, 8, 0.1), x, 1),
        (EncoderBlock(2, 8, 16), x, 3),
    ):
        layer(inputs)
        still = randomized(layer)(inputs)
        assert difference(layer(inputs, training=False), still) == 0.0
        dropouts = [part for part in layer._flatten_layers() if isinstance(part, Dropout)]
        assert len(dropouts) == number
        for each in dropouts:
            for part in dropouts:
                part.rate = 0.5 if part is each else 0.0
            trained = layer(inputs, training=True)
            assert difference(trained, still) > 1e-3, each.path
        if number == 1 and inputs is not x:  # of embeddings, after their norm
            is_kept = ops.cast(trained, "bool")
            assert difference(trained, ops.where(is_kept, 2 * still, 0.0)) == 0.0
