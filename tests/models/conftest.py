"""Fixtures of the models' tests."""

import functools

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import BertTask

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]
WORDS = [text.split() for text in TEXTS]
TAGS = [["O"] * len(words) for words in WORDS]
CONTEXT = "a b c d e f g h i j k l"
QUESTIONS = [
    {
        "id": c,
        "question": c,
        "context": CONTEXT,
        "answers": [{"text": c, "answer_start": 2 * i}],
    }
    for i, c in enumerate("abcd")
]
CHOICES = [
    {"context": c, "choices": ["b", "c d", "e"][: 2 + i % 2], "label": i % 2}
    for i, c in enumerate("abcd")
]


def case(kind, x, y, shape, key, settings=None, **arguments):
    """A task's class, examples, labels, shape of outputs, key of answers, and arguments."""
    return f"Bert{kind}", x, y, shape, key, settings or {}, arguments


SPANS = {"document_stride": 3, "max_question_length": 4, "max_answer_length": 2}
CLASSES = ([0, 1, 2, 0], (4, 3), "probabilities")
FEATURES = {"text": TEXTS, "features": np.arange(8.0).reshape(4, 2)}
DOCUMENTS = (["a b", "a b", "c", "c"], TEXTS)
WINDOWS = {"window_stride": 4}
NAMES = {"label_names": ["O", "B-X", "I-X"]}
SEVERAL = {"label_names": ["x", "y", "z"], "multi_label": True, "threshold": 0.7}
LABELS = ([["x"], [], ["y", "z"], ["x"]], (4, 3), "is_label")
TASKS = {
    "classes": case("Classifier", TEXTS, *CLASSES, num_classes=3),
    "pairs": case("Classifier", (TEXTS, TEXTS[::-1]), *CLASSES, num_classes=3),
    "features": case("Classifier", FEATURES, *CLASSES, num_classes=3, num_features=2),
    "windows": case("Classifier", TEXTS, *CLASSES, WINDOWS, num_classes=3),
    "labels": case("Classifier", TEXTS, *LABELS, SEVERAL, num_classes=3),
    "score": case("Classifier", TEXTS, [0.0, 1, 2, 0], (4, 1), "score", num_classes=1),
    "tags": case("TokenClassifier", WORDS, TAGS, (4, 12, 3), "label", NAMES, num_classes=3),
    "questions": case("SpanLabeler", QUESTIONS, None, (12, 12), "answer", SPANS),
    "choices": case("MultipleChoice", CHOICES, None, (4, 3), "choice"),
    "documents": case("Reranker", DOCUMENTS, [1, 0, 0.5, 0], (4, 1), "score"),
    "vectors": case("Embedder", TEXTS, np.eye(16)[:4], (4, 16), "embedding"),
    "weighted": case("Embedder", *[None] * 4, layers=[0, 1], combine="weighted"),
    "pretrainer": case("Pretrainer", *[None] * 4),
    "untied": case("Pretrainer", *[None] * 4, tie_embeddings=False),
}


@pytest.fixture(scope="session")
def untraced():
    """Has a model run eagerly until it is compiled: few calls cost less than a graph."""

    def run_eagerly(model):
        model.run_eagerly = True
        return model

    return run_eagerly


@pytest.fixture(scope="session")
def assert_same(assert_close):
    """Asserts that answers are the same, to the bit but on PyTorch.

    There, a product rounds by how its matrices lie in memory.
    """
    is_exact = keras.backend.backend() != "torch"

    def check(found, expected):
        for answer, other in zip(found, expected, strict=True):
            assert answer.keys() == other.keys()
            for name in answer:
                found, expected = np.asarray(answer[name]), np.asarray(other[name])
                if is_exact or found.dtype.kind != "f":
                    np.testing.assert_array_equal(found, expected, err_msg=name)
                else:
                    assert_close(found, expected)

    return check


@pytest.fixture
def eager_compile(monkeypatch):
    """Makes each `compile` of a task compile to run eagerly, also where the library calls it."""
    compile_ = functools.partialmethod(BertTask.compile, run_eagerly=True)
    monkeypatch.setattr(BertTask, "compile", compile_)


@pytest.fixture(scope="session")
def cases():
    """`{name: (class, examples, labels, shape of outputs, key of answers, ...)}`; see `case`."""
    return TASKS


@pytest.fixture(scope="session")
def make_case(letters, untraced):
    """Makes the task of a case, with its preprocessor, on a backbone; it runs eagerly."""

    def make(name, backbone, **others):
        kind, *_, settings, arguments = TASKS[name]
        task = getattr(keras_bert, kind)
        reader = task.preprocessor_class()(letters, sequence_length=12, **settings)
        model = untraced(task(backbone, preprocessor=reader, **arguments, **others))
        if name == "features":
            model.adapt_features(FEATURES["features"])
        return model

    return make
