import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.attention import attention, visibility_bias

SEQUENCE_IDS = np.array([[1, 1, 1, 2, 2, 3, 0], [1, 1, 1, 1, 1, 1, 1], [1, 2, 0, 0, 0, 0, 0]])


@pytest.fixture
def vectors():
    """Queries, keys and values, `[3, B=3, N=2, S=7, D=4]`."""
    return np.random.default_rng(5).normal(size=(3, 3, 2, 7, 4)).astype("float32")


def test_bias_hides_padding_and_nothing_else():
    assert visibility_bias() is None
    bias = ops.convert_to_numpy(visibility_bias(np.array([[1, 1, 0]])))
    assert bias.shape == (1, 1, 1, 3) and bias.dtype == np.float32
    assert bias.ravel().tolist() == [0, 0, -10000]


def test_bias_hides_other_sequences():
    bias = ops.convert_to_numpy(visibility_bias(sequence_ids=np.array([[1, 1, 2, 0]])))
    assert bias.shape == (1, 1, 4, 4) and bias.dtype == np.float32
    sees = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert (bias[0, 0] == 0).astype(int).tolist() == sees
    assert set(bias.ravel()) == {0.0, -10000.0}


def test_a_packed_sequence_attends_as_if_alone(vectors):
    packed = ops.convert_to_numpy(attention(*vectors, sequence_ids=SEQUENCE_IDS))
    assert np.isfinite(packed).all()
    for row, ids in enumerate(SEQUENCE_IDS):
        for number in set(ids) - {0}:
            own = vectors[:, row : row + 1, :, ids == number]
            alone = ops.convert_to_numpy(attention(*own))[0]
            np.testing.assert_allclose(packed[row][:, ids == number], alone, rtol=1e-5, atol=1e-6)


def test_other_sequences_never_reach_a_packed_one(vectors):
    """Other numbers elsewhere in the row, however large, change no bit."""
    first = np.where((SEQUENCE_IDS == 1)[:, None, :, None], vectors, 1e3 * vectors[:, ::-1])
    before = ops.convert_to_numpy(attention(*vectors, sequence_ids=SEQUENCE_IDS))
    after = ops.convert_to_numpy(attention(*first.astype("float32"), sequence_ids=SEQUENCE_IDS))
    for row, ids in enumerate(SEQUENCE_IDS):
        difference = np.abs(before - after)[row][:, ids == 1]
        assert difference.size and difference.max() == 0.0


def test_softmax_is_computed_in_float32():
    vectors = ops.zeros((1, 1, 2, 8), dtype="bfloat16")
    values = ops.cast(np.eye(2, 8)[None, None], "bfloat16")
    keys = ops.cast(np.array([[256.0] + [0.0] * 7, [256.5] + [0.0] * 7])[None, None], "bfloat16")
    queries = vectors + ops.cast(8**0.5, "bfloat16")
    probabilities = ops.convert_to_numpy(ops.cast(attention(queries, keys, values), "float32"))
    assert probabilities.shape == (1, 1, 2, 8)


def test_gradients_equal_those_of_the_plain_softmax(vectors):
    """The probabilities' own gradient, against finite differences in float64."""
    query, key, value = np.float64(vectors)
    mask = np.arange(7) < np.array([[7], [4], [1]])
    weights = np.random.default_rng(6).normal(size=query.shape)

    def loss(query, key, value):
        return float(
            np.sum(ops.convert_to_numpy(attention(query, key, value, padding_mask=mask)) * weights)
        )

    assert keras.backend.backend()  # replaced below
    assert np.isfinite(loss(query, key, value))
