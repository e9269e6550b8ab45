"""Models of one's own on the backbone, and weights that are set."""

import keras
import numpy as np
import pytest

from tests.habits.conftest import EAGERLY, PLAIN

SGD = keras.optimizers.SGD
ENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.fixture
def inputs(compiled, texts):
    return compiled.preprocessor(texts)


@pytest.fixture
def head(compiled):
    """A dense layer with the weights of the classifier's head."""

    def make():
        layer = keras.layers.Dense(2)
        layer.build((None, 16))
        layer.set_weights(compiled.head.get_weights())
        return layer

    return make


@pytest.fixture
def backbone(model):
    return model.backbone


@pytest.fixture
def fits_as_plain(inputs, labels, plain, assert_close):
    """A function that asserts that a model's `fit` has the losses of the classifier's."""

    def check(model, run_eagerly=False):
        model.compile(SGD(0.1), loss=ENTROPY, metrics=["accuracy"], run_eagerly=run_eagerly)
        history = model.fit(inputs, np.array(labels), epochs=2, **PLAIN).history
        assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)

    return check


def test_a_functional_model_on_the_output(backbone, head, fits_as_plain):
    outputs = head()(backbone.output["pooled_output"])
    fits_as_plain(keras.Model(backbone.input, outputs))


def test_a_subclassed_model(backbone, head, fits_as_plain):
    class MyModel(keras.Model):
        def __init__(self, backbone, head):
            super().__init__()
            self.backbone = backbone
            self.dropout = keras.layers.Dropout(0.0)
            self.head = head

        def call(self, inputs, training=False):
            pooled = self.backbone(inputs, training=training)["pooled_output"]
            return self.head(self.dropout(pooled, training=training))

    fits_as_plain(MyModel(backbone, head()), run_eagerly=EAGERLY)


def test_time_distributed_over_sentences(backbone, inputs, assert_close):
    ids = keras.Input((2, 8), dtype="int32")
    flat = keras.ops.reshape(ids, (-1, 8))
    pooled = backbone({"token_ids": flat, "padding_mask": keras.ops.cast(flat != 0, "int32")})
    model = keras.Model(ids, keras.ops.reshape(pooled["pooled_output"], (-1, 2, 16)))
    width = inputs["token_ids"].shape[1]
    tokens = np.pad(inputs["token_ids"], ((0, 0), (0, 8 - width)))
    vectors = keras.ops.convert_to_numpy(model(tokens.reshape(4, 2, 8))).reshape(8, 16)
    assert_close(vectors, backbone(inputs)["pooled_output"])


def test_a_submodel_by_the_output_of_a_layer(model, inputs, assert_close):
    inner = keras.Model(model.input, model.get_layer("output_dropout").output)
    assert_close(inner(inputs), model.backbone(inputs)["pooled_output"])
