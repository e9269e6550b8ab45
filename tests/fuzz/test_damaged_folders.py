"""Damaged folders load, or raise a ValueError that names them."""

import json
import random
import shutil
import warnings

import keras
import numpy as np
import pytest
from hypothesis import given, settings

import keras_bert
from keras_bert.presets.formats.tensor_files import safe_num_bytes
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.presets.read_source import read_source
from tests.fuzz.conftest import EXAMPLES
from tests.fuzz.drawn import damaged_bytes, damaged_json, seeds
from tests.presets.formats import conftest as formats

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a b c d e f g h ##a ##b".split()
SIZES = {
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 12,
    "max_sequence_length": 16,
}


def write_google(folder):
    """Writes a checkpoint as Google's code does, with the weights of its golden file."""
    golden = formats.read_golden()
    folder.mkdir()
    formats.save_as_tf1(golden["weight"], folder / formats.PREFIX)
    (folder / "bert_config.json").write_text(json.dumps(golden["config"]))
    (folder / "vocab.txt").write_text("\n".join(formats.WORDS))


def use(folder, whole=True):
    """Loads a folder as its own task and calls it; if not `whole`, only reads all its files."""
    if not whole:
        source = read_source(folder)
        if isinstance(source, PresetFolder):
            assert source.backbone_class and source.settings
            safe_num_bytes(source.path / "model.weights.h5")
        return
    model = keras_bert.BertTask.from_preset(folder)
    ids = {"token_ids": np.array([[2, 5, 3, 0]], "int32")}
    if "mask_positions" in model.input:
        ids["mask_positions"] = np.array([[1]], "int32")
    model(ids)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tensorflow, keras_hub):
    """Small valid folders in every format that is read."""
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    root = tmp_path_factory.mktemp("folders")
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(len(WORDS), **SIZES)
    reader = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), 16)
    named = keras_bert.BertClassifierPreprocessor.like(reader, label_names=["no", "yes"])
    classifier = keras_bert.BertClassifier(backbone, 2, named)
    classifier.save_to_preset(root / "own")
    keras_bert.BertPretrainer(backbone, preprocessor=reader).save_to_preset(root / "own_pretrainer")
    (root / "own_pretrainer" / "checksums.json").write_text("{}")  # so that damage is read
    keras_bert.BertEmbedder(backbone, preprocessor=reader).save_to_hugging_face(root / "sentences")
    classifier.save_to_hugging_face(root / "hf")
    shutil.copytree(root / "hf", root / "hf_fast")
    (root / "hf_fast" / "vocab.txt").unlink()  # as newer versions of transformers do
    write_google(root / "google")
    theirs = keras_hub.models.BertBackbone(len(WORDS), **SIZES)
    theirs = keras_hub.models.BertTextClassifier(theirs, num_classes=2, preprocessor=None)
    theirs.save_to_preset(str(root / "keras_hub"))
    for folder in root.iterdir():
        use(folder)
    return sorted(root.iterdir())


def damage(folder, chance):
    """Damages a file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    if chance.random() < 0.75:
        path = chance.choice([path for path in files if path.suffix == ".json"])
    try:
        if path.suffix == ".json" and chance.random() < 0.9:
            path.write_text(damaged_json(json.loads(path.read_text()), chance))
        elif chance.random() < 0.2:
            path.unlink()
        else:
            path.write_bytes(damaged_bytes(path.read_bytes(), chance))
    except (ValueError, RecursionError):  # of a file that was damaged before
        path.write_bytes(b"")


@pytest.mark.slow
@settings(max_examples=max(EXAMPLES, 60))
@given(seed=seeds)
def test_damaged_folders_raise_value_errors(folders, tmp_path_factory, seed):
    chance = random.Random(seed)
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(chance.choice(folders), folder)
    for _ in range(chance.choice((1, 1, 1, 2))):
        damage(folder, chance)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(folder, whole=chance.random() < 0.3)
    except ValueError as error:
        assert str(folder) in str(error)
