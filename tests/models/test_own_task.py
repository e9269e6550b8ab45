"""A sixth task, as a user would write it: two heads, their labels, their answers."""

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertTask
from keras_bert.scoring.scorer import Scorer

pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")

from keras_bert import BertClassifierPreprocessor, BertPreprocessor  # noqa: E402

TEXTS = ["a b", "c", "d e f", "a c", "b", "e"]
LABELS = {"topic": ["x", "y", "y", "x", "x", "y"], "mood": [1.0, -1, 0.5, 1, 0, -0.5]}


# The task begins.
@keras.saving.register_keras_serializable(package="tests")
class ReviewPreprocessor(BertPreprocessor):
    """Reads reviews with a topic and a mood."""

    def __init__(self, tokenizer, sequence_length=128, truncation="head", topics=("x", "y")):
        super().__init__(tokenizer, sequence_length, truncation)
        self.topics = list(topics)

    def targets(self, labels):
        return {
            "topic": np.array([self.topics.index(name) for name in labels["topic"]]),
            "mood": np.array(labels["mood"], "float32")[:, None],
        }

    def answers(self, outputs, rows=None):
        import tensorflow as tf

        topics = tf.gather(tf.constant(self.topics), tf.argmax(outputs["topic"], axis=-1))
        return {"topic": topics, "mood": outputs["mood"][:, 0]}

    def get_config(self):
        return {**super().get_config(), "topics": self.topics}


class ReviewScorer(Scorer):
    """Counts the right topics."""

    def score(self, answers, x, y=None):
        right = [a["topic"] == name for a, name in zip(answers, y["topic"], strict=True)]
        return {"accuracy": float(np.mean(right))}


@keras.saving.register_keras_serializable(package="tests")
class BertReviewer(BertTask):
    """The topic and the mood of a review."""

    scorer_class = ReviewScorer

    def __init__(self, backbone, num_topics, preprocessor=None, **kwargs):
        pooled = backbone(backbone.input)["pooled_output"]
        topic = keras.layers.Dense(num_topics, name="topic", dtype="float32")(pooled)
        mood = keras.layers.Dense(1, "tanh", name="mood", dtype="float32")(pooled)
        outputs = {"topic": topic, "mood": mood}
        super().__init__(dict(backbone.input), outputs, backbone, preprocessor, **kwargs)
        self.num_topics = num_topics

    @classmethod
    def preprocessor_class(cls):
        return ReviewPreprocessor

    def default_compile_args(self):
        topic = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return {"optimizer": "adam", "loss": {"topic": topic, "mood": "mse"}}

    def get_config(self):
        return {**super().get_config(), "num_topics": self.num_topics}


# The task ends.
@keras.saving.register_keras_serializable(package="tests")
class NamedPreprocessor(BertClassifierPreprocessor):
    """Answers with a greeting."""

    def __init__(self, tokenizer, greeting="", **kwargs):
        super().__init__(tokenizer, **kwargs)
        self.greeting = greeting

    @classmethod
    def arguments(cls):
        return ["greeting", *BertClassifierPreprocessor.arguments()]

    def answers(self, outputs, rows=None):
        found = super().answers(outputs, rows)
        return {**found, "label": self.greeting + found["label"]}

    def get_config(self):
        return {**super().get_config(), "greeting": self.greeting}


@keras.saving.register_keras_serializable(package="tests")
class NamedClassifier(BertClassifier):
    """A classifier with a temperature."""

    def __init__(self, backbone, num_classes, preprocessor=None, temperature=1.0, **kwargs):
        super().__init__(backbone, num_classes, preprocessor, **kwargs)
        self.temperature = temperature

    @classmethod
    def preprocessor_class(cls):
        return NamedPreprocessor

    def get_config(self):
        return {**super().get_config(), "temperature": self.temperature}


@pytest.fixture(scope="module")
def reviewer():
    """A `BertReviewer` that was trained."""
    from keras_bert import BertTokenizer

    keras.utils.set_random_seed(1)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    backbone = BertBackbone(
        11, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32, dropout=0.0
    )
    reader = BertPreprocessor(BertTokenizer(words), sequence_length=8)
    model = BertReviewer(backbone, 2, reader)
    model.compile(keras.optimizers.Adam(0.01), model.default_compile_args()["loss"])
    start = model.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)["loss"]
    data = {"validation_data": (TEXTS, LABELS), "validation_freq": 2}
    many = {name: labels * 75 for name, labels in LABELS.items()}  # steps cost less than epochs
    losses = model.fit(
        TEXTS * 75, many, batch_size=6, epochs=2, shuffle=False, verbose=0, **data
    ).history
    assert losses["val_loss"][-1] < 0.3 * start
    assert model.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)["loss"] < 0.3
    return model


def test_it_is_short():
    source = open(__file__).read().split("# The task begins.\n")[1].split("# The task ends.")[0]
    assert len(source.splitlines()) <= 60


