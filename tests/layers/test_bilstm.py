"""The LSTM over token vectors: padding changes nothing, and both directions start at tokens."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.bilstm import BiLSTM

LENGTHS = [6, 1, 4]
VECTORS = np.random.default_rng(5).normal(size=(3, 6, 8)).astype("float32")
PADDING_MASK = (np.arange(6) < np.array(LENGTHS)[:, None]).astype("int32")


@pytest.fixture(params=[False, True], ids=["tokens", "pooled"])
def layer(request, random_weights):
    layer = BiLSTM(3, pooled=request.param)
    layer(VECTORS[:1, :2])
    return random_weights(layer)


def outputs(layer, *args, **kwargs):
    return ops.convert_to_numpy(layer(*args, **kwargs))


def test_a_row_has_the_outputs_that_it_has_alone(assert_close, layer):
    """Its padding may have any values and any number of columns."""
    longer = np.concatenate([VECTORS, VECTORS[:, :2]], axis=1)
    other = np.where(np.arange(8)[:, None] < np.array(LENGTHS)[:, None, None], longer, 1e3)
    mask = np.pad(PADDING_MASK, [(0, 0), (0, 2)])
    given = [(VECTORS, PADDING_MASK), (longer, mask), (other.astype("float32"), mask.astype(bool))]
    for x, padding_mask in given:
        found = outputs(layer, x, padding_mask)
        assert found.shape == ((3, 6) if layer.pooled else (*x.shape[:2], 6))
        for row, length in enumerate(LENGTHS):
            [alone] = outputs(layer, VECTORS[row : row + 1, :length])
            own = found[row] if layer.pooled else found[row, :length]
            assert_close(own, alone)


def test_pooled_are_the_last_states_of_both_directions(assert_close, random_weights):
    tokens, pooled = BiLSTM(3), BiLSTM(3, pooled=True)
    for layer in (tokens, pooled):
        layer(VECTORS)
        random_weights(layer)
    found = outputs(pooled, VECTORS, PADDING_MASK)
    states = outputs(tokens, VECTORS, PADDING_MASK)
    last = states[np.arange(3), np.array(LENGTHS) - 1, :3]  # of the text read from the left
    assert_close(found, np.concatenate([last, states[:, 0, 3:]], axis=1))


def test_each_direction_is_an_lstm(assert_close, random_weights):
    layer = BiLSTM(3)
    layer(VECTORS)
    random_weights(layer)
    found = outputs(layer, VECTORS)
    weights = [ops.convert_to_numpy(weight) for weight in layer.weights]
    forward, backward = by_numpy(VECTORS, *weights[:3]), by_numpy(VECTORS[:, ::-1], *weights[3:])
    expected = np.concatenate([forward, backward[:, ::-1]], axis=-1)
    assert_close(found, expected)


def by_numpy(x, kernel, recurrent_kernel, bias):
    """Hochreiter and Schmidhuber 1997 with forget gates: states `[B, S, U]`."""
    state = cell = np.zeros((len(x), len(recurrent_kernel)))
    states = []
    for step in x.swapaxes(0, 1):
        gates = step @ kernel + state @ recurrent_kernel + bias
        enter, forget, new, leave = np.split(gates, 4, axis=-1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = sigmoid(leave) * np.tanh(cell)
        states.append(state)
    return np.stack(states, axis=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_a_row_of_padding_alone_stays_finite(layer):
    assert np.isfinite(outputs(layer, VECTORS, 0 * PADDING_MASK)).all()


def test_its_config_makes_it_again(layer):
    config = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(config)
    again(VECTORS)
    assert (again.units, again.pooled) == (3, layer.pooled)
    again.set_weights(layer.get_weights())
    found = outputs(again, VECTORS, PADDING_MASK)
    assert np.array_equal(found, outputs(layer, VECTORS, PADDING_MASK))


def test_its_weights_have_the_same_names_however_many_there_are():
    """Files of adapters and reports of loading call weights by these names."""
    names = []
    for _ in range(2):
        layer = BiLSTM(3, name="bilstm")
        layer(VECTORS)
        names.append([weight.path for weight in layer.weights])
    assert names[0] == names[1] and names[0][0] == "bilstm/both/forward_lstm/lstm_cell/kernel"


def test_it_computes_in_the_precision_asked_for():
    layer = BiLSTM(3, dtype="mixed_bfloat16")
    assert keras.backend.standardize_dtype(layer(VECTORS, PADDING_MASK).dtype) == "bfloat16"
    assert {weight.dtype for weight in layer.weights} == {"float32"}


@pytest.mark.parametrize(
    ("arguments", "message"), [({"units": 0}, "units"), ({"units": 2, "pooled": "yes"}, "pooled")]
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BiLSTM(**arguments)
