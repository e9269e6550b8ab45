import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.corpus.record_groups import serialized_groups
from keras_bert.corpus.shards import (
    Corpus,
    finish_corpus,
    shard_name,
    token_dtype,
    write_shard,
)


def words(vocabulary=("[PAD]", "[UNK]", "a", "b"), lowercase=True):
    """The parts of a tokenizer that a corpus uses."""
    return SimpleNamespace(get_vocabulary=lambda: list(vocabulary), lowercase=lowercase)


@pytest.fixture
def folder(tmp_path):
    counts = []
    for i in range(2):
        records = [(10 + i, [2, 3, 3], [1, 2]), (20 + i, [3], [1]), (20 + i, [2, 2], [2])]
        counts.append(write_shard(tmp_path / shard_name(i, 2), "uint16", records))
    finish_corpus(tmp_path, words(), counts, note="x")
    return tmp_path


def test_records_are_those_of_tensorflow(tmp_path):
    assert token_dtype(65536) == "uint16" and token_dtype(65537) == "uint32"
    for dtype, num_tokens in itertools.product(("uint16", "uint32"), (0, 127, 128, 40_001)):
        tokens = np.linspace(0, np.iinfo(dtype).max, num_tokens).astype(
            np.dtype(dtype).newbyteorder("<")
        )
        expected = tf.train.Example()
        feature = expected.features.feature
        feature["token_ids"].bytes_list.value.append(tokens.tobytes())
        feature["sentence_lengths"].bytes_list.value.append(np.array([num_tokens], "<u4").tobytes())
        feature["document_id"].int64_list.value.append(2**40 + 200)
        with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
            writer.write(expected.SerializeToString(deterministic=True))
        counts = write_shard(tmp_path / "ours", dtype, [(2**40 + 200, tokens, [num_tokens])])
        written = (tmp_path / "ours").read_bytes()
        assert written == (tmp_path / "theirs").read_bytes(), num_tokens
        assert counts["num_bytes"] == len(written)


SHARD = "shard-00001-of-00002.tfrecord"
DAMAGED = [  # a file, what is replaced in it, and by what; or is gone
    ("corpus.json", None, "", "interrupted"),
    ("corpus.json", '"format": 1', '"format": 9', "format 9"),
    (
        "corpus.json",
        '"num_tokens": 12',
        '"num": 12',
        "corpus.json: num_tokens must be given",
    ),
    (
        "corpus.json",
        '"num_records": 3',
        '"num_records": "3"',
        r"shards\[0\].num_records must be an",
    ),
    (
        "corpus.json",
        SHARD,
        f"../{SHARD}",
        r"shards\[1\].name must be a path within the folder",
    ),
    (SHARD, "token_ids", "", rf"{SHARD} has \d+ of \d+ bytes"),
    (SHARD, None, "", f"{SHARD} has 0 of .*missing"),
    ("vocab.txt", "a\nb", "b\na", "not the vocabulary"),
    ("vocab.txt", None, "", "vocab.txt can't be read"),
]


def test_missing_changed_and_misdescribed_files_are_refused(folder, refused):
    for name, old, new, message in DAMAGED:
        path = folder / name
        whole = path.read_bytes()
        path.unlink()
        if old is not None:
            path.write_bytes(whole.replace(old.encode(), new.encode()))
        refused(message, Corpus, folder)
        path.write_bytes(whole)
    assert Corpus(folder).num_records == 6


def test_another_tokenizer_is_refused(folder, refused):
    (folder / "vocab.txt").write_bytes(b"[PAD]\r\n[UNK]\r\na\r\nb\r\n")  # is the same
    corpus = Corpus(folder)
    corpus.check_tokenizer(words())
    for other in (words(["[PAD]", "[UNK]", "b", "a"]), words(lowercase=False)):
        refused("a different vocabulary or casing", corpus.check_tokenizer, other)


def test_a_shard_that_is_damaged_while_it_is_read_is_named(folder):
    groups = serialized_groups(Corpus(folder), tf.constant([1, 2]))
    assert sum(len(records) for _, records in groups) == 6
    path = folder / shard_name(1, 2)
    whole = path.read_bytes()
    garbled, header = bytearray(whole), bytearray(whole)
    garbled[-30] ^= 1
    header[3] ^= 1
    for damaged in (whole[:-10], garbled, header):
        path.write_bytes(damaged)
        with pytest.raises(tf.errors.InvalidArgumentError, match="damaged.*shard-00001-of-00002"):
            list(groups)
