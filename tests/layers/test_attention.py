import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.attention import attention
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.plain_attention import (
    Visibility,
    softmax_with_small_gradient,
    visibility_bias,
)
from keras_bert.layers.self_attention import SelfAttention

MASK = np.arange(7) < np.array([[7], [4], [1]])
SEQUENCE_IDS = np.array([[1, 1, 1, 2, 2, 0, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3, 3]])


@pytest.fixture
def vectors():
    """Queries, keys and values, `[B=3, S=7, 3, N=2, D=4]`."""
    return np.random.default_rng(5).normal(size=(3, 7, 3, 2, 4)).astype("float32")


def attend(vectors, **options):
    query, key, value = map(ops.convert_to_tensor, np.moveaxis(vectors, 2, 0))
    return ops.convert_to_numpy(attention(query=query, key=key, value=value, **options))


def test_bias_hides_padding_and_other_sequences_and_nothing_else():
    assert visibility_bias(3, Visibility()) is None
    bias = ops.convert_to_numpy(visibility_bias(3, Visibility(np.array([[1, 1, 0]]))))
    assert bias.shape == (1, 1, 1, 3) and bias.dtype == np.float32
    assert bias.ravel().tolist() == [0, 0, -10000]
    packed = Visibility(sequence_ids=np.array([[1, 1, 2, 0]]))
    bias = ops.convert_to_numpy(visibility_bias(4, packed))
    sees = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert (bias == 0).astype(int).tolist() == [[sees]]
    assert set(bias.ravel()) == {0.0, -10000.0}


def test_other_sequences_never_reach_a_packed_one(vectors):
    """Other numbers elsewhere in the row, however large, change no bit."""
    first = np.where((SEQUENCE_IDS == 1)[:, :, None, None, None], vectors, 1e3 * vectors[:, ::-1])
    before = attend(vectors, sequence_ids=SEQUENCE_IDS)
    after = attend(first.astype("float32"), sequence_ids=SEQUENCE_IDS)
    for row, ids in enumerate(SEQUENCE_IDS):
        difference = np.abs(before - after)[row, ids == 1]
        assert difference.size and difference.max() == 0.0


def test_later_tokens_never_reach_a_causal_query(assert_close, vectors):
    """Others in their place, however large, change no bit of what stands before."""
    masks = [{}, {"padding_mask": MASK}, {"sequence_ids": SEQUENCE_IDS}]
    for place in range(1, 7):
        other = np.where(np.arange(7)[:, None, None, None] < place, vectors, 1e3 * vectors[:, ::-1])
        for hidden in masks:
            before, after = (
                attend(x.astype("float32"), **hidden, causal=True) for x in (vectors, other)
            )
            is_token = MASK if "padding_mask" in hidden else np.ones_like(MASK)
            difference = np.abs(before - after)[:, :place][is_token[:, :place]]
            assert difference.size and difference.max() == 0.0
    whole = attend(vectors)
    last = attend(vectors, causal=True)[:, -1]
    assert_close(last, whole[:, -1])


def test_a_window_hides_all_farther_tokens(vectors):
    """Others outside it, however large, change no bit, whatever else is hidden."""
    distance = abs(np.arange(7) - 3)[:, None, None, None]
    other = np.where(distance <= 2, vectors, 1e3 * vectors[:, ::-1]).astype("float32")
    for hidden in ({}, {"padding_mask": MASK}, {"sequence_ids": SEQUENCE_IDS}, {"causal": True}):
        before, after = (attend(x, window=2, **hidden)[:, 3] for x in (vectors, other))
        rows = slice(2) if "padding_mask" in hidden else slice(None)  # the last has one token
        np.testing.assert_array_equal(before[rows], after[rows])
    np.testing.assert_array_equal(attend(vectors, window=6), attend(vectors))


def test_queries_and_keys_are_rotated_and_values_are_not(vectors):
    half = vectors * np.reshape([2, 2, 1], (3, 1, 1)).astype("float32")
    found = attend(vectors, rotate=lambda heads: 2 * heads)
    np.testing.assert_array_equal(found, attend(half))


def test_softmax_is_computed_in_float32():
    scores = ops.convert_to_tensor([[256.0, 256.5]])  # one number in bfloat16
    probabilities = softmax_with_small_gradient(scores, "bfloat16")
    assert keras.backend.standardize_dtype(probabilities.dtype) == "bfloat16"
    found = ops.convert_to_numpy(ops.cast(probabilities, "float32"))
    np.testing.assert_allclose(found, [[0.3775, 0.6225]], rtol=2**-8)


@pytest.mark.parametrize(
    "hidden", [{"sequence_ids": SEQUENCE_IDS}, {"padding_mask": MASK}, {}, {"causal": True}]
)
def test_training_computes_what_inference_computes(vectors, hidden):
    trained = attend(vectors, **hidden, training=True)
    np.testing.assert_array_equal(trained, attend(vectors, **hidden))


def test_hidden_dim_must_be_a_multiple_of_num_heads(refused):
    refused("hidden_dim=10 and num_heads=4", SelfAttention, num_heads=4, hidden_dim=10)


def test_kernels_start_as_a_narrow_truncated_normal():
    block = EncoderBlock(num_heads=2, hidden_dim=64, intermediate_dim=256)
    block.build((None, None, 64))
    for layer in (block.attention.query_key_value, block.intermediate_dense, block.output_dense):
        kernel = ops.convert_to_numpy(layer.kernel)
        assert 0.016 < kernel.std() < 0.019  # 0.88 of 0.02: cut at two deviations
        assert np.abs(kernel).max() <= 0.04
        assert not ops.convert_to_numpy(layer.bias).any()
