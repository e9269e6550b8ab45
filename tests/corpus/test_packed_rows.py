"""Several sequences in a row: nothing is lost, nothing is mixed, almost nothing is padded."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.corpus.packed_rows import best_fit, sequence_lengths


@pytest.fixture(scope="module")
def packed(corpus, batches):
    return batches(corpus, packed=True)


def test_packing_keeps_every_sequence(packed, one_epoch_in_rows, restored_rows):
    rows, own = (
        [(tuple(ids), *rest) for ids, *rest in restored_rows(found)]
        for found in (packed, one_epoch_in_rows)
    )
    assert set(rows) <= set(own) and len(rows) == len(set(rows))
    assert len(set(own) - set(rows)) < 8 * 8  # sequences in the rows that fill no batch


def test_predictions_are_counted_for_each_sequence_and_unused_slots_have_no_weight(
    packed,
):
    for x, y, weights in packed:
        for row, ids in enumerate(x["sequence_ids"]):
            is_prediction = weights["masked_lm"][row] > 0
            sizes = np.bincount(ids, minlength=9)[1:]
            counts = np.bincount(ids[x["mask_positions"][row][is_prediction]], minlength=9)[1:]
            is_used = sizes > 0
            assert np.array_equal(counts, np.maximum(np.round(0.15 * sizes), is_used))
            assert np.array_equal(ids[: sizes.sum()], np.repeat(np.arange(1, 9), sizes))
            assert np.array_equal(weights["next_sentence"][row], is_used)
            starts = np.cumsum(sizes) - sizes
            assert np.array_equal(x["cls_positions"][row], starts * is_used)
            assert not y["next_sentence"][row][~is_used].any()
    assert not is_used.all()


def test_each_text_has_its_special_tokens():
    lengths = sequence_lengths(tf.constant([0, 1, 1]), tf.constant([0, 0, 1]))
    assert lengths.numpy().tolist() == [0, 3, 5]


def test_packed_runs_resume(corpus, packed, batches, assert_close):
    assert_close(batches(corpus, packed=True, start_step=9), packed[9:], sums=0)


def test_whole_words_and_single_texts_are_packed(corpus, batches):
    options = dict(packed=True, whole_word_masking=True, next_sentence=False)
    for x, y, weights in batches(corpus, **options, count=4):
        assert "cls_positions" not in x and set(y) == set(weights) == {"masked_lm"}
        used = weights["masked_lm"] > 0
        assert used.any(axis=1).all() and (y["masked_lm"][used] >= 5).all()
        for row, ids in enumerate(x["token_ids"].copy()):
            places = x["mask_positions"][row][used[row]]
            assert x["sequence_ids"][row, places].all()
            ids[places] = y["masked_lm"][row][used[row]]
            chosen = np.isin(np.arange(64), places)
            ends_word = np.flatnonzero((ids % 2 == 0) & (ids > 5) & (np.roll(ids, 1) == ids - 1))
            assert len(ends_word) and (chosen[ends_word] == chosen[ends_word - 1]).all()


def test_best_fit_respects_every_bound_and_wastes_little_room():
    rng, packed = np.random.default_rng(3), tf.function(best_fit, reduce_retracing=True)
    for count in (0, 1, 40, 3000):
        lengths = rng.integers(5, 65, count).astype("int32")
        needed = np.maximum(1, lengths // 6).astype("int32")
        rows = packed(lengths, needed, (64, 12, 5)).numpy()
        assert sorted(rows[rows >= 0]) == list(range(count)) and rows.shape[1] == 5
        for row in rows:
            chosen = row[row >= 0]
            assert len(chosen) and list(row[: len(chosen)]) == list(chosen)
            assert lengths[chosen].sum() <= 64 and needed[chosen].sum() <= 12
    assert lengths.sum() / (64 * len(rows)) > 0.98


def test_best_fit_takes_the_fullest_row_with_room():
    rows = best_fit(tf.constant([40, 30, 28, 5]), tf.ones(4, tf.int32), (64, 64, 4))
    assert rows.numpy().tolist() == [[0, -1, -1, -1], [1, 2, 3, -1]]
