import numpy as np
import tensorflow as tf

from keras_bert import heldout_dataset
from keras_bert.corpus.masking import Masking
from keras_bert.corpus.pairs import Pairing
from keras_bert.corpus.pretraining_dataset import pretraining_dataset
from keras_bert.corpus.row_source import RowSource

CLS, SEP, MASK = 2, 3, 4
BATCHES = {"batch_size": 8, "sequence_length": 64}


def test_batches_have_static_shapes_and_the_dtypes_that_fit_takes(corpus):
    tokens, words, slots = (tf.TensorSpec([8, n], tf.int32) for n in (128, 20, 5))
    inputs = {"token_ids": tokens, "segment_ids": tokens, "mask_positions": words}
    for packed, own, labels in (
        (False, {"padding_mask": tokens}, tf.TensorSpec([8], tf.int32)),
        (True, {"sequence_ids": tokens, "cls_positions": slots}, slots),
    ):
        data = pretraining_dataset(corpus, batch_size=8, packed=packed, sequences_per_row=5)
        y = {"masked_lm": words, "next_sentence": labels}
        weights = {name: tf.TensorSpec(spec.shape, tf.float32) for name, spec in y.items()}
        assert data.element_spec == ({**inputs, **own}, y, weights)
        graph = data._as_serialized_graph().numpy()
        assert b"MapDataset" in graph  # the graph is there to be looked at
        assert b"PyFunc" not in graph and b"GeneratorDataset" not in graph


def test_labels_put_back_restore_pairs_of_contiguous_texts(one_epoch, documents, restored_rows):
    ends = {
        5 + s + e
        for s, n in zip(documents.starts, documents.sentence_lengths, strict=False)
        for e in [0, *np.cumsum(n)]
    }
    rows = restored_rows(one_epoch)
    num_whole = 0
    for ids, first, second, is_random in rows:
        assert ids[0] == CLS and ids[first + 1] == SEP and ids[-1] == SEP and len(ids) <= 64
        a, b = ids[1 : first + 1], ids[first + 2 : -1]
        assert len(a) == first >= 1 and len(b) == second >= 1
        for text in (a, b):
            assert np.array_equal(text, np.arange(text[0], text[0] + len(text)))
        same = documents.document_of(a[0]) == documents.document_of(b[0])
        assert same != bool(is_random) and (is_random or b[0] > a[-1])
        if len(ids) < 64:  # not truncated
            num_whole += 1
            assert {a[0], a[-1] + 1, b[0], b[-1] + 1} <= ends
            assert is_random or b[0] == a[-1] + 1
    assert len(rows) > 200 and num_whole > 20


def test_nothing_special_is_ever_masked(one_epoch):
    for x, y, weights in one_epoch:
        used = weights["masked_lm"] > 0
        assert np.all(used.sum(axis=1) >= 1)
        assert np.all(y["masked_lm"][used] >= 5) and np.all(y["masked_lm"][~used] == 0)
        assert np.all(x["mask_positions"][~used] == 0)
        assert np.all(np.diff(used.astype(int), axis=1) <= 0)  # used slots come first
        assert np.all(np.diff(x["mask_positions"], axis=1)[used[:, 1:]] > 0)
        assert not x["token_ids"][x["padding_mask"] == 0].any()
        assert (x["token_ids"] == MASK).any()


def test_rates_of_0_mask_none_and_predictions_have_a_limit(corpus, batches):
    options = {"max_predictions": 6, "mask_token_rate": 0.0, "random_token_rate": 0.0}
    for x, y, weights in batches(corpus, **options):
        used = weights["masked_lm"] > 0
        counts = np.round(0.15 * x["padding_mask"].sum(axis=1))
        assert np.array_equal(used.sum(axis=1), np.clip(counts, 1, 6))
        now = np.take_along_axis(x["token_ids"], x["mask_positions"], axis=1)
        assert np.array_equal(now[used], y["masked_lm"][used])


