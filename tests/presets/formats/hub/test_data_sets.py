"""Data sets of the Hugging Face hub, as inputs of a corpus."""

import gzip
import json

import pytest
from huggingface_hub import constants

import keras_bert

SOURCE = "hf://datasets/user/texts"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *(f"word{i}" for i in range(9))]


@pytest.fixture
def hub(hub, tmp_path):
    """The hub with a data set in two revisions."""
    for revision, rows in (("main", 4), ("v2", 5)):
        folder = tmp_path / revision
        (folder / "data").mkdir(parents=True)
        for number in range(3):
            texts = [{"text": f"Word{number} word{row}.", "label": row % 2} for row in range(rows)]
            lines = "".join(json.dumps(row) + "\n" for row in texts)
            name = f"data/train-{number}.jsonl.gz"
            (folder / name).write_bytes(gzip.compress(lines.encode()))
        (folder / "test.csv").write_text("text,label\nWord1.,1\n")
        (folder / "README.md").write_text("What it is.")
        hub.models.setdefault("user/texts", {})[revision] = folder
    return hub


def prepare(inputs, output):
    tokenizer = keras_bert.BertTokenizer(WORDS)
    return keras_bert.prepare_corpus(inputs, output, tokenizer, num_workers=1, progress=False)


def test_a_corpus_of_a_data_set(hub, tmp_path):
    corpus = prepare(SOURCE, tmp_path / "a")
    assert corpus.num_documents == 3 * 4
    assert prepare(f"{SOURCE}@v2", tmp_path / "b").num_documents == 3 * 5
    assert prepare(f"{SOURCE}/data/**/*.gz", tmp_path / "every").num_documents == 3 * 4
    hub.asked.clear()
    assert prepare(f"{SOURCE}/data/*-[01].jsonl.gz", tmp_path / "c").num_documents == 2 * 4
    assert not any("GET" in line and "/resolve/" in line for line in hub.asked)  # but cached
    one = f"{SOURCE}/data/train-1.jsonl.gz"
    assert "word" in keras_bert.learn_vocabulary(one, 30, num_workers=1, progress=False)
    local = prepare(hub.models["user/texts"]["main"], tmp_path / "d")
    assert [shard["num_bytes"] for shard in local.shards] == [s["num_bytes"] for s in corpus.shards]


def test_what_is_not_there_is_refused(hub, tmp_path, refused):
    for path, message in (
        ("data/no.txt", "data/no.txt does not exist"),
        ("*.txt", "does not exist"),
        ("README.md", "No input files"),
    ):
        refused(message, prepare, f"{SOURCE}/{path}", tmp_path / "out")
    for name in ("nothing", "texts@v9"):
        with pytest.raises(OSError, match="404"):
            prepare(f"hf://datasets/user/{name}", tmp_path / "out")


def test_without_a_connection_the_cache_is_read(hub, tmp_path, monkeypatch):
    prepare(SOURCE, tmp_path / "a")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for output in ("a", "b"):  # of which the first is finished
        assert prepare(SOURCE, tmp_path / output).num_documents == 12
    with pytest.raises(OSError, match="offline|cannot find|snapshot"):
        prepare("hf://datasets/user/other", tmp_path / "c")
