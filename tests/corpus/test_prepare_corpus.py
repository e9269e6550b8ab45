import bz2
import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_bert
from keras_bert.corpus import corpus_plan, corpus_slice
from keras_bert.corpus.record_groups import RECORD_FEATURES
from keras_bert.corpus.shards import Corpus
from keras_bert.files.whole import temporary_name
from tests.corpus.conftest import WORDS


def some_text(num_sentences, seed=0):
    rng = random.Random(seed)
    sentences = (" ".join(rng.choices(WORDS, k=9)) for _ in range(num_sentences))
    return "".join(f"{sentence.capitalize()}.\n" for sentence in sentences)


@pytest.fixture
def inputs(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(12):
        (folder / f"{i:02d}.txt").write_text(some_text(5 + i, seed=i))
    return folder


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 1500)


def records(corpus):
    """`(document id, list of sentences as lists of ids)` of each record."""
    found = []
    for path in corpus.shard_paths:
        for record in tf.data.TFRecordDataset(path):
            parsed = tf.io.parse_single_example(record, RECORD_FEATURES)
            ids = np.frombuffer(parsed["token_ids"].numpy(), "<u2")
            lengths = np.frombuffer(parsed["sentence_lengths"].numpy(), "<u4")
            sentences = [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]
            found.append((int(parsed["document_id"]), sentences))
    return found


def files_below(folder):
    return {name for _, _, names in os.walk(folder) for name in names}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shards_hold_every_document_tokenized(inputs, tmp_path, prepare, tokenizer, small_slices):
    corpus = prepare(inputs, tmp_path / "out")
    assert len(corpus.shards) > 2 and corpus.num_documents == 12
    expected = [tokenizer(path.read_text().splitlines()) for path in sorted(inputs.iterdir())]
    found = records(corpus)
    assert sorted(sentences for _, sentences in found) == sorted(expected)
    assert len(dict(found)) == 12
    assert corpus.num_sentences == sum(map(len, expected))
    assert corpus.num_tokens == sum(map(len, sum(expected, [])))
    names = {"corpus.json", "vocab.txt", *(shard["name"] for shard in corpus.shards)}
    assert files_below(tmp_path / "out") == names
    corpus.check_tokenizer(tokenizer)


