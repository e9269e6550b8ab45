"""Questions with choices."""

import keras
import numpy as np
import pytest

from keras_bert import BertMultipleChoice

QUESTIONS = [
    {"context": "a b", "choices": ["c", "d e", "f g h"], "label": 1},
    {"context": "b", "choices": ["i j k l m n o p q r", "s"], "label": 0},
    {"context": "c d e f g h i j k", "choices": ["t", "", "u v", "w", "x"], "label": 4},
    {"context": "", "choices": [" ", "y"], "label": 1},
]


@pytest.fixture
def bare(backbone, randomized, eager):
    return eager(randomized(BertMultipleChoice(backbone)))


@pytest.fixture
def model(backbone, make_case, varied, eager):
    return eager(varied(make_case("choices", backbone)))


@pytest.fixture
def choices(inputs):
    """Prepared inputs, `[2, 4, 12]`."""
    return {name: values.reshape(2, 4, 12) for name, values in inputs.items()}


def test_a_choice_of_padding_alone_changes_nothing(bare, choices, assert_close):
    more = {name: np.pad(values, ((0, 0), (1, 2), (0, 3))) for name, values in choices.items()}
    logits = bare.predict(more, verbose=0)
    assert_close(logits[:, 1:5], bare.predict(choices, verbose=0))
    assert (logits[:, [0, 5, 6]] == -1e9).all()
    labels = np.array([3, 0])
    loss, accuracy = bare.evaluate(choices, labels, verbose=0)
    assert bare.evaluate(more, labels + 1, verbose=0) == pytest.approx([loss, accuracy], rel=1e-4)
    probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(logits[:, 1:5]))
    assert loss == pytest.approx(-np.log(probabilities[[0, 1], labels]).mean(), rel=1e-4)
    assert accuracy == (probabilities.argmax(-1) == labels).mean()


def test_labels_may_be_apart(model, refused):
    unlabeled = [{k: v for k, v in question.items() if k != "label"} for question in QUESTIONS]
    expected = model.evaluate(QUESTIONS, verbose=0)
    assert model.evaluate(unlabeled, [1, 0, 4, 1], verbose=0) == expected
    assert model.evaluate(QUESTIONS, [0, 0, 0, 0], verbose=0)[0] != expected[0]
    refused("question's choices.*got 5 at .2.", model.fit, QUESTIONS, [1, 0, 5, 1])
    wrong = ((inputs, labels + 1) for inputs, labels in model.batches(QUESTIONS))
    with pytest.raises(Exception, match="question's choices"):
        model.fit(wrong, verbose=0)
