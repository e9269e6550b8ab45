"""Logits of choices."""

import numpy as np

from keras_bert import BertMultipleChoice


def test_a_choice_of_padding_alone_changes_nothing(
    backbone, randomized, untraced, inputs, assert_close
):
    model = untraced(randomized(BertMultipleChoice(backbone)))
    choices = {name: values.reshape(2, 4, 12) for name, values in inputs.items()}
    more = {name: np.pad(values, ((0, 0), (1, 2), (0, 3))) for name, values in choices.items()}
    logits = model.predict(more)
    assert_close(logits[:, 1:5], model.predict(choices))
    assert (logits[:, [0, 5, 6]] == -1e9).all()
