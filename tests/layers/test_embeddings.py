import numpy as np
import pytest
from keras import ops

from keras_bert.layers.embeddings import Embeddings

TOKEN_IDS = np.array([[2, 7, 7, 3], [2, 9, 3, 0]])


@pytest.fixture
def layer(randomized):
    layer = Embeddings(vocabulary_size=10, hidden_dim=8, max_sequence_length=6, dropout=0.4)
    layer.build((None, None))
    return randomized(layer)


def test_a_sequence_longer_than_the_position_table_is_refused(layer, refused):
    assert layer(np.zeros((1, 6), "int32")).shape == (1, 6, 8)
    refused("7 tokens.* 6 rows.*max_sequence_length=7", layer, np.zeros((1, 7), "int32"))


def test_dropout_follows_the_norm(layer):
    still = ops.convert_to_numpy(layer(TOKEN_IDS, training=False))
    trained = ops.convert_to_numpy(layer(TOKEN_IDS, training=True))
    kept = trained != 0
    assert 0.2 < kept.mean() < 0.95
    rounded = 2**-16  # of the rate
    np.testing.assert_allclose(trained[kept], still[kept] / 0.6, rtol=1.1 * rounded)
