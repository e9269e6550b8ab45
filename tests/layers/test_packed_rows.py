"""One vector per sequence: that of its first token, or of its last one."""

import numpy as np
import pytest
from keras import ops

from keras_bert.layers.packed_rows import ClsVectors, packed_rows

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
