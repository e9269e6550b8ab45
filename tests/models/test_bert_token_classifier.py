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
def model(backbone, named, eager):
    return eager(BertTokenClassifier(backbone, 5, named))


@pytest.fixture
def bare(backbone, eager):
    return eager(BertTokenClassifier(backbone, 5))


@pytest.fixture
def tagged(inputs):
    """Classes `[8, 12]` and weights for the prepared inputs: every other token has a weight."""
    weights = inputs["padding_mask"] * (np.arange(12) % 2)
    return inputs["token_ids"] % 5, weights.astype("float32")


def tags_of(answers):
    return [answer["label"] for answer in answers]


def test_loss_and_accuracy_are_means_over_what_has_a_weight(bare, randomized, inputs, tagged):
    labels, weights = tagged
    randomized(bare)
    found = bare.evaluate(inputs, labels, sample_weight=weights, verbose=0, return_dict=True)
    logits = bare.predict(inputs, verbose=0).astype("float64")
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_probabilities, labels[..., None], axis=-1)[..., 0]
    assert found["loss"] == pytest.approx((losses * weights).sum() / weights.sum(), rel=1e-4)
    right = (logits.argmax(-1) == labels) * weights
    assert found["accuracy"] == pytest.approx(right.sum() / weights.sum(), rel=1e-5)
    bare.compile("sgd", metrics=["accuracy"], run_eagerly=True)
    halves = bare.evaluate(inputs, labels, sample_weight=weights / 2, verbose=0, return_dict=True)
    assert halves == pytest.approx(found, rel=1e-5)


def test_a_sentence_of_as_many_words_as_classes_is_no_one_hot_label(model):
    model.fit([["a", "b", "c", "d", "e"]], [["O", "O", "B-X", "I-X", "O"]], verbose=0)
    assert int(model.optimizer.iterations) == 1


def test_sentences_of_other_documents_are_no_context(model, varied):
    varied(model)
    apart = model.answer({"words": SENTENCES, "documents": [0, 1, 2]})
    assert tags_of(apart) == tags_of(model.answer(SENTENCES))


def test_sentences_of_a_document_are_answered_as_one_text(model, varied):
    varied(model)
    [as_one] = tags_of(model.answer([["a", "b", "c", "d", "e"]]))
    answers = tags_of(model.answer(IN_ONE_DOCUMENT))
    assert [tag for tags in answers for tag in tags] == as_one
    assert model.scores(IN_ONE_DOCUMENT, TAGS) == entity_scores(TAGS, answers)


def test_context_changes_the_loss(model, varied):
    varied(model)
    loss_alone = model.evaluate(SENTENCES, TAGS, verbose=0)[0]
    loss_in_context = model.evaluate(IN_ONE_DOCUMENT, TAGS, verbose=0)[0]
    assert abs(loss_alone - loss_in_context) > 1e-3


def test_a_validation_split_keeps_the_documents(model, eager, varied):
    varied(model)
    held_out = {"words": SENTENCES[1:], "documents": [0, 0]}
    expected = model.evaluate(held_out, TAGS[1:], verbose=0)[0]
    eager(model, optimizer=keras.optimizers.SGD(0.0))  # keeps the weights
    history = model.fit(IN_ONE_DOCUMENT, TAGS, validation_split=0.4, verbose=0).history
    assert history["val_loss"] == [pytest.approx(expected, rel=1e-5)]


def test_labels_outside_the_classes_are_refused(bare, inputs, tagged):
    labels, weights = tagged
    for wrong in (np.where(weights > 0, labels, -100), labels + 1):
        with pytest.raises(ValueError, match="Labels must be in 0 to 4.*sample_weight of 0"):
            bare.fit(inputs, wrong, sample_weight=weights)
