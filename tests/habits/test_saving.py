"""Saving, loading and copying models as users write them."""

import copy
import io
import json
import pickle

import keras
import numpy as np
import pytest

from keras_bert import BertClassifier, BertTask
from tests.habits.conftest import EAGERLY, PLAIN

SGD = keras.optimizers.SGD


@pytest.fixture
def alike(assert_close, texts, compiled):
    """A function that asserts that a model has the predictions of the preset's."""

    def check(model):
        expected = compiled.predict(texts, verbose=0)
        assert_close(model.predict(texts, verbose=0), expected)
        assert model.answer(texts[0])["label"] == compiled.answer(texts[0])["label"]

    return check


def by_preset(model, folder):
    model.save_to_preset(folder)
    return BertTask.from_preset(str(folder))


def by_weights(model, folder):
    model.save_weights(folder / "model.weights.h5")
    other = BertClassifier.from_config(model.get_config())
    other.load_weights(folder / "model.weights.h5")
    return other


def by_json(model, folder):
    other = keras.models.model_from_json(model.to_json())
    other.set_weights(model.get_weights())
    return other


COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "preset": by_preset,
    "weights": by_weights,
    "JSON": by_json,
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_answers_alike(way, compiled, tmp_path, alike):
    alike(COPIES[way](compiled, tmp_path))


def test_a_saved_model_trains_on_with_its_moments(model, texts, labels, tmp_path, same_weights):
    model.compile(SGD(0.1, momentum=0.9), run_eagerly=EAGERLY)
    model.fit(texts, labels, **PLAIN)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert int(loaded.optimizer.iterations) == 2
    for each in (model, loaded):
        each.fit(texts, labels, **PLAIN)
    same_weights(loaded, model)


def test_a_model_that_was_never_compiled(model, tmp_path, alike):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not loaded.compiled
    alike(loaded)


def my_loss(y_true, y_pred):
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)


def test_clone_model(sgd_model, texts, labels, plain, same_weights):
    clone = keras.models.clone_model(sgd_model)  # a keras.Model, of prepared inputs
    clone.set_weights(sgd_model.get_weights())
    clone.fit(sgd_model.preprocessor(texts), np.array(labels), **PLAIN)
    same_weights(clone, plain()[1])


@pytest.mark.slow
def test_a_deepcopy_trains_alone(sgd_model, texts, labels, plain, same_weights, preset):
    other = copy.deepcopy(sgd_model)
    other.fit(texts, labels, **PLAIN)
    same_weights(other, plain()[1])
    same_weights(sgd_model, BertClassifier.from_preset(preset))


def test_pickles_of_tokenizer_and_preprocessor(compiled, texts):
    preprocessor = pickle.loads(pickle.dumps(compiled.preprocessor))
    tokenizer = copy.deepcopy(compiled.preprocessor.tokenizer)
    expected = compiled.preprocessor(texts)["token_ids"]
    np.testing.assert_array_equal(preprocessor(texts)["token_ids"], expected)
    assert tokenizer.vocabulary_size() == 30


def test_a_custom_loss_must_be_given(model, compiled, texts, labels, tmp_path, assert_close):
    path = tmp_path / "model.keras"
    model.compile(SGD(0.1), loss=my_loss)
    model.save(path)
    with pytest.raises((TypeError, ValueError), match="my_loss"):
        keras.models.load_model(path)
    assert not keras.models.load_model(path, compile=False).compiled
    loaded = keras.models.load_model(path, custom_objects={"my_loss": my_loss})
    expected, _ = compiled.evaluate(texts, labels, verbose=0)
    assert_close(loaded.evaluate(texts, labels, verbose=0), expected)


class MyClassifier(BertClassifier):
    """A user's own class, which isn't registered."""


def test_a_subclass_keeps_the_head_of_a_preset(preset, alike):
    alike(MyClassifier.from_preset(preset))


def test_other_labels_for_a_preset(preset, compiled, caplog):
    model = BertClassifier.from_preset(preset, label_names=["a", "b", "c"])
    assert model.num_classes == 3
    assert "logits/kernel" in caplog.text  # is new


def test_a_keras_file_given_to_from_preset(compiled, tmp_path):
    compiled.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="load_model"):
        BertClassifier.from_preset(tmp_path / "model.keras")


def test_a_folder_of_hugging_face(compiled, tmp_path, alike):
    compiled.save_to_hugging_face(tmp_path / "theirs")
    loaded = BertClassifier.from_preset(tmp_path / "theirs", sequence_length=8)
    alike(loaded)


@pytest.mark.slow
def test_the_state_dict_of_torch(model, preset, alike):
    torch = pytest.importorskip("torch", reason="pip install torch")
    if keras.backend.backend() != "torch":
        pytest.skip("a module of torch")
    file = io.BytesIO()
    assert any(name.endswith("logits/kernel") for name in model.state_dict())
    torch.save(model.state_dict(), file)
    other = BertClassifier.from_preset(preset)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    file.seek(0)
    other.load_state_dict(torch.load(file))
    alike(other)


def test_export_in_the_format_of_the_suffix(compiled, tmp_path):
    if keras.backend.backend() == "tensorflow":
        with pytest.raises(ValueError, match="onnx"):
            compiled.export(tmp_path / "model.onnx")
    else:
        with pytest.raises(ValueError, match="onnx|TensorFlow"):
            compiled.export(tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_an_unknown_format_of_export(compiled, tmp_path):
    with pytest.raises(ValueError, match="litert"):
        compiled.export(tmp_path / "model", format="tflite")


def test_lora_in_a_saved_model(model, texts, labels, tmp_path, assert_close):
    model.enable_lora(2)
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    model.fit(texts, labels, **PLAIN)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded.predict(texts, verbose=0), model.predict(texts, verbose=0))


def test_a_keras_model_around_the_backbone_is_saved(compiled, tmp_path, texts, assert_close):
    backbone = compiled.backbone
    outputs = keras.layers.Dense(3)(backbone.output["pooled_output"])
    model = keras.Model(backbone.input, outputs)
    model.save(tmp_path / "model.keras")
    inputs = compiled.preprocessor(texts)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert_close(loaded(inputs), model(inputs))


@pytest.mark.slow
def test_loading_in_a_new_process(compiled, texts, tmp_path, run_python):
    compiled.save(tmp_path / "model.keras")
    program = (
        "import sys, json, keras, keras_bert; "
        "model = keras.models.load_model(sys.argv[1]); "
        "print(json.dumps([a['label'] for a in model.answer(json.loads(sys.argv[2]))]))"
    )
    said = run_python("-c", program, tmp_path / "model.keras", json.dumps(texts))
    labels = [answer["label"] for answer in compiled.answer(texts)]
    assert json.loads(said.strip().splitlines()[-1]) == labels
