"""Tags of words, entities of texts."""

import keras
import numpy as np
import pytest

from keras_bert import BertTokenClassifier, BertTokenClassifierPreprocessor
from keras_bert.metrics import entity_scores

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]
SENTENCES = [["a", "b"], ["c"], ["d", "e"]]
TAGS = [["O", "O"], ["B-X"], ["O", "B-Y"]]
IN_ONE_DOCUMENT = {"words": SENTENCES, "documents": [0, 0, 0]}


@pytest.fixture(scope="module")
def named(letters):
    return BertTokenClassifierPreprocessor(letters, sequence_length=12, label_names=NAMES)


@pytest.fixture
def model(backbone, named, eager, varied):
    """A classifier that no step changes."""
    model = varied(BertTokenClassifier(backbone, 5, named))
    return eager(model, optimizer=keras.optimizers.SGD(0.0))


def tags_of(answers):
    return [answer["label"] for answer in answers]


def test_labels_without_a_weight_count_nowhere_and_others_are_classes(model, inputs, refused):
    weights = np.float32(inputs["padding_mask"] * (np.arange(12) % 2))  # of every other token
    labels = inputs["token_ids"] % 5
    found = model.evaluate(inputs, labels, sample_weight=weights, return_dict=True)
    changed = np.where(weights > 0, labels, 0)
    model.compile("sgd", metrics=["accuracy"], run_eagerly=True)
    halves = model.evaluate(inputs, changed, sample_weight=weights / 2, return_dict=True)
    assert halves == pytest.approx(found, rel=1e-5)
    for wrong in (np.where(weights > 0, labels, -100), labels + 1):
        message = "Labels must be in 0 to 4.*sample_weight of 0"
        refused(message, model.fit, inputs, wrong, sample_weight=weights)
    refused("this BertTokenClassifier has none", model.fit, inputs, labels, class_weight={0: 2})


def test_a_sentence_of_as_many_words_as_classes_is_no_one_hot_label(model):
    model.fit([["a", "b", "c", "d", "e"]], [["O", "O", "B-X", "I-X", "O"]])
    assert int(model.optimizer.iterations) == 1


def test_sentences_of_a_document_are_answered_as_one_text(model):
    [as_one] = tags_of(model.answer([["a", "b", "c", "d", "e"]]))
    answers = tags_of(model.answer(IN_ONE_DOCUMENT))
    assert [tag for tags in answers for tag in tags] == as_one
    assert model.scores(IN_ONE_DOCUMENT, TAGS) == entity_scores(TAGS, answers)
    apart = tags_of(model.answer({"words": SENTENCES, "documents": [0, 1, 2]}))
    assert apart == tags_of(model.answer(SENTENCES)) != answers


def test_a_validation_split_keeps_the_documents(model):
    held_out = {"words": SENTENCES[1:], "documents": [0, 0]}
    losses = [model.evaluate(x, TAGS[1:])[0] for x in (held_out, SENTENCES[1:])]
    history = model.fit(IN_ONE_DOCUMENT, TAGS, validation_split=0.4).history
    assert history["val_loss"] == [pytest.approx(losses[0], rel=1e-5)]
    assert abs(losses[0] - losses[1]) > 1e-3  # the context counts
