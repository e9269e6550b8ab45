import json
import shutil

import h5py
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor, BertEmbedder
from keras_bert.files.whole import temporary_name

FILES = ["README.md", "checksums.json", "config.json", "model.weights.h5"]
FILES += ["preprocessor.json", "vocab.txt"]


@pytest.fixture
def backbone(make_backbone, randomized):
    return randomized(make_backbone())


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
def folder(tmp_path):
    return tmp_path / "presets" / "bert"


@pytest.fixture
def saved(preset, folder):
    """A classifier's folder, which a test may damage."""
    return shutil.copytree(preset, folder)


def assert_refused(source, message):
    with pytest.raises(ValueError, match=message):
        BertClassifier.from_preset(source)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_preset_gives_the_saved_model(classifier, inputs, saved, folder, difference):
    assert names(folder) == FILES and names(folder.parent) == ["bert"]
    loaded = BertClassifier.from_preset(folder)
    assert type(loaded) is BertClassifier and not loaded.compiled
    assert difference(classifier(inputs), loaded(inputs)) == 0.0
    frozen = BertClassifier.from_preset(folder, trainable=False)
    for model in (frozen, BertClassifier.from_config(frozen.get_config())):
        assert not any(variable.trainable for variable in model.weights)
    frozen.save_to_preset(folder)
    loaded = BertClassifier.from_preset(folder)
    assert loaded.get_config() == classifier.get_config()
    assert loaded.preprocessor.get_config() == classifier.preprocessor.get_config()
    assert difference(*(m(m.preprocessor(["a b", "zz"])) for m in (classifier, loaded))) == 0.0


def test_another_number_of_classes_starts_a_new_head(classifier, saved, difference, inputs, caplog):
    wider = BertClassifier.from_preset(saved, num_classes=3)
    assert (
        "no weights for logits/kernel [16, 3], but [16, 2], logits/bias [3], but [2]" in caplog.text
    )
    assert wider.preprocessor.label_names == ["0", "1", "2"]
    assert difference(classifier.backbone(inputs), wider.backbone(inputs)) == 0.0
    again = BertClassifier.from_preset(saved, num_classes=2, dropout=0.0)
    assert again.preprocessor.label_names == ["no", "yes"] and again.dropout == 0.0
    assert difference(again(inputs), classifier(inputs)) == 0.0


def test_a_task_of_a_model_of_shorter_sequences_says_so(saved, caplog):
    assert BertEmbedder.from_preset(saved).preprocessor.sequence_length == 12
    assert "sequences of 12 tokens" in caplog.text and "up to 16, to read more" in caplog.text
    caplog.clear()
    BertEmbedder.from_preset(saved, sequence_length=12)
    BertClassifier.from_preset(saved)
    assert "sequences of" not in caplog.text


def test_names_of_trained_classes_in_another_order_are_told(saved, caplog):
    renamed = BertClassifier.from_preset(saved, label_names=["bad", "good"])
    assert renamed.preprocessor.label_names == ["bad", "good"] and not caplog.text
    BertClassifier.from_preset(saved, label_names=["yes", "no"])
    assert "trained with label_names=['no', 'yes']; in the order ['yes', 'no']" in caplog.text


def test_the_shape_may_be_taken_without_the_weights(classifier, saved):
    for cls in (BertClassifier, BertBackbone):
        model = cls.from_preset(saved, load_weights=False)
        backbone = getattr(model, "backbone", model)
        configs = [part.get_config() for part in (backbone, classifier.backbone)]
        assert {**configs[0], "name": 0} == {**configs[1], "name": 0}
        tables = [part.token_embedding.get_weights()[0] for part in (backbone, classifier.backbone)]
        assert not np.array_equal(*tables)
        assert not model.load_report.matched and len(model.load_report.new) == len(model.weights)
        if cls is BertClassifier:
            assert model.preprocessor.label_names == ["no", "yes"]


def test_a_preprocessor_may_be_replaced(preprocessor, saved):
    loaded = BertClassifier.from_preset(saved, preprocessor=preprocessor)  # of text alone
    assert loaded.preprocessor.tokenizer is preprocessor.tokenizer
    assert loaded.preprocessor.label_names == ["no", "yes"]


def test_the_optimizer_stays_out_of_the_file(backbone, folder):
    model = BertClassifier(backbone, 2)
    model.save_to_preset(folder)
    before = (folder / "model.weights.h5").stat().st_size
    model.compile(**model.default_compile_args())
    model.optimizer.build(model.trainable_variables)  # as the first step of fit does
    assert len(model.optimizer.variables) > len(model.trainable_variables)
    model.save_to_preset(folder)
    assert (folder / "model.weights.h5").stat().st_size == before
    assert model.optimizer is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_other_arguments_of_a_quantized_preset(saved, inputs, folder, difference):
    classifier = BertClassifier.from_preset(saved)
    classifier.quantize("int8")
    classifier.save_to_preset(folder)
    assert difference(classifier(inputs), BertClassifier.from_preset(folder)(inputs)) == 0.0
    same = BertClassifier.from_preset(folder, dropout=0.3)
    assert difference(classifier(inputs), same(inputs)) == 0.0
    backbone = BertBackbone.from_preset(folder, dropout=0.3)
    assert difference(classifier.backbone(inputs), backbone(inputs)) == 0.0
    wider = BertClassifier.from_preset(folder, num_classes=3)
    assert difference(classifier.backbone(inputs), wider.backbone(inputs)) == 0.0
    assert wider.load_report.new == {"logits/kernel": (16, 3), "logits/bias": (3,)}
    assert wider.head.quantization_mode is None and wider.head.trainable_weights