def test_it_trains_answers_and_scores(reviewer):
    assert type(reviewer.preprocessor) is ReviewPreprocessor
    answers = reviewer.answer(TEXTS)
    assert [answer["topic"] for answer in answers] == LABELS["topic"]
    assert np.abs([answer["mood"] for answer in answers] - np.array(LABELS["mood"])).max() < 0.5
    assert reviewer.answer(TEXTS[0])["topic"] == "x"
    assert reviewer.scores(TEXTS, LABELS) == {"accuracy": 1.0}
    outputs = reviewer.predict(TEXTS, verbose=0)
    assert {name: part.shape for name, part in outputs.items()} == {
        "topic": (6, 2),
        "mood": (6, 1),
    }
    [(inputs, labels)] = reviewer.batches(TEXTS, LABELS)
    assert set(labels) == {"topic", "mood"} and len(inputs["token_ids"]) == 6


def test_a_share_of_the_texts_validates(reviewer):
    start = reviewer.get_weights()
    history = reviewer.fit(TEXTS, LABELS, validation_split=0.5, verbose=0).history
    assert "val_loss" in history
    reviewer.set_weights(start)
    with pytest.raises(ValueError, match="6 texts but 5"):
        reviewer.fit(TEXTS, {name: labels[:5] for name, labels in LABELS.items()})


def test_it_is_loaded_by_itself_and_by_the_base(reviewer, assert_close, tmp_path):
    expected = reviewer.predict(TEXTS, verbose=0)
    reviewer.save_to_preset(tmp_path / "preset")
    reviewer.save(tmp_path / "model.keras")
    for loaded in (
        BertReviewer.from_preset(tmp_path / "preset"),
        BertTask.from_preset(tmp_path / "preset"),
        keras.models.load_model(tmp_path / "model.keras"),
    ):
        assert type(loaded) is BertReviewer
        assert type(loaded.preprocessor) is ReviewPreprocessor
        assert loaded.preprocessor.get_config() == reviewer.preprocessor.get_config()
        assert_close(loaded.predict(TEXTS, verbose=0), expected)
    other = BertReviewer.from_preset(tmp_path / "preset", topics=["u", "v"], sequence_length=6)
    assert other.preprocessor.topics == ["u", "v"] and other.preprocessor.sequence_length == 6
    encoder = BertClassifier.from_preset(tmp_path / "preset", num_classes=2)
    assert type(encoder) is BertClassifier
    assert set(encoder.load_report.new) == {"logits/kernel", "logits/bias"}


def test_it_is_served(assert_close, tensorflow, reviewer, tmp_path):
    reviewer.export(tmp_path / "served")
    served = tensorflow.saved_model.load(str(tmp_path / "served" / "1"))
    found = served.signatures["serving_default"](tensorflow.constant(TEXTS))
    answers = reviewer.answer(TEXTS)
    assert set(found) == set(answers[0]) == {"topic", "mood"}
    assert [name.decode() for name in found["topic"].numpy()] == [a["topic"] for a in answers]
    assert_close(found["mood"], [a["mood"] for a in answers])


def test_a_subclass_of_a_classifier_comes_back(make_backbone, preprocessor, eager, tmp_path):
    reader = NamedPreprocessor(preprocessor.tokenizer, "Dear ", sequence_length=12)
    model = eager(NamedClassifier(make_backbone(num_layers=1), 2, reader, temperature=3.0))
    model.fit(TEXTS, [0, 1, 1, 0, 0, 1], verbose=0)
    expected = model.answer(TEXTS)
    assert {answer["label"] for answer in expected} <= {"Dear 0", "Dear 1"}
    model.save_to_preset(tmp_path)
    for cls in (NamedClassifier, BertClassifier, BertTask):
        loaded = cls.from_preset(tmp_path)
        assert type(loaded) is NamedClassifier and loaded.temperature == 3.0
        assert loaded.preprocessor.get_config() == model.preprocessor.get_config()
    loaded.run_eagerly = True
    assert loaded.answer(TEXTS[0])["label"] == expected[0]["label"]
    changed = BertTask.from_preset(tmp_path, temperature=2.0, greeting="Hi ", num_classes=3)
    assert (changed.temperature, changed.num_classes) == (2.0, 3)
    assert changed.preprocessor.greeting == "Hi "


def test_a_class_that_is_not_registered_is_refused(make_backbone, preprocessor, tmp_path):
    class Unregistered(BertClassifier):
        pass

    class UnregisteredReader(BertClassifierPreprocessor):
        pass

    backbone, tokenizer = make_backbone(num_layers=1), preprocessor.tokenizer
    for model, name in (
        (Unregistered(backbone, 2, preprocessor), "Unregistered"),
        (BertClassifier(backbone, 2, UnregisteredReader(tokenizer, 12)), "UnregisteredReader"),
    ):
        with pytest.raises(ValueError, match=f"{name} can't be saved.*register_keras_serializ"):
            model.save_to_preset(tmp_path / "preset")
        assert list(tmp_path.iterdir()) == []


def test_a_class_that_is_not_defined_is_named(reviewer, monkeypatch, tmp_path):
    reviewer.save_to_preset(tmp_path)
    registered = keras.saving.get_custom_objects()
    monkeypatch.delitem(registered, "tests>BertReviewer")
    with pytest.raises(ValueError, match="tests>BertReviewer"):
        BertTask.from_preset(tmp_path)
