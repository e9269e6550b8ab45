"""Logits of choices, and their loss."""

import numpy as np
import pytest

from keras_bert import BertMultipleChoice


@pytest.fixture
def bare(backbone, randomized, eager):
    return eager(randomized(BertMultipleChoice(backbone)))


@pytest.fixture
def choices(inputs):
    """Prepared inputs, `[2, 4, 12]`."""
    return {name: values.reshape(2, 4, 12) for name, values in inputs.items()}


def test_a_choice_of_padding_alone_changes_nothing(bare, choices, assert_close):
    more = {name: np.pad(values, ((0, 0), (1, 2), (0, 3))) for name, values in choices.items()}
    logits = bare.predict(more)
    assert_close(logits[:, 1:5], bare.predict(choices))
    assert (logits[:, [0, 5, 6]] == -1e9).all()
    labels = np.array([3, 0])
    expected = bare.evaluate(choices, labels)
    assert bare.evaluate(more, labels + 1) == pytest.approx(expected, rel=1e-4)
