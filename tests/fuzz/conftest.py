"""Small valid folders in every format that is read, and seeded damage to them."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.presets.formats.read_source import read_source
from keras_bert.presets.formats.weight_file import checked_num_bytes
from keras_bert.presets.preset_folder import saved_class, saved_settings

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##a", "##b"]
SIZES = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}


def write_folders(root: Path) -> list[Path]:
    """Writes one folder for each format and returns them."""
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(len(WORDS), max_sequence_length=16, **SIZES)
    tokenizer = keras_bert.BertTokenizer(WORDS)
    reader = keras_bert.BertClassifierPreprocessor(tokenizer, 16, label_names=["no", "yes"])
    classifier = keras_bert.BertClassifier(backbone, 2, reader)
    text = keras_bert.BertPreprocessor(tokenizer, 16)
    tagger = keras_bert.BertTokenClassifier(
        backbone,
        3,
        keras_bert.BertTokenClassifierPreprocessor(tokenizer, 16, label_names=["O", "B-x", "I-x"]),
    )
    tanh = keras_bert.BertBackbone(
        len(WORDS), max_sequence_length=16, activation="gelu_approximate", **SIZES
    )
    classifier.save_to_preset(root / "own")
    keras_bert.BertPretrainer(backbone, preprocessor=text).save_to_preset(root / "own_pretrainer")
    keras_bert.save_to_hugging_face(classifier, root / "hf")
    keras_bert.save_to_hugging_face(tagger, root / "hf_fast")
    _write_fast_tokenizer(root / "hf_fast")
    keras_bert.save_to_hugging_face(
        keras_bert.BertEmbedder(backbone, preprocessor=text, pooling="mean"), root / "sentences"
    )
    keras_bert.save_to_google(classifier, root / "google")
    keras_bert.save_to_keras_hub(keras_bert.BertClassifier(tanh, 2, reader), root / "keras_hub")
    return sorted(root.iterdir())


def _write_fast_tokenizer(folder):
    """Replaces `vocab.txt` by a `tokenizer.json` with added tokens."""
    (folder / "vocab.txt").unlink()
    fast = {
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
        "model": {
            "type": "WordPiece",
            "vocab": {word: index for index, word in enumerate(WORDS)},
            "max_input_chars_per_word": 100,
        },
    }
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config |= {"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": {"content": "[MASK]"}}
    config["added_tokens_decoder"] = {"1": {"content": "[UNK]"}}
    for name, content in (
        ("tokenizer.json", fast),
        ("tokenizer_config.json", config),
        ("special_tokens_map.json", {"unk_token": "[UNK]"}),
        ("added_tokens.json", {"[CLS]": 2}),
    ):
        (folder / name).write_text(json.dumps(content))


def use(folder: Path, whole: bool = True) -> keras_bert.BertTask | None:
    """Loads a folder as its own task and calls it; if not `whole`, only reads all its files."""
    if not whole:
        source = read_source(folder)
        if isinstance(source, Path):
            saved_class(source)
            saved_settings(source)
            checked_num_bytes(source / "model.weights.h5")
        return None
    model = keras_bert.BertTask.from_preset(folder)
    ids = {"token_ids": np.array([[2, 5, 3, 0]], "int32")}
    if "mask_positions" in model.input:
        ids["mask_positions"] = np.array([[1]], "int32")
    model(ids)
    return model


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tensorflow):
    """A valid folder of each format."""
    pytest.importorskip("tensorflow_text", reason="the folders have tokenizers")
    return write_folders(tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="session")
def use_folder():
    """The function that loads a folder."""
    return use
