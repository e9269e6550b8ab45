"""Saving, loading and copying models as users write them."""

import copy
import io
import json
import pickle

import joblib
import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertTask
from tests.habits.conftest import PLAIN

SGD = keras.optimizers.SGD
EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps


@pytest.fixture
def alike(assert_close, texts, compiled):
    """A function that asserts that a model has the predictions of the preset's."""

    def check(model):
        expected = compiled.predict(texts, verbose=0)
        assert_close(model.predict(texts, verbose=0), expected)
        assert model.answer(texts[0])["label"] == compiled.answer(texts[0])["label"]

    return check


@pytest.mark.slow
def test_save_and_load_model(compiled, tmp_path, alike):
    compiled.save(tmp_path / "model.keras")
    alike(keras.models.load_model(tmp_path / "model.keras"))


def test_save_model_and_load_model_by_str(compiled, tmp_path, alike):
    keras.saving.save_model(compiled, str(tmp_path / "model.keras"), overwrite=True)
    alike(keras.saving.load_model(str(tmp_path / "model.keras"), compile=False))


@pytest.mark.slow
def test_loading_with_custom_objects(compiled, tmp_path, alike):
    compiled.save(tmp_path / "model.keras")
    classes = {"BertClassifier": BertClassifier}
    alike(keras.models.load_model(tmp_path / "model.keras", custom_objects=classes))


def test_saving_goes_on_with_the_optimizer(sgd_model, texts, labels, tmp_path, plain, same_weights):
    sgd_model.fit(texts, labels, **PLAIN)
    sgd_model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert int(loaded.optimizer.iterations) == 2
    loaded.fit(texts, labels, **PLAIN)
    same_weights(loaded, plain(2)[1])


@pytest.mark.slow
def test_the_moments_of_an_optimizer_are_saved(
    model, preset, texts, labels, tmp_path, same_weights
):
    model.compile(SGD(0.1, momentum=0.9))
    model.fit(texts, labels, **PLAIN)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    model.fit(texts, labels, **PLAIN)
    loaded.fit(texts, labels, **PLAIN)
    same_weights(loaded, model)


def test_a_model_that_was_never_compiled(model, tmp_path, alike):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not loaded.compiled
    alike(loaded)


def my_loss(y_true, y_pred):
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)


@pytest.mark.slow
def test_a_custom_loss_in_a_saved_model(model, texts, labels, tmp_path, plain, trained_as):
    model.compile(SGD(0.1), loss=my_loss)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras", custom_objects={"my_loss": my_loss})
    trained_as(loaded, loaded.fit(texts, labels, **PLAIN), plain())


@pytest.mark.slow
def test_a_custom_loss_that_is_not_given(model, tmp_path, alike):
    model.compile(SGD(0.1), loss=my_loss)
    model.save(tmp_path / "model.keras")
    with pytest.raises((TypeError, ValueError), match="my_loss"):
        keras.models.load_model(tmp_path / "model.keras")
    alike(keras.models.load_model(tmp_path / "model.keras", compile=False))


@pytest.mark.slow
def test_weights_in_a_file(compiled, make_encoder, tmp_path, alike):
    compiled.save_weights(tmp_path / "model.weights.h5")
    other = BertClassifier(make_encoder(), preprocessor=compiled.preprocessor, dropout=0.0)
    other.load_weights(tmp_path / "model.weights.h5")
    alike(other)


def test_weights_in_a_file_of_another_name(compiled, tmp_path):
    with pytest.raises(ValueError, match=r"\.weights\.h5"):
        compiled.save_weights(tmp_path / "model.ckpt")


def test_weights_of_a_backbone(compiled, make_encoder, tmp_path, texts, assert_close):
    compiled.backbone.save_weights(tmp_path / "encoder.weights.h5")
    backbone = BertBackbone(30, **sizes_of(compiled.backbone))
    backbone.load_weights(tmp_path / "encoder.weights.h5")
    inputs = compiled.preprocessor(texts)
    assert_close(backbone(inputs)["pooled_output"], compiled.backbone(inputs)["pooled_output"])


def sizes_of(backbone):
    names = ("num_layers", "num_heads", "hidden_dim", "intermediate_dim", "max_sequence_length")
    return {"dropout": 0.0, **{name: getattr(backbone, name) for name in names}}


def test_get_weights_and_set_weights(compiled, make_encoder, alike):
    other = BertClassifier(make_encoder(), preprocessor=compiled.preprocessor, dropout=0.0)
    other.set_weights(compiled.get_weights())
    alike(other)


def test_the_old_format_with_custom_objects(compiled, tmp_path, alike):
    compiled.save(tmp_path / "model.h5")
    classes = {"BertClassifier": BertClassifier, "BertBackbone": BertBackbone}
    loaded = keras.models.load_model(tmp_path / "model.h5", custom_objects=classes)
    alike(loaded)


def test_saving_without_a_format(compiled, tmp_path):
    with pytest.raises(ValueError, match=r"\.keras"):
        compiled.save(tmp_path / "model")


