"""Tasks of every kind, their SavedModels, and what these answer where this library is not."""

from functools import cached_property

import keras
import numpy as np
import pytest

LETTERS = "abcdefghijklmnopqrst"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *"(),.'中国"]
WORDS += [f"##{c}" for c in LETTERS]
TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
CLASSES = ["low", "mid", "high"]
ODD = ["", " ", "a", "中国 (b)", "e\u0301 «ä» 😀 c'd,", "😀"]
SPANS = {"document_stride": 4, "max_question_length": 5, "max_answer_length": 6}
NULLS = {**SPANS, "null_threshold": -8.5}


def random_texts(number, longest):
    """Texts of random words, short, longer than a sequence, of other scripts."""
    generator = np.random.default_rng(6)
    words = [*LETTERS, "abc", "(de)", "fg,", "ñ", "中", "😀"]
    sizes = generator.integers(1, longest, number)
    return [" ".join(generator.choice(words, size)) for size in sizes]


def random_questions():
    """Two hundred, some on contexts longer than a sequence."""
    pairs = [("a", ""), ("", " \n"), ("", "a"), ("中 (b)", ODD[4]), ("a b " * 9, "b")]
    pairs += zip(random_texts(195, 8), random_texts(195, 60), strict=True)
    return [{"question": question, "context": context} for question, context in pairs]


def random_choices():
    """Two hundred, of two to five choices."""
    made = [
        {"context": "", "choices": [" ", "a"]},
        {"context": "中 (b)", "choices": [ODD[4], "c'd,", "c d"]},
        {"context": "a b " * 9, "choices": ["b " * 30, "b", "\u200b"]},
    ]
    texts = iter(random_texts(1200, 14))
    for number in np.random.default_rng(6).integers(2, 6, 197):
        made.append({"context": next(texts), "choices": [next(texts) for _ in range(number)]})
    return made


def random_documents():
    """A query and a document each."""
    return random_texts(194, 12) + ODD, ODD + random_texts(194, 60)


def texts_and_features():
    texts = ODD[:1] + random_texts(12, 40)
    features = np.random.default_rng(3).normal([50, 0], [10, 0.1], (len(texts), 2))
    return {"text": texts, "features": features.astype("float32")}


def as_columns(x):
    """The inputs of `serving_default`, by name, of raw examples."""
    if isinstance(x, dict):
        return {name: np.asarray(values).tolist() for name, values in x.items()}
    if isinstance(x, tuple):
        return dict(zip(("query", "documents"), x, strict=True))
    if isinstance(x[0], str):
        return {"text": x}
    columns = {name: [one[name] for one in x] for name in x[0]}
    if "choices" in columns:
        most = max(map(len, columns["choices"]))
        columns["choices"] = [c + [""] * (most - len(c)) for c in columns["choices"]]
    return columns


# Name: class, its arguments, those of its preprocessor, examples.
TASKS = {
    "classes": ("BertClassifier", {"num_classes": 3}, {"label_names": CLASSES}, None),
    "score": ("BertClassifier", {"num_classes": 1}, {}, None),
    "windows": (
        "BertClassifier",
        {"num_classes": 3, "num_features": 2},
        {"label_names": CLASSES, "window_stride": 4},
        texts_and_features,
    ),
    "labels": (
        "BertClassifier",
        {"num_classes": 3, "num_features": 2},
        {"label_names": CLASSES, "multi_label": True, "threshold": 0.3, "truncation": "tail"},
        texts_and_features,
    ),
    "words": ("BertTokenClassifier", {"num_classes": 5}, {"label_names": TAGS}, None),
    "questions": ("BertSpanLabeler", {}, SPANS, random_questions),
    "questions without answers": ("BertSpanLabeler", {}, NULLS, random_questions),
    "choices": ("BertMultipleChoice", {}, {}, random_choices),
    "documents": ("BertReranker", {}, {}, random_documents),
    "vectors": ("BertEmbedder", {}, {}, None),
}


def make_task(name, scale=0.7):
    import keras_bert

    kind, own, settings, _ = TASKS[name]
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    reader = getattr(keras_bert, f"{kind}Preprocessor")(
        keras_bert.BertTokenizer(WORDS), sequence_length=16, **settings
    )
    task = getattr(keras_bert, kind)(backbone, preprocessor=reader, **own)
    generator = np.random.default_rng(5)  # a new model gives nearly the same scores to all
    scale = 0.3 if name == "score" else scale  # scores are logits, compared as closely as the rest
    for weight in task.weights:
        if weight.path.endswith(("kernel", "embeddings")):
            weight.assign(generator.normal(0, scale, weight.shape))
    if own.get("num_features"):
        task.adapt_features(texts_and_features()["features"])
    task.run_eagerly = True  # a graph takes longer to trace than a few batches take
    return task


class Served:
    """A task and its SavedModel, made when they are asked for."""

    def __init__(self, name, folder):
        self.name, self._folder = name, folder

    @cached_property
    def task(self):
        return make_task(self.name)

    @cached_property
    def folder(self):
        self.task.export(self._folder)
        return self._folder / "1"

    @cached_property
    def signatures(self):
        import tensorflow as tf

        self._loaded = tf.saved_model.load(str(self.folder))  # which holds the variables
        return self._loaded.signatures

    @property
    def examples(self):
        make = TASKS[self.name][3]
        return ODD + random_texts(194, 60) if make is None else make()

    @property
    def columns(self):
        return as_columns(self.examples)

    @cached_property
    def answers(self):
        """The task's answers to the examples."""
        return self.task.answer(self.examples, batch_size=128)  # few eager batches

    def ask(self, columns, signature="serving_default"):
        """Asks the SavedModel; its answers as lists."""
        import tensorflow as tf

        columns = {name: tf.constant(values) for name, values in columns.items()}
        found = self.signatures[signature](**columns)
        return {name: plain(values.numpy()) for name, values in found.items()}


def plain(values):
    if isinstance(values, (list, np.ndarray)):
        return [plain(value) for value in values]
    if isinstance(values, bytes):
        return values.decode()
    return values.item() if isinstance(values, np.generic) else values


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
            wanted = [plain(answer[name]) for answer in answers]
            found = [without_padding(*pair) for pair in zip(column, wanted, strict=True)]
            if any(isinstance(value, float) for value in keras.tree.flatten(wanted)):
                assert_close(found, wanted, size=10.0, name=name)  # logits of up to 10
            else:
                assert repr(found) == repr(wanted)  # 1 is not True

    return check


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A function of the name of a task that gives its `Served`."""
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    folder, made = tmp_path_factory.mktemp("served"), {}

    def give(name):
        return made.setdefault(name, Served(name, folder / name.replace(" ", "_")))

    return give


@pytest.fixture(scope="session")
def new_task():
    """A function of the name of a task, and of a scale of its weights, that makes it."""
    return make_task
