"""Models of one's own on the backbone, and parts of a task's model."""

import keras
import numpy as np
import pytest

from tests.habits.conftest import LABELS, PLAIN, TEXTS

ENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.fixture
def fits_as_plain(compiled, plain, assert_close):
    """A function that asserts that a model's `fit` has the losses of the classifier's.

    It makes the model of a backbone's outputs and a dense layer with the weights of the head.
    """

    def check(make, backbone):
        head = keras.layers.Dense(2)
        head.build((None, 16))
        head.set_weights(compiled.head.get_weights())
        model = make(backbone, head)
        model.compile(keras.optimizers.SGD(0.1), loss=ENTROPY, metrics=["accuracy"])
        inputs = compiled.preprocessor(TEXTS)
        history = model.fit(inputs, np.array(LABELS), epochs=2, **PLAIN).history
        assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)

    return check


def functional(backbone, head):
    return keras.Model(backbone.input, head(backbone.output["pooled_output"]))


class Subclassed(keras.Model):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone = backbone
        self.head = head

    def call(self, inputs, training=False):
        return self.head(self.backbone(inputs, training=training)["pooled_output"])


@pytest.mark.parametrize("make", [functional, pytest.param(Subclassed, marks=pytest.mark.slow)])
def test_a_model_of_a_user_trains_as_the_task(make, model, fits_as_plain):
    fits_as_plain(make, model.backbone)


def test_time_distributed_over_sentences(compiled, assert_close):
    inputs = compiled.preprocessor(TEXTS)
    width = inputs["token_ids"].shape[1]
    ids = keras.Input((2, width), dtype="int32")
    flat = keras.ops.reshape(ids, (-1, width))
    mask = keras.ops.cast(flat != 0, "int32")
    pooled = compiled.backbone({"token_ids": flat, "padding_mask": mask})["pooled_output"]
    model = keras.Model(ids, keras.ops.reshape(pooled, (-1, 2, 16)))
    vectors = model(np.reshape(inputs["token_ids"], (4, 2, width)))
    expected = compiled.backbone(inputs)["pooled_output"]
    assert_close(keras.ops.reshape(vectors, (8, 16)), expected)


def test_a_submodel_by_the_output_of_a_layer(compiled, assert_close):
    inputs = compiled.preprocessor(TEXTS)
    inner = keras.Model(compiled.input, compiled.get_layer("output_dropout").output)
    assert_close(inner(inputs), compiled.backbone(inputs)["pooled_output"])
