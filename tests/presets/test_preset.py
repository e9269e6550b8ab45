import shutil

import h5py
import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
)
from keras_bert.files.whole import temporary_name

FILES = "README.md checksums.json config.json model.weights.h5 preprocessor.json vocab.txt".split()


@pytest.fixture(scope="module")
def classifier(make_backbone, randomized, letters):
    reader = BertClassifierPreprocessor(letters, 12, label_names=["no", "yes"])
    return BertClassifier(randomized(make_backbone()), 2, reader, name="mine")


@pytest.fixture(scope="module")
def preset(classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("preset")
    classifier.save_to_preset(folder)
    return folder


@pytest.fixture
def saved(preset, tmp_path):
    """A classifier's folder, which a test may damage."""
    return shutil.copytree(preset, tmp_path / "presets" / "bert")


def assert_refused(source, message):
    with pytest.raises(ValueError, match=message):
        BertClassifier.from_preset(source)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def changed(folder, old, new, name="config.json"):
    """Changes a file of a preset, and removes the checksums."""
    path = folder / name
    written = path.read_text()
    assert old in written
    path.write_text(written.replace(old, new))
    (folder / "checksums.json").write_text("{}")


def test_a_loaded_model_trains_unless_it_is_told_not_to(classifier, saved):
    assert names(saved) == FILES
    frozen = BertClassifier.from_preset(saved, trainable=False)
    for model in (frozen, BertClassifier.from_config(frozen.get_config())):
        assert not any(variable.trainable for variable in model.weights)
    frozen.save_to_preset(saved)
    loaded = BertClassifier.from_preset(saved)
    assert loaded.get_config() == classifier.get_config() and not loaded.compiled


def test_what_may_surprise_is_told(saved, caplog):
    BertClassifier.from_preset(saved, num_classes=3)
    assert "no weights for logits/kernel [16, 3], but [16, 2], logits/bias" in caplog.text
    assert BertEmbedder.from_preset(saved).preprocessor.sequence_length == 12
    assert "sequences of 12 tokens" in caplog.text and "up to 16, to read more" in caplog.text
    caplog.clear()
    BertEmbedder.from_preset(saved, sequence_length=12)
    renamed = BertClassifier.from_preset(saved, label_names=["bad", "good"])
    assert renamed.preprocessor.label_names == ["bad", "good"] and not caplog.text
    BertClassifier.from_preset(saved, label_names=["yes", "no"])
    assert "trained with label_names=['no', 'yes']; in the order ['yes', 'no']" in caplog.text


def test_the_shape_may_be_taken_without_the_weights(classifier, saved):
    for cls in (BertBackbone, BertClassifier):
        model = cls.from_preset(saved, load_weights=False)
        backbones = [model.backbone, classifier.backbone]
        config, expected = (backbone.get_config() for backbone in backbones)
        assert {**config, "name": 0} == {**expected, "name": 0}
        tables = [backbone.token_embedding.get_weights()[0] for backbone in backbones]
        assert not np.array_equal(*tables)
        assert not model.load_report.matched and len(model.load_report.new) == len(model.weights)
    assert model.preprocessor.label_names == ["no", "yes"]


def test_the_optimizer_stays_out_of_the_file(saved):
    weights = saved / "model.weights.h5"
    before = weights.stat().st_size
    model = BertClassifier.from_preset(saved)
    model.compile(**model.default_compile_args())
    model.optimizer.build(model.trainable_variables)  # as the first step of fit does
    assert len(model.optimizer.variables) > len(model.trainable_variables)
    model.save_to_preset(saved)
    assert weights.stat().st_size == before
    assert model.optimizer is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_other_arguments_of_a_quantized_preset(saved, inputs, difference):
    classifier = BertClassifier.from_preset(saved)
    classifier.quantize("int8")
    classifier.save_to_preset(saved)
    same = BertClassifier.from_preset(saved, dropout=0.3)
    assert difference(classifier(inputs), same(inputs)) == 0.0
    wider = BertClassifier.from_preset(saved, num_classes=3)
    assert wider.load_report.new == {"logits/kernel": (16, 3), "logits/bias": (3,)}
    assert wider.head.quantization_mode is None and wider.head.trainable_weights
    assert difference(classifier.backbone(inputs), wider.backbone(inputs)) == 0.0


def test_a_config_of_no_preset_is_reported(tmp_path):
    (tmp_path / "checksums.json").write_text("{}")
    h5py.File(tmp_path / "model.weights.h5", "w").close()
    for config, message in (
        (
            '{"format": 3, "class": "BertClassifier"}',
            "config.json: format must be one of 4; g",
        ),
        (
            '{"format": 4, "class": "keras_bert>BertClassifier"}',
            "names the class '', which isn't",
        ),
        (
            '{"format": 4, "class": "Mine", "config": {}}',
            "class 'Mine', which isn't defined",
        ),
        (
            '{"format": 4, "class": "keras_bert>BertBackbone", "config": {"layers": 2}}',
            "doesn't describe a BertBackbone.*layers",
        ),
    ):
        (tmp_path / "config.json").write_text(config)
        assert_refused(tmp_path, message)


def test_a_file_that_is_missing_or_changed_is_named(saved, monkeypatch):
    for name in FILES[1:]:
        path = (saved / name).rename(saved.parent / name)
        message = f"not a complete preset: {name} is missing"
        if name == "config.json":  # then nothing says that it is a preset
            message = "holds no BERT in a supported format: neither config.json .*vocab.txt"
        assert_refused(saved, message)
        path.rename(saved / name)
    monkeypatch.setattr(h5py, "File", None)  # damaged weights are never opened
    for name in FILES[2:]:
        path = saved / name
        data = path.read_bytes()
        contents = [data + b"\n"]
        if name != "config.json":  # without which it is no preset
            contents.append(data[:20] + bytes([data[20] ^ 1]) + data[21:])
        for content in contents:
            path.write_bytes(content)
            advice = f"remove its name from {saved}/checksums.json"
            assert_refused(saved, f"{path} is damaged, or was changed.*{advice}")
        ends = b"\n" if name == "model.weights.h5" else b"\r\n"  # as Git may write them
        path.write_bytes(data.replace(b"\n", ends))
    monkeypatch.undo()
    assert BertClassifier.from_preset(saved).dropout == 0.1
    changed(saved, '"dropout": 0.1', '"dropout": 0.2')
    assert BertClassifier.from_preset(saved).dropout == 0.2


def test_weights_that_the_model_does_not_take_are_told(saved, make_backbone, tmp_path):
    changed(saved, '"num_segments": 2', '"num_segments": 0')
    message = "model.weights.h5 doesn't hold the weights that .*config.json describes: "
    assert_refused(saved, message + r"[\d,]+ numbers were")
    BertClassifier(make_backbone(hidden_dim=8), 2).save_to_preset(tmp_path / "other")
    (tmp_path / "other" / "model.weights.h5").replace(saved / "model.weights.h5")
    assert_refused(saved, message)


def test_a_preset_whose_writer_was_killed_while_replacing_it_loads(saved):
    saved.rename(temporary_name(saved, "old"))
    assert BertBackbone.from_preset(saved).num_layers == 1
    assert names(saved.parent) == ["bert"]


def test_what_holds_no_preset_says_what_to_load(saved, tmp_path):
    saved.rename(tmp_path / "best")
    assert_refused(tmp_path, "Found: .'best', 'presets'.. Did you mean '.*best'")
    (saved.parent / "model.onnx").touch()
    assert_refused(saved.parent, "An exported model can't be loaded.*made from.$")


LOADS = """
import sys
import keras
import keras_bert
assert "keras_bert.preprocessing.bert_classifier_preprocessor" not in sys.modules
model = keras.saving.load_model(sys.argv[1])
print(type(model).__name__, type(model.preprocessor).__name__)
"""


@pytest.mark.slow
def test_a_new_process_loads_a_keras_file(classifier, run_python, tmp_path):
    classifier.save(tmp_path / "model.keras")
    said = run_python("-c", LOADS, tmp_path / "model.keras")
    assert said == "BertClassifier BertClassifierPreprocessor\n"
