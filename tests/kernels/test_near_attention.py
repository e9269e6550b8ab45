"""Attention to near tokens in blocks gives what the whole square of scores gives."""

import itertools

import numpy as np
import pytest
from keras import ops

from keras_bert.kernels import near
from keras_bert.layers.packed_rows import packed_rows
from keras_bert.layers.rotary import RotaryPositions, rotated
from keras_bert.layers.scaled_attention import attention


@pytest.fixture
def vectors():
    return np.random.default_rng(2).standard_normal((3, 2, 2, 16, 4)).astype("float32")


def test_blocks_compute_what_the_square_computes(vectors, monkeypatch, assert_close):
    kinds = ("", "padding_mask", "sequence_ids")
    for length, kind, window in itertools.product((1, 3, 9, 13, 16), kinds, (1, 2, 3)):
        positions = np.arange(length)[None]
        masks = {
            "padding_mask": positions % 4 < np.array([[9], [3]]),
            "sequence_ids": positions // 5 + np.array([[1], [0]]),  # 0 is padding
        }
        visible = {kind: masks[kind]} if kind else {}
        query, key, value = ops.convert_to_tensor(vectors[..., :length, :])
        contexts = []
        for fewest in (0, 99):  # blocks, the square
            monkeypatch.setattr(near, "FEWEST_BLOCKS", fewest)
            context = attention(query=query, key=key, value=value, window=window, **visible)
            contexts.append(ops.convert_to_numpy(context))
        assert_close(*contexts, name=f"{length} tokens, {kind}, window {window}")


def test_rows_of_few_windows_are_no_blocks(vectors):
    query = vectors[0]
    for window, takes in ((None, False), (4, False), (3, True)):
        seen = near.Visibility(window=window)
        assert near.takes_blocks(query, query, query, seen) == takes


def test_pairs_of_numbers_are_turned_by_their_positions(vectors, assert_close):
    x = vectors[0]  # [B, N, S, 4], of pairs (0, 2) and (1, 3)
    rotation = RotaryPositions(4, theta=100.0)(np.zeros((2, 16), "int32"))
    turned = rotated(ops.convert_to_tensor(x), rotation)
    angle = np.arange(16)[:, None] * np.array([1.0, 0.1])
    first, second = np.split(x, 2, axis=-1)
    parts = (
        first * np.cos(angle) - second * np.sin(angle),
        second * np.cos(angle) + first * np.sin(angle),
    )
    assert_close(turned, np.concatenate(parts, axis=-1))


def test_positions_restart_with_each_sequence(refused):
    layer, ids = RotaryPositions(4), np.zeros((1, 5), "int32")
    with packed_rows({"sequence_ids": np.array([[1, 1, 1, 2, 2]])}):
        packed = ops.convert_to_numpy(layer(ids))
    alone = ops.convert_to_numpy(layer(ids))
    np.testing.assert_array_equal(packed[:, :, 3:], alone[:, :, :2])
    refused("head_dim must be even; got 5", RotaryPositions, 5)
