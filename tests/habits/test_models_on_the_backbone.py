"""Models of one's own on the backbone, and layers that are frozen, adapted or read."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import BertClassifier
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


def test_a_functional_model_on_the_cls_token(backbone, head, compiled, inputs, assert_close):
    first = backbone.output["sequence_output"][:, 0, :]
    pooled = keras.layers.Dense(16, activation="tanh")
    model = keras.Model(backbone.inputs, head()(pooled(first)))
    pooled.set_weights(backbone.pooler.get_weights())
    assert_close(model(inputs), compiled(inputs))


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


def test_a_sequential_head_on_vectors(compiled, head, inputs, assert_close):
    vectors = compiled.backbone.predict(inputs, verbose=0)["pooled_output"]
    model = keras.Sequential([keras.Input((16,)), head()])
    assert_close(model.predict(vectors, verbose=0), compiled.predict(inputs, verbose=0))


def test_a_layer_around_the_backbone(backbone, head, compiled, inputs, assert_close):
    class Encode(keras.layers.Layer):
        def __init__(self, backbone):
            super().__init__()
            self.backbone = backbone

        def call(self, token_ids, padding_mask):
            inputs = {"token_ids": token_ids, "padding_mask": padding_mask}
            return self.backbone(inputs)["pooled_output"]

    ids = keras.Input((3,), dtype="int32", name="token_ids")
    mask = keras.Input((3,), dtype="int32", name="padding_mask")
    outputs = head()(Encode(backbone)(ids, mask))
    own = keras.Model({"token_ids": ids, "padding_mask": mask}, outputs)
    short = {name: inputs[name][:, :3] for name in ("token_ids", "padding_mask")}
    assert_close(own(short), compiled(short))


def test_two_outputs(backbone, inputs, labels):
    pooled = backbone.output["pooled_output"]
    outputs = {
        "label": keras.layers.Dense(2, name="label")(pooled),
        "score": keras.layers.Dense(1, name="score")(pooled),
    }
    model = keras.Model(backbone.input, outputs)
    losses = {"label": ENTROPY, "score": "mse"}
    model.compile(
        SGD(0.01), loss=losses, loss_weights={"label": 1.0, "score": 0.5}, run_eagerly=EAGERLY
    )
    y = {"label": np.array(labels), "score": np.arange(8.0)}
    history = model.fit(inputs, y, epochs=3, **PLAIN).history
    assert history["loss"][-1] < history["loss"][0]
    parts = np.array(history["label_loss"]) + 0.5 * np.array(history["score_loss"])
    assert parts == pytest.approx(history["loss"], rel=1e-4)


def test_two_towers_with_shared_weights(backbone, inputs, assert_close):
    first = {name: keras.Input((None,), dtype="int32", name=f"a_{name}") for name in inputs}
    second = {name: keras.Input((None,), dtype="int32", name=f"b_{name}") for name in inputs}
    vectors = [backbone(each)["pooled_output"] for each in (first, second)]
    similarity = keras.layers.Dot(axes=1, normalize=True)(vectors)
    model = keras.Model([first, second], similarity)
    other = {name: values[::-1] for name, values in inputs.items()}
    forward = keras.ops.convert_to_numpy(model([inputs, other]))
    assert_close(keras.ops.convert_to_numpy(model([other, inputs]))[::-1], forward[::-1])
    assert len(model.trainable_weights) == len(backbone.trainable_weights)


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


# Frozen and shared layers


def values(weights):
    return [keras.ops.convert_to_numpy(weight).copy() for weight in weights]


def are_equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_frozen_layers_stay_and_the_others_train(model, texts, labels, refused):
    backbone = model.backbone
    backbone.freeze(up_to=0)
    model.compile(SGD(0.1))
    table, block = values(backbone.embeddings.weights), values(backbone.blocks[0].weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(backbone.embeddings.weights), table)
    assert not are_equal(values(backbone.blocks[0].weights), block)
    backbone.trainable = False  # after compile
    encoder, head = values(backbone.weights), values(model.head.weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(backbone.weights), encoder)
    assert not are_equal(values(model.head.weights), head)
    backbone.trainable = True
    refused("Compile again, with a new optimizer", model.fit, texts, labels)
    model.trainable = False
    refused("nothing to train: set trainable = True", model.fit, texts, labels)


def test_an_encoder_that_two_tasks_share(backbone, tokenizer, texts, labels):
    reader = keras_bert.BertClassifierPreprocessor(tokenizer, 8, label_names=["no", "yes"])
    other = BertClassifier(backbone, preprocessor=reader, dropout=0.0)
    third = BertClassifier(backbone, preprocessor=reader, dropout=0.0)
    first = third.predict(texts, verbose=0)
    other.compile(SGD(0.1), run_eagerly=EAGERLY)
    other.fit(texts, labels, **PLAIN)
    assert not np.allclose(third.predict(texts, verbose=0), first)


def test_setting_a_weight_after_predict(compiled, preset, texts):
    model = BertClassifier.from_preset(preset)
    model.predict(texts, verbose=0)
    model.head.bias.assign([0.0, 100.0])
    assert {*model.predict(texts, verbose=0).argmax(axis=1).tolist()} == {1}
