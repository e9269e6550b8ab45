"""Models of one's own on the backbone, and parts of a task's model."""

import keras
import numpy as np
import pytest

from tests.habits.conftest import ENTROPY, LABELS, PLAIN, TEXTS


class Subclassed(keras.Model):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone = backbone
        self.head = head

    def call(self, inputs, training=False):
        return self.head(self.backbone(inputs, training=training)["pooled_output"])


@pytest.mark.slow
def test_a_model_of_a_user_trains_as_the_task(model, plain, trained_as):
    """A functional one is that of `plain`."""
    own = Subclassed(model.backbone, model.head)
    own.compile(keras.optimizers.SGD(0.1), ENTROPY)
    inputs = model.preprocessor(TEXTS)
    trained_as(model, own.fit(inputs, np.array(LABELS), **PLAIN), plain())


def test_a_submodel_by_the_output_of_a_layer(compiled, assert_close):
    inputs = compiled.preprocessor(TEXTS)
    inner = keras.Model(compiled.input, compiled.get_layer("output_dropout").output)
    assert_close(inner(inputs), compiled.backbone(inputs)["pooled_output"])
