import functools
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.scaled_attention import attention, softmax_with_small_gradient

MASK = np.arange(7) < np.array([[7], [4], [1]])
SEQUENCE_IDS = np.array([[1, 1, 1, 2, 2, 0, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3, 3]])


@pytest.fixture
def vectors():
    """Queries, keys and values, `[B=3, S=7, 3, N=2, D=4]`."""
    return np.random.default_rng(5).normal(size=(3, 7, 3, 2, 4)).astype("float32")


def attend(vectors, **options):
    heads = np.float32(vectors).transpose(2, 0, 3, 1, 4)  # [3, B, N, S, D]
    query, key, value = map(ops.convert_to_tensor, heads)
    context = attention(query=query, key=key, value=value, **options)
    return ops.convert_to_numpy(context).swapaxes(1, 2)


def sees(padding_mask=None, sequence_ids=None, window=6):
    """Which keys each query sees, `[B=3, S=7, S=7]`."""
    offset = np.arange(7) - np.arange(7)[:, None]  # query to key
    seen = np.broadcast_to(abs(offset) <= window, (3, 7, 7))
    if sequence_ids is not None:
        return seen & (sequence_ids[:, None] == sequence_ids[:, :, None])
    return seen if padding_mask is None else seen & padding_mask[:, None]


def test_hidden_places_change_no_bit(assert_close, vectors):
    """Other numbers in hidden places, however large; test_fused_attention.py has the formula."""
    masks = itertools.product([{}, {"padding_mask": MASK}, {"sequence_ids": SEQUENCE_IDS}], [6, 2])
    for rows, window in masks:
        seen = sees(**rows, window=window)
        is_token = np.diagonal(seen, axis1=1, axis2=2)  # padding may see nothing
        contexts = {}
        for training in (False, True):
            attended = functools.partial(attend, **rows, window=window, training=training)
            found = contexts[training] = attended(vectors)
            for place in range(7):
                is_seen = seen[:, place, :, None, None, None]
                other = np.where(is_seen, vectors, 1e3 * vectors[:, ::-1]).astype("float32")
                is_there = is_token[:, place]
                after = attended(other)[is_there, place]
                np.testing.assert_array_equal(after, found[is_there, place])
        assert_close(contexts[True][is_token], contexts[False][is_token])


def test_softmax_is_computed_in_float32():
    scores = ops.convert_to_tensor([[256.0, 256.5]])  # one number in bfloat16
    probabilities = softmax_with_small_gradient(scores, "bfloat16")
    assert keras.backend.standardize_dtype(probabilities.dtype) == "bfloat16"
    found = ops.convert_to_numpy(ops.cast(probabilities, "float32"))
    np.testing.assert_allclose(found, [[0.3775, 0.6225]], rtol=2**-8)


def test_kernels_start_as_a_narrow_truncated_normal():
    block = EncoderBlock(num_heads=2, hidden_dim=64, intermediate_dim=256)
    block.build((None, None, 64))
    for layer in (
        block.attention.query_key_value,
        block.intermediate_dense,
        block.output_dense,
    ):
        kernel = ops.convert_to_numpy(layer.kernel)
        assert 0.016 < kernel.std() < 0.019  # 0.88 of 0.02: cut at two deviations
        assert np.abs(kernel).max() <= 0.04
        assert not ops.convert_to_numpy(layer.bias).any()