def test_saving_to_a_missing_folder(compiled, tmp_path):
    with pytest.raises(OSError, match="missing"):
        compiled.save(tmp_path / "missing" / "model.keras")


def test_get_config_and_from_config(compiled, alike):
    other = BertClassifier.from_config(compiled.get_config())
    other.set_weights(compiled.get_weights())
    alike(other)


def test_the_config_as_json(compiled, alike):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(compiled)))
    other = keras.saving.deserialize_keras_object(config)
    other.set_weights(compiled.get_weights())
    alike(other)


def test_to_json(compiled, alike):
    other = keras.models.model_from_json(compiled.to_json())
    other.set_weights(compiled.get_weights())
    alike(other)


def test_clone_model(sgd_model, texts, labels, plain, same_weights):
    clone = keras.models.clone_model(sgd_model)  # a keras.Model, of prepared inputs
    clone.set_weights(sgd_model.get_weights())
    clone.fit(sgd_model.preprocessor(texts), np.array(labels), **PLAIN)
    same_weights(clone, plain()[1])


def test_clone_model_before_compile(model, compiled, texts, assert_close):
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    assert_close(clone(model.preprocessor(texts)), compiled.predict(texts, verbose=0))


def test_clone_of_a_backbone(compiled, texts, assert_close):
    other = keras.models.clone_model(compiled.backbone)
    other.set_weights(compiled.backbone.get_weights())
    inputs = compiled.preprocessor(texts)
    assert_close(other(inputs)["pooled_output"], compiled.backbone(inputs)["pooled_output"])


@pytest.mark.slow
def test_pickle(compiled, alike):
    alike(pickle.loads(pickle.dumps(compiled)))


@pytest.mark.slow
def test_pickle_of_a_trained_model(sgd_model, texts, labels, plain, same_weights):
    sgd_model.fit(texts, labels, **PLAIN)
    loaded = pickle.loads(pickle.dumps(sgd_model))
    loaded.fit(texts, labels, **PLAIN)
    same_weights(loaded, plain(2)[1])


@pytest.mark.slow
def test_joblib(compiled, tmp_path, alike):
    joblib.dump(compiled, tmp_path / "model.joblib")
    alike(joblib.load(tmp_path / "model.joblib"))


@pytest.mark.slow
def test_deepcopy(compiled, alike):
    alike(copy.deepcopy(compiled))


@pytest.mark.slow
def test_a_deepcopy_trains_alone(sgd_model, texts, labels, plain, same_weights, preset):
    other = copy.deepcopy(sgd_model)
    other.fit(texts, labels, **PLAIN)
    same_weights(other, plain()[1])
    same_weights(sgd_model, BertClassifier.from_preset(preset))


def test_deepcopy_before_compile(model, alike):
    alike(copy.deepcopy(model))


def test_pickles_of_tokenizer_and_preprocessor(compiled, texts):
    preprocessor = pickle.loads(pickle.dumps(compiled.preprocessor))
    tokenizer = copy.deepcopy(compiled.preprocessor.tokenizer)
    expected = compiled.preprocessor(texts)["token_ids"]
    np.testing.assert_array_equal(preprocessor(texts)["token_ids"], expected)
    assert tokenizer.vocabulary_size() == 30


@pytest.mark.slow
def test_presets(compiled, tmp_path, alike):
    compiled.save_to_preset(tmp_path / "preset")
    alike(BertClassifier.from_preset(tmp_path / "preset"))
    alike(BertTask.from_preset(str(tmp_path / "preset")))


def test_a_preset_over_another(compiled, tmp_path, alike):
    for _ in range(2):
        compiled.save_to_preset(tmp_path)
    alike(BertClassifier.from_preset(tmp_path))


def test_an_encoder_from_a_preset(preset, compiled, texts, assert_close):
    backbone = BertBackbone.from_preset(preset)
    inputs = compiled.preprocessor(texts)
    assert_close(backbone(inputs)["pooled_output"], compiled.backbone(inputs)["pooled_output"])


@pytest.mark.slow
def test_a_trained_preset_trains_on(sgd_model, texts, labels, tmp_path, plain, same_weights):
    sgd_model.fit(texts, labels, **PLAIN)
    sgd_model.save_to_preset(tmp_path)
    loaded = BertClassifier.from_preset(tmp_path)
    loaded.compile(SGD(0.1))
    loaded.fit(texts, labels, **PLAIN)
    same_weights(loaded, plain(2)[1])


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


def test_names_of_other_libraries(compiled, preset):
    with pytest.raises(AttributeError, match="save_to_preset|save_to_hugging_face"):
        compiled.save_pretrained("folder")
    with pytest.raises(AttributeError, match="from_preset"):
        BertClassifier.from_pretrained(preset)
    with pytest.raises(AttributeError, match="answer"):
        compiled.predict_proba(["a"])


def test_no_preset(model):
    with pytest.raises((TypeError, ValueError), match="path"):
        BertClassifier.from_preset(None)


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


@pytest.mark.slow
def test_int8_in_a_saved_model(model, texts, tmp_path, assert_close):
    model.quantize("int8")
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
