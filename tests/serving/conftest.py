"""SavedModels of the tasks of `models/conftest.py`, and what they answer."""

import functools

import keras
import numpy as np
import pytest

from tests.models.conftest import make_case, untraced  # noqa: F401

LONG = " ".join(np.random.default_rng(6).choice([*"abcdefghi"], 160))  # of many windows
TEXTS = ["", " ", "a", "中国 (b)", "e\u0301 «ä» 😀 c'd,", LONG]
OTHERS = TEXTS[::-1]
FEATURES = {"text": TEXTS, "features": np.arange(12.0).reshape(6, 2).tolist()}
# With gaps, and with contexts and choices that are both too long.
CHOICES = [[f"c {text}", "c d" * (i % 2), LONG[: 8 + 20 * i]] for i, text in enumerate(OTHERS)]
COLUMNS = {  # inputs of `serving_default` by the name of a task; of the others, texts
    "features": FEATURES,
    "windows": FEATURES,
    "questions": {"question": TEXTS, "context": OTHERS},
    "choices": {"context": TEXTS, "choices": CHOICES},
    "documents": {"query": TEXTS, "documents": OTHERS},
}


def examples_of(columns):
    """The raw examples of inputs."""
    if "query" in columns:
        return tuple(columns.values())
    if "context" in columns:
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return columns if "features" in columns else columns["text"]


class Served:
    """A task, examples, and its SavedModel."""

    def __init__(self, task, columns, path):
        import tensorflow as tf

        self.task, self.columns, self.path = task, columns, path
        self.examples = examples_of(columns)
        self._loaded = tf.saved_model.load(path)  # which holds the variables

    def ask(self, columns, signature="serving_default", rows=slice(None)):
        """Asks the SavedModel about some rows; its answers as lists."""
        import tensorflow as tf

        columns = {name: tf.constant(values)[rows] for name, values in columns.items()}
        found = self._loaded.signatures[signature](**columns)
        lists = {name: values.numpy().tolist() for name, values in found.items()}
        return keras.tree.map_structure(lambda v: v.decode() if type(v) is bytes else v, lists)


def without_padding(value, expected):
    """A served value, cut to the lengths of that of `answer`; padding is 0 or ""."""
    if not isinstance(expected, list):
        return value
    assert len(value) >= len(expected) and not np.any(np.array(value[len(expected) :]).astype(bool))
    return [without_padding(*pair) for pair in zip(value, expected, strict=False)]


@pytest.fixture(scope="session")
def same_answers(assert_close):
    """A function that asserts that served answers, as lists, are those of `answer`."""

    def check(served, answers):
        assert all(set(answer) == set(served) for answer in answers)
        for name, column in served.items():
            wanted = [answer[name] for answer in answers]
            found = [without_padding(*pair) for pair in zip(column, wanted, strict=True)]
            if any(isinstance(value, float) for value in keras.tree.flatten(wanted)):
                assert_close(found, wanted, size=10.0, name=name)  # logits of up to 10
            else:
                assert repr(found) == repr(wanted)  # 1 is not True

    return check


@pytest.fixture(scope="session")
def served(make_case, make_backbone, varied, tmp_path_factory):  # noqa: F811
    """A function of the name of a task that gives its `Served`, made once."""
    folder = tmp_path_factory.mktemp("served")

    @functools.cache
    def give(name):
        others = {"num_features": 2} if name == "windows" else {}
        task = varied(make_case(name, make_backbone(), **others))
        if "features" in task.input:
            task.adapt_features(FEATURES["features"])
        return Served(task, COLUMNS.get(name, {"text": TEXTS}), task.export(folder / name))

    return give
