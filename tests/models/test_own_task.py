"""A sixth task, as a user would write it: two heads, their labels, their answers."""

import keras
import numpy as np
import pytest

from keras_bert import BertPreprocessor, BertTask, FineTuning, finetune, testing
from keras_bert.scoring.scorer import Scorer

TEXTS = ["a b", "c", "d e f", "a c", "b", "e"]
LABELS = {"topic": ["x", "y", "y", "x", "x", "y"], "mood": [1.0, -1, 0.5, 1, 0, -0.5]}


@keras.saving.register_keras_serializable(package="tests")
class ReviewPreprocessor(BertPreprocessor):
    """Reads reviews with a topic, x or y, and a mood."""

    def targets(self, labels):
        return {
            "topic": np.array(["xy".index(name) for name in labels["topic"]]),
            "mood": np.array(labels["mood"], "float32")[:, None],
        }

    def answers(self, outputs, rows=None):
        import tensorflow as tf

        topics = tf.gather(tf.constant(["x", "y"]), tf.argmax(outputs["topic"], axis=-1))
        return {"topic": topics, "mood": outputs["mood"][:, 0]}


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

    @classmethod
    def preprocessor_class(cls):
        return ReviewPreprocessor

    def default_compile_args(self):
        topic = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return {"optimizer": "adam", "loss": {"topic": topic, "mood": "mse"}}


@pytest.fixture(scope="module")
def reviewer(make_backbone, letters, eager):
    reader = BertPreprocessor(letters, sequence_length=8)
    return eager(BertReviewer(make_backbone(dropout=0.0), 2, reader))


def test_it_answers_and_scores(reviewer, refused):
    assert type(reviewer.preprocessor) is ReviewPreprocessor
    topics = [answer["topic"] for answer in reviewer.answer(TEXTS)]
    logits = reviewer.predict(TEXTS)["topic"]
    assert topics == ["xy"[best] for best in logits.argmax(axis=1)]
    accuracy = np.mean(np.array(topics) == LABELS["topic"])
    assert reviewer.scores(TEXTS, LABELS) == {"accuracy": accuracy}
    few = {name: labels[:5] for name, labels in LABELS.items()}
    refused("6 examples but 5", reviewer.fit, TEXTS, few)


def test_it_keeps_the_contract_and_is_loaded_by_the_base(reviewer, tmp_path, refused):
    testing.run_task(reviewer, TEXTS, LABELS)
    reviewer.save_to_preset(tmp_path)
    assert type(BertTask.from_preset(tmp_path)) is BertReviewer
    message = "no names for the weights of a BertReviewer.*save_to_preset"
    refused(message, reviewer.save_to_hugging_face, tmp_path)


@pytest.mark.usefixtures("eager_compile")
def test_it_is_finetuned_by_a_score_that_is_named(reviewer, tmp_path, refused):
    data = (TEXTS, LABELS)
    refused("Pass select", finetune, reviewer, data, data, tmp_path)
    settings = FineTuning(1, select="accuracy")
    [scores] = finetune(reviewer, data, data, tmp_path, settings)
    assert reviewer.scores(TEXTS, LABELS) == scores


@pytest.mark.slow
def test_it_is_served(assert_close, tensorflow, reviewer, tmp_path):
    reviewer.export(tmp_path / "served")
    served = tensorflow.saved_model.load(str(tmp_path / "served" / "1"))
    found = served.signatures["serving_default"](tensorflow.constant(TEXTS))
    answers = reviewer.answer(TEXTS)
    assert set(found) == set(answers[0]) == {"topic", "mood"}
    assert [name.decode() for name in found["topic"].numpy()] == [a["topic"] for a in answers]
    assert_close(found["mood"], [a["mood"] for a in answers])