def test_documents_are_shuffled_within_a_shard_by_the_seed(inputs, tmp_path, prepare):
    orders = []
    for seed in (0, 0, 1):
        found = records(prepare(inputs, tmp_path / f"{len(orders)}", seed=seed))
        orders.append([document_id for document_id, _ in found])
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != sorted(orders[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["processes", "beam"])
def test_workers_write_the_same_bytes(inputs, tmp_path, prepare, small_slices, name):
    options = {"num_workers": 2}
    if name == "beam":
        pytest.importorskip("apache_beam", reason='pip install ".[corpus]"')
        options = {"beam_options": ["--runner=DirectRunner"]}
    (inputs / "more.txt.bz2").write_bytes(bz2.compress(b"Word1 word2. Word3."))
    rows = [{"text": some_text(5, seed)} for seed in range(60, 90)] * 2
    (inputs / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    prepare(inputs, tmp_path / "one", drop_repeated=True)
    prepare(inputs, tmp_path / "two", drop_repeated=True, **options)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert Corpus(tmp_path / "two").num_documents == 13 + 30


def test_one_huge_document_is_cut_and_keeps_its_id(
    tmp_path, prepare, tokenizer, small_slices, monkeypatch
):
    monkeypatch.setattr(corpus_slice, "MAX_RECORD_TOKENS", 100)
    monkeypatch.setattr(corpus_slice, "MAX_WAITING_TOKENS", 150)  # less than a slice has
    monkeypatch.setattr(corpus_slice, "BATCH_CHARACTERS", 300)
    paths = [tmp_path / "huge.txt", tmp_path / "small.txt"]
    paths[0].write_text(some_text(400))
    paths[1].write_text(some_text(30) + "Word1. " + "word2 " * 250 + ".\n")
    corpus = prepare(paths, tmp_path / "out")
    found = records(corpus)
    assert corpus.num_documents == 2 and len(corpus.shards) > 10
    assert len(dict(found)) == 2
    assert max(sum(map(len, sentences)) for _, sentences in found) <= 100
    joined = sum((sentences for document_id, sentences in found if document_id == found[0][0]), [])
    assert joined == tokenizer(paths[0].read_text().splitlines())
    # A sentence longer than a record is cut and reported.
    assert corpus.num_tokens == sum(map(len, joined)) + 30 * 10 + 2 + 251
    assert corpus.description["reports"][corpus_slice.CUT_SENTENCES]["count"] == 1


def test_one_document_has_no_random_next_sentence(write, tmp_path, prepare, refused):
    corpus = prepare(write("Word1."), tmp_path / "out")
    refused("has 1 document", keras_bert.pretraining_dataset, corpus, batch_size=1)
    keras_bert.pretraining_dataset(corpus, batch_size=1, next_sentence=False)


DAMAGED = ["{", '{"shard": []}', '{"shard": {"name": "../x"}, "reports": {}}']


def test_an_interrupted_run_resumes(inputs, tmp_path, prepare, monkeypatch, refused, capsys):
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 500)
    whole, out = prepare(inputs, tmp_path / "whole"), tmp_path / "out"
    module = importlib.import_module("keras_bert.corpus.prepare_corpus")
    written, num_damaged = [], 1 + len(DAMAGED)

    def write_slice(slice_, **arguments):
        if len(written) > num_damaged:
            raise KeyboardInterrupt
        written.append(slice_.shard)
        corpus_slice.write_slice(slice_, **arguments)

    monkeypatch.setattr(module, "write_slice", write_slice)
    with pytest.raises(KeyboardInterrupt):
        prepare(inputs, out)
    refused("interrupted", Corpus, out)
    finished = written.copy()
    broken = out / finished[0]
    broken.write_bytes(broken.read_bytes()[:10])  # as after a crash of the machine
    for name, damage in zip(finished[1:], DAMAGED, strict=False):
        (out / "progress" / f"{name}.json").write_text(damage)
    left = Path(temporary_name(out / whole.shards[-1]["name"]))
    left.write_bytes(b"half")
    num_damaged = np.inf
    written.clear()
    prepare(inputs, out)
    names = [shard["name"] for shard in whole.shards]
    assert [name for name in names if name not in written] == finished[-1:]
    assert contents(out) == contents(tmp_path / "whole")
    left.touch()  # as after a kill between the last file and the removal of the temporary ones
    (out / "progress").mkdir()
    prepare(inputs, out, progress=True)  # a finished corpus stays as it is
    assert "was finished before" in capsys.readouterr().out
    assert contents(out) == contents(tmp_path / "whole")


def test_a_folder_of_another_corpus_is_refused(inputs, tmp_path, prepare, refused):
    prepare(inputs, tmp_path / "out")
    before = contents(tmp_path / "out")
    refused("different seed", prepare, inputs, tmp_path / "out", seed=1)
    (inputs / "00.txt").write_text("Word1. Word2.")
    refused("different inputs", prepare, inputs, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    (tmp_path / "out" / "corpus.json").unlink()
    refused("different .*inputs.* seed", prepare, inputs, tmp_path / "out")


WRONG = [
    ({"document_separator": "("}, "not a regular expression"),
    ({"document_separator": ["^x"]}, "not a regular expression"),
    ({"seed": -1}, "seed must be at least 0"),
    ({"min_tokens": 2**15 + 1}, "min_tokens must be at most"),
    ({"document_separator": "x", "text_format": "sentences"}, "Omit it"),
    ({"tokenizer": "bert"}, "the tokens of a BertTokenizer .* got 'bert'"),
    ({"inputs": ["nowhere.txt"]}, "input file nowhere.txt does not exist"),
    ({"inputs": ["in_no_files"]}, "No input files"),
]


def test_bad_arguments_leave_no_corpus(inputs, tmp_path, prepare, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in_no_files").mkdir()
    for arguments, message in WRONG:
        refused(message, prepare, **{"inputs": inputs, "output": "out", **arguments})
        assert files_below("out") <= {"plan.json"}


@pytest.mark.slow
def test_workers_need_no_tensorflow_and_one_that_dies_is_reported(inputs, tmp_path, tokenizer):
    program = f"""
import os, sys
import keras_bert
from keras_bert.corpus import corpus_plan

class Alone(keras_bert.BertTokenizer):
    def flat_ids(self, texts):
        assert "tensorflow" not in sys.modules and "keras" not in sys.modules
        return super().flat_ids(texts)

class Deadly(keras_bert.BertTokenizer):
    def flat_ids(self, texts):
        os._exit(9)

if __name__ == "__main__":
    corpus_plan.MIN_SLICE_BYTES = 1500
    for kind in Alone, Deadly:
        tokenizer, output = kind({tokenizer.get_vocabulary()!r}), kind.__name__
        keras_bert.prepare_corpus({str(inputs)!r}, output, tokenizer, num_workers=2)
        print("done", output)
"""
    script = tmp_path / "alone.py"
    script.write_text(program)
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert "done Alone" in run.stdout and "done Deadly" not in run.stdout, run.stderr
    assert "RuntimeError: A worker process died" in run.stderr


@pytest.mark.weekly
def test_memory_does_not_grow_with_the_corpus(tmp_path, run_python):
    program = """
import re, sys
from pathlib import Path
import keras_bert
tokenizer = keras_bert.BertTokenizer("[PAD] [UNK] [CLS] [SEP] [MASK] .".split())
keras_bert.prepare_corpus(*sys.argv[1:], tokenizer, num_workers=1, progress=False)
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("reads the memory of a process from Linux's /proc")
    peaks, text = [], some_text(10_000)
    for megabytes in (5, 30):
        path = tmp_path / f"{megabytes}.txt"
        path.write_text(text * (megabytes * 10**6 // len(text)))
        said = run_python("-W", "ignore", "-c", program, path, tmp_path / f"{megabytes}")
        peaks.append(int(said.split()[-1]) / 1000)
    assert peaks[1] < peaks[0] + 20, f"{peaks} MB"
