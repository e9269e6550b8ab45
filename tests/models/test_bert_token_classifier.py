"""Tags of words, entities of texts."""

import keras
import numpy as np
import pytest

from keras_bert import BertTokenClassifier, BertTokenClassifierPreprocessor
from keras_bert.metrics import entity_scores

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]


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


def test_a_sentence_of_as_many_words_as_classes_is_no_one_hot_label(model):
    model.fit([["a", "b", "c", "d", "e"]], [["O", "O", "B-X", "I-X", "O"]], verbose=0)
    assert int(model.optimizer.iterations) == 1


def test_context_changes_what_is_answered_of_a_sentence(model, eager, varied):
    varied(model)
    sentences = [["a", "b"], ["c"], ["d", "e"]]
    apart = model.answer({"words": sentences, "documents": [0, 1, 2]})
    assert tags_of(apart) == tags_of(model.answer(sentences))
    [together] = tags_of(model.answer([["a", "b", "c", "d", "e"]]))
    x = {"words": sentences, "documents": [0, 0, 0]}
    joined = tags_of(model.answer(x))
    assert sum(joined, []) == together
    tags = [["O", "O"], ["B-X"], ["O", "B-Y"]]
    assert model.scores(x, tags) == entity_scores(tags, joined)
    alone, among = (model.evaluate(given, tags, verbose=0) for given in (sentences, x))
    assert abs(alone[0] - among[0]) > 1e-3
    last = {"words": sentences[1:], "documents": [0, 0]}
    expected = model.evaluate(last, tags[1:], verbose=0)
    eager(model, optimizer=keras.optimizers.SGD(0.0))
    found = model.fit(x, tags, validation_split=0.4, verbose=0).history["val_loss"]
    assert found == [pytest.approx(expected[0], rel=1e-5)]


def test_labels_outside_the_classes_are_refused(bare, inputs, tagged):
    labels, weights = tagged
    for wrong in (np.where(weights > 0, labels, -100), labels + 1):
        with pytest.raises(ValueError, match="Labels must be in 0 to 4.*sample_weight of 0"):
            bare.fit(inputs, wrong, sample_weight=weights)


def test_datasets_of_pairs_are_refused(model, tf, refused):
    refused("must yield a text", model.answer, tf.data.Dataset.from_tensor_slices((["a"], ["b"])))
