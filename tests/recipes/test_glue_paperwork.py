"""GLUE from tensorflow-datasets, and what its server takes."""

import sys
import types

import numpy as np
import pytest

from keras_bert.recipes.glue.reading import GlueExamples, read_tfds
from keras_bert.recipes.glue.submission import write_glue_submission
from keras_bert.recipes.glue.tasks import TASKS
from keras_bert.reports import Reports


@pytest.fixture
def tfds(monkeypatch):
    """A stand-in for tensorflow-datasets; `tfds.rows` and `tfds.names` are what it gives."""
    module = types.ModuleType("tensorflow_datasets")
    module.__version__, module.names = "0", None

    def load(name, split, data_dir, with_info):
        module.asked = (name, split, data_dir)
        feature = types.SimpleNamespace(names=module.names)
        return module.rows, types.SimpleNamespace(features={"label": feature})

    module.load, module.as_numpy = load, lambda dataset: dataset
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", module)
    return module


def test_tensorflow_datasets_gives_the_same_classes_in_the_order_of_the_files(tfds):
    tfds.names = ["entailment", "neutral", "contradiction"]  # not the order of Google's code
    tfds.rows = [
        {"premise": f"p{i}".encode(), "hypothesis": f"h{i}".encode(), "idx": i, "label": i}
        for i in (2, 0, 1)
    ]
    examples = read_tfds("folder", "mnli", "dev_matched")
    assert tfds.asked == ("glue/mnli", "validation_matched", "folder")
    assert examples.texts == (["p0", "p1", "p2"], ["h0", "h1", "h2"])
    assert [examples.label_names[label] for label in examples.labels] == tfds.names
    for row in tfds.rows:
        row["label"] = -1
    assert read_tfds(None, "mnli", "test_matched").labels is None


def test_tensorflow_datasets_gives_scores_too(tfds):
    tfds.rows = [{"sentence1": b"a", "sentence2": b"b", "idx": 0, "label": np.float32(2.5)}]
    examples = read_tfds(None, "sts-b", "dev")
    assert (examples.labels.tolist(), examples.label_names) == ([2.5], None)
    assert read_tfds(None, "sts-b", "test").labels is None


def test_without_tensorflow_datasets_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"keras3-bert\[tfds\]"):
        read_tfds(None, "mrpc", "dev")


def some(task, count, split="test"):
    """`count` examples of a task, without labels."""
    task, texts = TASKS[task], (["x"] * count,)
    return GlueExamples(task.name, split, texts, None, task.class_names(), Reports())


@pytest.mark.parametrize(
    ("task", "predictions", "name", "answers"),
    [
        ("cola", [1, 0], "CoLA.tsv", "10"),
        ("sst2", [1, 0], "SST-2.tsv", "10"),
        ("stsb", [-0.2, 3.14159, 5.4], "STS-B.tsv", ["0.000", "3.142", "5.000"]),
        ("rte", [0, 1], "RTE.tsv", ["entailment", "not_entailment"]),
        ("mnli test_matched", [2], "MNLI-m.tsv", ["neutral"]),
        ("mnli test_mismatched", [2], "MNLI-mm.tsv", ["neutral"]),
        ("ax", [2, 0, 1], "AX.tsv", ["neutral", "contradiction", "entailment"]),
    ],
)
def test_submissions_are_as_the_server_takes_them(tmp_path, task, predictions, name, answers):
    task, _, split = task.partition(" ")
    examples = some(task, len(predictions), split or "test")
    path = write_glue_submission(tmp_path / "submission", examples, np.array(predictions))
    expected = [f"{index}\t{answer}" for index, answer in enumerate(answers)]
    assert path.name == name
    assert path.read_bytes().decode() == "\n".join(["index\tprediction", *expected]) + "\n"
    assert [path.name for path in path.parent.iterdir()] == [name]
