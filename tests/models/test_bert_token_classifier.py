"""Tags of words, entities of texts."""

import keras
import numpy as np
import pytest

from keras_bert import BertTokenClassifier, BertTokenClassifierPreprocessor
from keras_bert.data.data_of import data_of
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


def test_labels_with_a_weight_are_classes(model, inputs, refused):
    weights = np.float32(inputs["padding_mask"] * (np.arange(12) % 2))  # of every other token
    labels = np.where(weights > 0, inputs["token_ids"] % 5, 0)
    for wrong in (labels + 1, np.where(weights > 0, labels, -100)):
        message = "Labels must be in 0 to 4.*sample_weight of 0"
        refused(message, model.fit, inputs, wrong, sample_weight=weights)


def test_a_sentence_of_as_many_words_as_classes_is_no_one_hot_label(model):
    model.fit([["a", "b", "c", "d", "e"]], [["O", "O", "B-X", "I-X", "O"]])
    assert int(model.optimizer.iterations) == 1


def test_sentences_of_a_document_are_answered_as_one_text_also_after_a_split(model):
    [as_one] = tags_of(model.answer([["a", "b", "c", "d", "e"]]))
    answers = tags_of(model.answer(IN_ONE_DOCUMENT))
    assert [tag for tags in answers for tag in tags] == as_one
    assert model.scores(IN_ONE_DOCUMENT, TAGS) == entity_scores(TAGS, answers)
    apart = tags_of(model.answer({"words": SENTENCES, "documents": [0, 1, 2]}))
    assert apart == tags_of(model.answer(SENTENCES)) != answers
    _, held_out = data_of(model, IN_ONE_DOCUMENT, TAGS).split(0.4)
    assert (held_out.x.words, held_out.x.documents.tolist()) == (SENTENCES[1:], [0, 0])
