"""Packed rows: the vector of each sequence's first token, and its positions."""

import math

import keras
import numpy as np
from keras import ops

from keras_bert.layers.packed_rows import ClsVectors, packed_rows, token_positions

VECTORS = np.random.default_rng(5).normal(size=(3, 7, 4)).astype("float32")
SEQUENCE_IDS = np.array([[1, 1, 1, 2, 2, 0, 0], [1] * 7, [1, 1, 2, 3, 3, 3, 3]])


def vectors_of(layer, **packed):
    with packed_rows(packed):
        return ops.convert_to_numpy(layer(VECTORS))


def positions_of(sequence_ids):
    with packed_rows({"sequence_ids": sequence_ids}):
        return token_positions(None)


def test_rows_without_positions_give_those_of_their_first_sequence():
    for packed in ({}, {"sequence_ids": SEQUENCE_IDS}):
        assert np.array_equal(vectors_of(ClsVectors(), **packed), VECTORS[:, 0])


def test_positions_count_from_the_start_of_each_sequence():
    for length in (1, 2, 7, 300):
        ids = np.cumsum(np.random.default_rng(1).random((4, length)) < 0.05, axis=1) + 1
        ids[:, length - length // 5 :] = 0
        ids = ids.astype("int32")
        is_earlier = np.tril(ids[:, :, None] == ids[:, None], -1)
        positions = ops.convert_to_numpy(positions_of(ids))
        assert positions.dtype == np.int32
        assert np.array_equal(positions, is_earlier.sum(axis=2)), length


def test_positions_of_rows_of_any_length_are_traced(tensorflow):
    spec = tensorflow.TensorSpec([None, None], "int32")
    positions = tensorflow.function(positions_of, input_signature=[spec])
    assert np.array_equal(positions(SEQUENCE_IDS)[2], [0, 1, 0, 0, 1, 2, 3])


def test_positions_take_memory_for_a_row_and_not_for_its_square():
    ids = keras.Input(batch_shape=(1, 8192), dtype="int32")
    steps = keras.Model(ids, positions_of(ids)).operations
    sizes = [math.prod(x.shape) for step in steps for x in keras.tree.flatten(step.output)]
    assert max(sizes) == 8192
