import keras
import numpy as np
from keras import ops

from keras_bert.layers.pooling import POOLINGS, Pooling

SEQUENCES = np.random.default_rng(5).normal(-1.0, 1.0, (4, 6, 8)).astype("float32")
PADDING_MASK = (np.arange(6) < np.array([[6], [1], [3], [5]])).astype("int32")
BY_NUMPY = {  # of masked arrays
    "mean": lambda tokens: tokens.mean(axis=1),
    "max": lambda tokens: tokens.max(axis=1),
    "cls": lambda tokens: tokens[:, 0],
    None: lambda tokens: tokens,
}


def pooled(pooling, normalize=False, sequences=SEQUENCES, padding_mask=PADDING_MASK):
    return ops.convert_to_numpy(Pooling(pooling, normalize)(sequences, padding_mask=padding_mask))


def test_vectors_are_those_that_numpy_gives(assert_close):
    other = np.where(PADDING_MASK[:, :, None] == 1, SEQUENCES, 100.0).astype("float32")
    for pooling, by_numpy in BY_NUMPY.items():
        expected = by_numpy(np.ma.array(SEQUENCES, mask=other == 100.0)).filled(0.0)
        lengths = np.linalg.norm(expected, axis=-1, keepdims=True)
        for normalize, scale in ((False, 1.0), (True, np.maximum(lengths, 1e-12))):
            vectors = pooled(pooling, normalize)
            assert_close(vectors, expected / scale, name=f"{pooling}, {normalize}")
            assert np.array_equal(vectors, pooled(pooling, normalize, other))


def test_a_row_may_have_no_padding_or_nothing_else(assert_close):
    assert {*BY_NUMPY} == {*POOLINGS, None}
    for pooling in BY_NUMPY:
        everything = pooled(pooling, padding_mask=np.ones((4, 6), "bool"))
        assert_close(pooled(pooling, padding_mask=None), everything)
        vectors = pooled(pooling, normalize=True, padding_mask=0 * PADDING_MASK)
        assert np.isfinite(vectors).all() and np.abs(vectors).max() <= 1.0


def test_there_are_as_many_numbers_as_a_vector_has(refused):
    refused("truncate_dim must be at most 8; got 9", Pooling(truncate_dim=9), SEQUENCES)


def test_half_precision_is_pooled_in_float32():
    layer = Pooling("mean", dtype="mixed_bfloat16")
    vectors = layer(ops.cast(np.full((1, 4096, 2), 1.25), "bfloat16"))
    assert keras.backend.standardize_dtype(vectors.dtype) == "float32"
    np.testing.assert_allclose(ops.convert_to_numpy(vectors), 1.25)