def test_seeds_and_epochs_differ_and_neighbors_come_from_many_documents(
    corpus, documents, one_epoch, one_epoch_in_rows, batches
):
    def rows(found):
        return {tuple(ids) for x, _, _ in found for ids in x["token_ids"]}

    once, number = len(one_epoch), len(one_epoch_in_rows)
    assert number % 8 and once == number // 8  # rows that fill no batch are dropped
    both = batches(corpus, epochs=2, seed=5)
    assert len(both) > 1.8 * once
    first, later = rows(both[: once - 1]), rows(both[once + 1 :])
    assert not first & later and not rows(one_epoch) & (first | later)
    neighbors = {documents.document_of(max(ids[1:4])) for ids in rows(one_epoch[:2])}
    assert len(neighbors) > 8  # interleaved


def test_a_later_start_gives_what_a_whole_run_sees(corpus, monkeypatch, batches, assert_close):
    # Several groups per epoch; the steps lie in the first block of masks and the third.
    monkeypatch.setattr("keras_bert.corpus.record_groups.RECORDS_PER_GROUP", 16)
    options = {"epochs": None, "shard": (1, 2), "seed": 9}
    whole = batches(corpus, count=78, **options)
    for step in (1, 75):
        rest = batches(corpus, count=3, start_step=step, **options)
        assert_close(rest, whole[step : step + 3], sums=0, name=f"{step}")


def test_shards_split_the_data(documents, corpus, monkeypatch, refused):
    monkeypatch.setattr("keras_bert.corpus.record_groups.RECORDS_PER_GROUP", 25)
    parts = []  # of 60 records, in groups of 25, 25 and 10
    for index in range(3):
        source = RowSource(corpus, Pairing(64), Masking(64), 1, 0, (index, 3), epochs=1)
        rows = source.rows(0).unbatch().as_numpy_iterator()
        parts.append({documents.document_of(row["token_ids"][1]) for row in rows})
    assert [len(part) for part in parts] == [25, 25, 10] and len(set.union(*parts)) == 60
    message = r"shard=\(3, 4\) has no data: .*below 3, .* 60 records"
    refused(message, pretraining_dataset, corpus, batch_size=1, shard=(3, 4))


def test_single_sentences_are_contiguous_and_whole(corpus, documents, batches, restored_rows):
    found, seen = batches(corpus, next_sentence=False, short_sequence_rate=0.0), 0
    assert not any("next_sentence" in y or x["segment_ids"].any() for x, y, _ in found)
    for text, length, *_ in restored_rows(found):
        assert text[0] == CLS and text[-1] == SEP and len(text) <= 64
        assert np.array_equal(text[1:-1], np.arange(text[1], text[1] + length))
        seen += length
    assert seen > 0.9 * documents.num_tokens


WRONG = [
    ({"sequence_length": 4}, "sequence_length must be at least 5"),
    ({"sequence_length": 2049}, "sequence_length must be at most 2048"),
    ({"mask_token_rate": 0.95}, r"mask_token_rate \+ random_token_rate .*1\.05"),
    ({"start_step": 10_000}, "past the end of the data"),
    ({"masked_lm_rate": 0.0}, "masked_lm_rate of a sequence, must be at least 1"),
    ({"packed": True, "sequences_per_row": 1}, "sequences_per_row must be at least 2"),
]


def test_arguments_out_of_range_are_refused(corpus, refused):
    for options, message in WRONG:
        options = {"batch_size": 8, "epochs": 1, **options}
        refused(message, pretraining_dataset, corpus, **options)


def test_every_evaluation_sees_the_same_whole_executions(
    corpus, documents, one_epoch, assert_close, tmp_path, refused
):
    data = heldout_dataset(corpus, corpus, multiple_of=4, **BATCHES)
    whole = one_epoch[: len(one_epoch) - len(one_epoch) % 4]
    assert len(data) == len(whole) < len(one_epoch)
    for _ in range(2):
        assert_close([*data.as_numpy_iterator()], whole, sums=0)
    message = "fewer than 100000 batches of 8 rows"
    refused(message, heldout_dataset, corpus, corpus, multiple_of=100_000, **BATCHES)
    other = type(documents)(num_documents=4).write(tmp_path / "other")
    refused("other has a different vocabulary", heldout_dataset, other, corpus, **BATCHES)