@pytest.mark.parametrize("name", FILES[1:])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    message = f"not a complete preset: {name} is missing"
    if name == "config.json":  # then nothing says that it is a preset
        message = "holds no BERT in a supported format: neither config.json .*vocab.txt"
    assert_refused(saved, message)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"format": 1, ', "config.json is not JSON"),
        ("[1, 2]", "must hold a JSON object; it holds a list"),
        ('{"model_type": "bert"}', "holds no weights, none of model.safetensors"),
        ('{"format": 3, "class": "BertClassifier"}', "config.json: format must be one of 4; g"),
        ('{"format": 4, "class": 3}', "config.json: class must be a string; got 3"),
        ('{"format": 4, "class": "keras_bert>BertClassifier"}', "names the class '', which isn't"),
        ('{"format": 4, "class": "Mine", "config": {}}', "class 'Mine', which isn't defined"),
        (
            '{"format": 4, "class": "keras_bert>BertBackbone", "config": {"layers": 2}}',
            "doesn't describe a BertBackbone.*layers",
        ),
    ],
)
def test_a_config_of_no_preset_is_reported(tmp_path, config, message):
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "checksums.json").write_text("{}")
    h5py.File(tmp_path / "model.weights.h5", "w").close()
    assert_refused(tmp_path, message)


def test_weights_of_another_size_are_refused(saved, make_backbone, tmp_path):
    BertClassifier(make_backbone(hidden_dim=8), 2).save_to_preset(tmp_path / "other")
    (tmp_path / "other" / "model.weights.h5").replace(saved / "model.weights.h5")
    (saved / "checksums.json").write_text("{}")
    assert_refused(saved, "model.weights.h5 doesn't hold the weights that .*config")


@pytest.mark.parametrize("name", FILES[2:])
def test_a_file_that_was_changed_is_refused_unless_its_checksum_is_removed(saved, name):
    path, sums = saved / name, json.loads((saved / "checksums.json").read_text())
    assert sums.keys() == {*FILES[2:]}
    data = path.read_bytes()
    if name != "config.json":  # without which it is no preset
        path.write_bytes(b"")
        assert_refused(saved, f"{path} is damaged")
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert_refused(saved, f"{path} is damaged" if name != "config.json" else "is not JSON")
    path.write_bytes(data.replace(b"0.1", b"0.2").replace(b"\na\nb\n", b"\nb\na\n") + b"\n")
    advice = f"remove its name from {saved}/checksums.json"
    assert_refused(saved, f"{path} is damaged, or was changed.*{advice}")
    path.write_bytes(path.read_bytes()[:-1])
    del sums[name]
    (saved / "checksums.json").write_text(json.dumps(sums))
    loaded = BertClassifier.from_preset(saved)
    if name == "config.json":
        assert loaded.dropout == 0.2
    if name == "vocab.txt":
        assert loaded.preprocessor.tokenizer.get_vocabulary()[5:7] == ["b", "a"]


def test_line_endings_that_git_changed_are_no_damage(saved):
    for path in (saved / "config.json", saved / "preprocessor.json", saved / "vocab.txt"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert BertClassifier.from_preset(saved).preprocessor.label_names == ["no", "yes"]


def test_weights_that_the_model_does_not_take_are_told(saved):
    path = saved / "config.json"
    path.write_text(path.read_text().replace('"num_segments": 2', '"num_segments": 0'))
    (saved / "checksums.json").write_text("{}")
    assert_refused(saved, r"doesn't hold the weights .*config.json describes: [\d,]+ numbers were")


def test_damaged_weights_are_never_opened(saved, monkeypatch):
    path = saved / "model.weights.h5"
    data = path.read_bytes()
    path.write_bytes(data[:20000] + data[20000:20200] + data[20000:])
    monkeypatch.setattr(h5py, "File", None)
    assert_refused(saved, "model.weights.h5 is damaged, or was changed")


def test_a_preset_whose_writer_was_killed_while_replacing_it_loads(backbone, folder):
    backbone.save_to_preset(folder)
    folder.rename(temporary_name(folder, "old"))
    assert BertBackbone.from_preset(folder).num_layers == 1
    assert names(folder.parent) == ["bert"]


def test_what_holds_no_preset_says_what_to_load(saved, tmp_path):
    saved.rename(tmp_path / "best")
    assert_refused(tmp_path, "Found: .'best', 'presets'.. Did you mean '.*best'")
    (tmp_path / "model.keras").write_bytes(b"PK")
    assert_refused(tmp_path / "model.keras", "model.keras is a file.*saving.load_model")
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
