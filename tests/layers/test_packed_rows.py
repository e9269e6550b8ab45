"""One vector per sequence: that of its first token, or of its last one."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.layers.packed_rows import ClsVectors, packed_rows, token_positions

VECTORS = np.random.default_rng(5).normal(size=(3, 7, 4)).astype("float32")
LENGTHS = [7, 1, 4]
PADDING_MASK = (np.arange(7) < np.array(LENGTHS)[:, None]).astype("int32")
SEQUENCE_IDS = np.array([[1, 1, 1, 2, 2, 0, 0], [1] * 7, [1, 1, 2, 3, 3, 3, 3]])
CLS_POSITIONS = np.array([[0, 3, 0], [0, 0, 0], [0, 2, 3]])  # 0 where there is no sequence


def vectors_of(last, padding_mask=None, **packed):
    with packed_rows(packed):
        return ops.convert_to_numpy(ClsVectors(last)(VECTORS, padding_mask=padding_mask))


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_padded_rows_give_the_first_or_the_last_token(dtype):
    padding_mask = PADDING_MASK.astype(dtype)
    first, last = (vectors_of(last, padding_mask=padding_mask) for last in (False, True))
    assert np.array_equal(first, VECTORS[:, 0])
    assert np.array_equal(last, VECTORS[np.arange(3), np.array(LENGTHS) - 1])


def test_packed_rows_give_those_of_each_sequence():
    packed = {"cls_positions": CLS_POSITIONS, "sequence_ids": SEQUENCE_IDS}
    first, last = (vectors_of(last, **packed) for last in (False, True))
    rows = np.arange(3)[:, None]
    assert np.array_equal(first, VECTORS[rows, CLS_POSITIONS])
    assert np.array_equal(last, VECTORS[rows, [[2, 4, 0], [6, 0, 0], [1, 2, 6]]])


def test_packed_rows_without_positions_give_those_of_their_first_sequence():
    first, last = (vectors_of(last, sequence_ids=SEQUENCE_IDS) for last in (False, True))
    assert np.array_equal(first, VECTORS[:, 0])
    assert np.array_equal(last, VECTORS[np.arange(3), [2, 6, 1]])


def test_the_ends_of_packed_sequences_need_sequence_ids(refused):
    refused("needs sequence_ids.*cls_positions", vectors_of, True, cls_positions=CLS_POSITIONS)


@pytest.mark.parametrize("length", [1, 2, 7, 300])
def test_positions_count_from_the_start_of_each_sequence(length):
    ids = np.cumsum(np.random.default_rng(1).random((4, length)) < 0.05, axis=1) + 1
    ids[:, length - length // 5 :] = 0
    ids = ids.astype("int32")
    is_earlier = np.tril(ids[:, :, None] == ids[:, None], -1)
    positions = ops.convert_to_numpy(token_positions(None, ids))
    assert positions.dtype == np.int32
    assert np.array_equal(positions, is_earlier.sum(axis=2))


def test_positions_of_rows_of_any_length_are_traced(tensorflow):
    spec = tensorflow.TensorSpec([None, None], "int32")
    positions = tensorflow.function(lambda ids: token_positions(None, ids), input_signature=[spec])
    assert np.array_equal(positions(SEQUENCE_IDS)[2], [0, 1, 0, 0, 1, 2, 3])


def test_positions_take_memory_for_a_row_and_not_for_its_square():
    ids = keras.Input(batch_shape=(1, 8192), dtype="int32")
    steps = keras.Model(ids, token_positions(None, ids)).operations
    sizes = [math.prod(x.shape) for step in steps for x in keras.tree.flatten(step.output)]
    assert max(sizes) == 8192
