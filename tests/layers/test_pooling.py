import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.pooling import POOLINGS, Pooling

SEQUENCES = np.random.default_rng(5).normal(-1.0, 1.0, (4, 6, 8)).astype("float32")
LENGTHS = [6, 1, 3, 5]
PADDING_MASK = (np.arange(6) < np.array(LENGTHS)[:, None]).astype("int32")
BY_NUMPY = {
    "mean": lambda tokens: tokens.mean(axis=0),
    "max": lambda tokens: tokens.max(axis=0),
    "cls": lambda tokens: tokens[0],
}


def pooled(pooling, normalize=False, sequences=SEQUENCES, padding_mask=PADDING_MASK):
    return ops.convert_to_numpy(Pooling(pooling, normalize)(sequences, padding_mask=padding_mask))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_vectors_are_those_that_numpy_gives(assert_close, pooling, normalize):
    rows = zip(SEQUENCES, LENGTHS, strict=True)
    expected = np.stack([BY_NUMPY[pooling](tokens[:length]) for tokens, length in rows])
    if normalize:
        expected /= np.linalg.norm(expected, axis=-1, keepdims=True)
    assert_close(pooled(pooling, normalize), expected)
    other = np.where(PADDING_MASK[:, :, None] == 1, SEQUENCES, 100.0).astype("float32")
    assert np.array_equal(pooled(pooling, normalize), pooled(pooling, normalize, other))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_row_may_have_no_padding_or_nothing_else(assert_close, pooling):
    everything = pooled(pooling, padding_mask=np.ones((4, 6), "bool"))
    assert_close(pooled(pooling, padding_mask=None), everything)
    vectors = pooled(pooling, normalize=True, padding_mask=0 * PADDING_MASK)
    assert np.isfinite(vectors).all() and np.abs(vectors).max() <= 1.0


@pytest.mark.parametrize("normalize", [False, True])
def test_no_pooling_keeps_the_tokens_and_empties_padding(assert_close, normalize):
    expected = SEQUENCES * PADDING_MASK[:, :, None]
    if normalize:
        lengths = np.linalg.norm(expected, axis=-1, keepdims=True)
        expected = expected / np.maximum(lengths, 1e-12)
    assert_close(pooled(None, normalize), expected)


def test_half_precision_is_pooled_in_float32():
    layer = Pooling("mean", dtype="mixed_bfloat16")
    vectors = layer(ops.cast(np.full((1, 4096, 2), 1.25), "bfloat16"))
    assert keras.backend.standardize_dtype(vectors.dtype) == "float32"
    np.testing.assert_allclose(ops.convert_to_numpy(vectors), 1.25)
