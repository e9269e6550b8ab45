"""Several sequences in a row: nothing is lost, nothing is mixed, almost nothing is padded."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.corpus.packed_rows import best_fit

PAD, UNK, CLS, SEP, MASK = range(5)


@pytest.fixture(scope="module")
def packed(corpus, batches):
    return batches(corpus, packed=True)


def sequences(found):
    """Of packed batches: each as `restored_rows` has it, and the weight of its predictions."""
    for x, y, weights in found:
        for row, ids in enumerate(x["token_ids"].copy()):
            own_weights, labels = weights["masked_lm"][row], y["next_sentence"][row]
            used, positions = own_weights > 0, x["mask_positions"][row]
            ids[positions[used]] = y["masked_lm"][row][used]
            for slot in np.flatnonzero(weights["next_sentence"][row]):
                (places,) = np.nonzero(x["sequence_ids"][row] == slot + 1)
                assert x["cls_positions"][row, slot] == places[0]
                assert np.array_equal(places, places[0] + np.arange(len(places)))
                second = x["segment_ids"][row, places].sum()
                restored = tuple(ids[places]), len(places) - second - 2, second - 1, labels[slot]
                yield restored, own_weights[used & np.isin(positions, places)].sum()


def test_packing_keeps_every_sequence(packed, one_epoch_in_rows, restored_rows):
    rows = [restored for restored, _ in sequences(packed)]
    own = [(tuple(ids), *rest) for ids, *rest in restored_rows(one_epoch_in_rows)]
    assert set(rows) <= set(own) and len(rows) == len(set(rows))
    assert len(set(own) - set(rows)) < 8 * 8  # sequences in the rows that fill no batch


def test_predictions_are_counted_for_each_sequence_and_unused_slots_have_no_weight(packed):
    for (ids, *_), weight in sequences(packed):
        assert weight == max(1, round(0.15 * len(ids)))

    for x, y, weights in packed:
        is_unused = weights["next_sentence"] == 0
        assert np.array_equal(is_unused.sum(axis=1), 8 - x["sequence_ids"].max(axis=1))
        assert not y["next_sentence"][is_unused].any() and not x["cls_positions"][is_unused].any()
    assert is_unused.any()


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
    rng, of_any_number = np.random.default_rng(3), tf.TensorSpec([None], tf.int32)

    @tf.function(input_signature=[of_any_number, of_any_number])
    def packed(lengths, needed):
        return best_fit(lengths, needed, (64, 12, 5))

    for count in (0, 1, 40, 3000):
        lengths = rng.integers(5, 65, count).astype("int32")
        needed = np.maximum(1, lengths // 6).astype("int32")
        rows = packed(lengths, needed).numpy()
        assert sorted(rows[rows >= 0]) == list(range(count)) and rows.shape[1] == 5
        for row in rows:
            chosen = row[row >= 0]
            assert len(chosen) and list(row[: len(chosen)]) == list(chosen)
            assert lengths[chosen].sum() <= 64 and needed[chosen].sum() <= 12
    assert lengths.sum() / (64 * len(rows)) > 0.98
