"""Data sets of the Hugging Face hub, as inputs of a corpus."""

import pytest
from huggingface_hub import constants

import keras_bert

SOURCE = "hf://datasets/user/texts"


@pytest.fixture
def hub(hub, tmp_path):
    """The hub with a data set in two revisions."""
    for revision, num_texts in (("main", 3), ("v2", 5)):
        folder = tmp_path / revision
        (folder / "data").mkdir(parents=True)
        for number in range(num_texts):
            (folder / f"data/train-{number}.txt").write_text(f"Word{number} word8.")
        (folder / "README.md").write_text("What it is.")
        hub.models.setdefault("user/texts", {})[revision] = folder
    return hub


@pytest.fixture
def prepare(letters, tmp_path):
    """Makes a corpus of some inputs; returns the number of its documents."""

    def prepare(inputs, output="a"):
        options = {"num_workers": 1, "progress": False}
        corpus = keras_bert.prepare_corpus(inputs, tmp_path / output, letters, **options)
        return corpus.num_documents

    return prepare


def test_a_corpus_of_a_data_set(hub, prepare):
    assert prepare(SOURCE) == prepare(f"{SOURCE}/data/**/*.txt", "every") == 3
    assert prepare(f"{SOURCE}@v2", "b") == 5
    hub.asked.clear()
    assert prepare(f"{SOURCE}/data/*-[01].txt", "c") == 2
    assert not hub.fetched()  # but cached
    learned = keras_bert.learn_vocabulary(f"{SOURCE}/data/*", 24, num_workers=1, progress=False)
    assert "word" in learned


def test_what_is_not_there_is_refused(hub, prepare, refused):
    for path, message in (
        ("data/no.txt", "data/no.txt does not exist"),
        ("README.md", "No input files"),
    ):
        refused(message, prepare, f"{SOURCE}/{path}")
    for name in ("nothing", "texts@v9"):
        with pytest.raises(OSError, match="404"):
            prepare(f"hf://datasets/user/{name}")


def test_without_a_connection_the_cache_is_read(hub, prepare, monkeypatch):
    prepare(SOURCE)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for output in ("a", "b"):  # of which the first is finished
        assert prepare(SOURCE, output) == 3
    with pytest.raises(OSError, match="offline|cannot find|snapshot"):
        prepare("hf://datasets/user/other", "c")
