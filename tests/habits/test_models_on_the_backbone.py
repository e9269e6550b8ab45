"""Models of one's own on the backbone, and layers that are frozen, adapted or read."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import BertClassifier, BertTask
from tests.habits.conftest import PLAIN

SGD = keras.optimizers.SGD
EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps
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

    def check(model):
        model.compile(SGD(0.1), loss=ENTROPY, metrics=["accuracy"])
        history = model.fit(inputs, np.array(labels), epochs=2, **PLAIN).history
        assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)

    return check


def test_a_functional_model_on_the_output(backbone, head, fits_as_plain):
    outputs = head()(backbone.output["pooled_output"])
    fits_as_plain(keras.Model(backbone.input, outputs))


@pytest.mark.slow
def test_a_functional_model_on_a_call(backbone, head, fits_as_plain):
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "segment_ids", "padding_mask")
    }
    fits_as_plain(keras.Model(inputs, head()(backbone(inputs)["pooled_output"])))


def test_a_functional_model_on_the_cls_token(backbone, head, compiled, inputs, assert_close):
    first = backbone.output["sequence_output"][:, 0, :]
    pooled = keras.layers.Dense(16, activation="tanh")
    model = keras.Model(backbone.inputs, head()(pooled(first)))
    pooled.set_weights(backbone.pooler.get_weights())
    assert_close(model(inputs), compiled(inputs))


@pytest.mark.slow
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

    fits_as_plain(MyModel(backbone, head()))


@pytest.mark.slow
def test_a_sequential_head(backbone, head, fits_as_plain):
    classify = keras.Sequential([keras.layers.Dropout(0.0), head()])
    fits_as_plain(keras.Model(backbone.input, classify(backbone.output["pooled_output"])))


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


@pytest.mark.slow
def test_a_task_on_the_output(model, backbone, head, texts, labels, plain, assert_close):
    task = BertTask(
        dict(backbone.input),
        head()(backbone.output["pooled_output"]),
        backbone,
        model.preprocessor,
    )
    task.compile(SGD(0.1), loss=ENTROPY)
    history = task.fit(texts, labels, epochs=2, **PLAIN).history
    assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)


@pytest.mark.slow
def test_a_model_on_a_dataset_of_batches(model, head, texts, labels, plain, assert_close):
    tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(4)
    dataset = dataset.map(lambda text, label: (model.preprocessor(text), label))
    own = keras.Model(model.backbone.input, head()(model.backbone.output["pooled_output"]))
    own.compile(SGD(0.1), loss=ENTROPY)
    history = own.fit(dataset, epochs=2, verbose=0).history
    assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)


@pytest.mark.slow
def test_numbers_next_to_the_text(backbone, inputs, labels):
    numbers = keras.Input((3,), name="numbers")
    joined = keras.layers.Concatenate()([backbone.output["pooled_output"], numbers])
    model = keras.Model({**backbone.input, "numbers": numbers}, keras.layers.Dense(2)(joined))
    model.compile(SGD(0.1), loss=ENTROPY, run_eagerly=EAGERLY)
    data = {**inputs, "numbers": np.ones((8, 3), "float32")}
    losses = model.fit(data, np.array(labels), epochs=3, **PLAIN).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.slow
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


def test_a_layer_of_tokens(backbone, inputs):
    tokens = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True))(
        backbone.output["sequence_output"]
    )
    model = keras.Model(backbone.input, keras.layers.Dense(5)(tokens))
    width = inputs["token_ids"].shape[1]
    assert tuple(model(inputs).shape) == (8, width, 5)


def test_hidden_states(backbone, inputs, assert_close):
    states = backbone.hidden_states(inputs)
    assert len(states) == 2
    assert_close(states[-1], backbone(inputs)["sequence_output"])


def test_a_submodel_by_the_output_of_a_layer(model, inputs, assert_close):
    inner = keras.Model(model.input, model.get_layer("output_dropout").output)
    assert_close(inner(inputs), model.backbone(inputs)["pooled_output"])


# Frozen, adapted and unfrozen layers


def values(weights):
    return [keras.ops.convert_to_numpy(weight).copy() for weight in weights]


def are_equal(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_frozen_backbone_by_trainable(model, texts, labels, compiled):
    model.backbone.trainable = False
    model.compile(SGD(0.1))
    before = values(model.backbone.weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(model.backbone.weights), before)
    assert not are_equal(values(model.head.weights), values(compiled.head.weights))
    assert len(model.trainable_weights) == 2


def test_freezing_after_compile(model, texts, labels):
    model.compile(SGD(0.1))
    model.fit(texts, labels, **PLAIN)
    model.backbone.trainable = False
    before = values(model.backbone.weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(model.backbone.weights), before)


@pytest.mark.slow
def test_frozen_layers_by_name(model, texts, labels):
    for layer in model.backbone.layers:
        layer.trainable = not layer.name.startswith(("embeddings", "block_0"))
    model.compile(SGD(0.1))
    frozen = model.backbone.get_layer("block_0")
    before = values(frozen.weights)
    pooler = values(model.backbone.pooler.weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(frozen.weights), before)
    assert not are_equal(values(model.backbone.pooler.weights), pooler)


def test_freezing_the_first_blocks(preset, texts, labels):
    model = BertClassifier.from_preset(preset)
    model.backbone.freeze(up_to=0)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    table = values(model.backbone.embeddings.weights)
    block = values(model.backbone.blocks[0].weights)
    model.fit(texts, labels, **PLAIN)
    assert are_equal(values(model.backbone.embeddings.weights), table)
    assert not are_equal(values(model.backbone.blocks[0].weights), block)


@pytest.mark.slow
def test_unfreezing_without_compile(model, texts, labels):
    model.backbone.trainable = False
    model.compile(SGD(0.1))
    model.fit(texts, labels, **PLAIN)
    model.backbone.trainable = True
    with pytest.raises(ValueError, match="Compile again, with a new optimizer"):
        model.fit(texts, labels, **PLAIN)


def test_nothing_to_train(model, texts, labels):
    model.trainable = False
    model.compile(SGD(0.1))
    with pytest.raises(ValueError, match=r"backbone\.unfreeze\(\).*trainable = True"):
        model.fit(texts, labels, **PLAIN)


def test_evaluating_a_frozen_model(model, compiled, texts, labels, assert_close):
    model.trainable = False
    model.compile(SGD(0.1))
    expected = compiled.evaluate(texts, labels, verbose=0)
    assert_close(np.array(model.evaluate(texts, labels, verbose=0)), np.array(expected))


def test_a_frozen_model_from_a_preset(preset):
    assert not BertClassifier.from_preset(preset, trainable=False).trainable_weights


@pytest.mark.slow
def test_lora(model, texts, labels, assert_close):
    model.enable_lora(rank=2)
    names = {weight.path.rpartition("/")[2] for weight in model.trainable_weights}
    assert names == {"lora_kernel_a", "lora_kernel_b", "kernel", "bias"}  # of the head
    model.compile(SGD(0.1))
    losses = model.fit(texts, labels, epochs=3, **PLAIN).history["loss"]
    assert losses[-1] < losses[0]
    before = model.predict(texts, verbose=0)
    model.merge_lora()
    assert_close(model.predict(texts, verbose=0), before, sums=64)


def test_lora_by_the_backbone_of_keras_hub(model, texts, labels):
    model.backbone.enable_lora(4)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    losses = model.fit(texts, labels, epochs=2, **PLAIN).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_int8(model, texts, compiled):
    model.quantize("int8")
    difference = model.predict(texts, verbose=0) - compiled.predict(texts, verbose=0)
    assert np.abs(difference).max() < 0.1 * np.abs(compiled.predict(texts, verbose=0)).max()


@pytest.mark.slow
def test_remat(model, texts, labels, plain, assert_close):
    model.backbone.remat = True
    model.compile(SGD(0.1))
    history = model.fit(texts, labels, epochs=2, **PLAIN).history
    assert_close(np.array(history["loss"]), np.array(plain(2)[0]), sums=64)


def test_another_head_for_the_encoder(preset, texts):
    model = BertClassifier.from_preset(preset, num_classes=4)
    assert model.predict(texts, verbose=0).shape == (8, 4)


@pytest.mark.slow
def test_an_encoder_that_two_tasks_share(backbone, tokenizer, texts, labels, plain, same_weights):
    reader = keras_bert.BertClassifierPreprocessor(tokenizer, 8, label_names=["no", "yes"])
    other = BertClassifier(backbone, preprocessor=reader, dropout=0.0)
    third = BertClassifier(backbone, preprocessor=reader, dropout=0.0)
    first = third.predict(texts, verbose=0)
    other.compile(SGD(0.1))
    other.fit(texts, labels, **PLAIN)
    assert not np.allclose(third.predict(texts, verbose=0), first)


# What people read of a model


def test_summary(model, capsys):
    model.summary(expand_nested=True)
    printed = capsys.readouterr().out
    assert "logits" in printed
    assert f"{model.count_params():,}" in printed


def test_count_params(model):
    assert model.count_params() == sum(int(np.prod(w.shape)) for w in model.weights) == 3330


def test_layers_and_their_names(model):
    names = [layer.name for layer in model.layers]
    assert {model.backbone.name, "output_dropout", "logits"} <= {*names}
    assert [layer.name for layer in model.backbone.blocks] == ["block_0"]
    assert model.get_layer("logits") is model.head


def test_inputs_and_outputs(model):
    assert {*model.input} == {"token_ids", "segment_ids", "padding_mask"}
    assert model.output_shape == (None, 2)
    assert len(model.inputs) == 3


def test_weights_by_path(model):
    paths = [weight.path for weight in model.weights]
    assert "block_0/attention/query_key_value/kernel" in paths
    assert len(paths) == len(set(paths))


def test_setting_a_weight(model, texts):
    model.head.bias.assign([100.0, 0.0])
    assert {answer["label"] for answer in model.answer(texts)} == {"no"}


def test_setting_a_weight_after_predict(compiled, preset, texts):
    model = BertClassifier.from_preset(preset)
    model.predict(texts, verbose=0)
    model.head.bias.assign([0.0, 100.0])
    assert {*model.predict(texts, verbose=0).argmax(axis=1).tolist()} == {1}


def test_attributes_of_transformers(model):
    for name in ("num_labels", "config", "encode"):
        with pytest.raises(AttributeError, match=name):
            getattr(model, name)
