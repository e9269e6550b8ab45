"""Small valid folders in every format that is read.

Properties of Hypothesis run a few fixed examples by default, and with `FUZZ_EXAMPLES`, as in
`make fuzz`, as many new ones.
"""

import json
import logging
import os

import hypothesis
import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.presets.formats.tensor_files import safe_num_bytes
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.presets.read_source import read_source
from tests.presets.formats.conftest import PREFIX, VOCABULARIES, read_golden, save_as_tf1

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))
hypothesis.settings.register_profile(
    "fuzz",
    max_examples=EXAMPLES,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fuzz")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", "##a", "##b"]
SIZES = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}
SIZES |= {"max_sequence_length": 16}


@pytest.fixture(scope="module", autouse=True)
def quiet():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session")
def use_folder():
    """Loads a folder as its own task and calls it; if not `whole`, only reads all its files."""

    def use(folder, whole=True):
        if not whole:
            source = read_source(folder)
            if isinstance(source, PresetFolder):
                assert source.backbone_class and source.settings
                safe_num_bytes(source.path / "model.weights.h5")
            return None
        model = keras_bert.BertTask.from_preset(folder)
        ids = {"token_ids": np.array([[2, 5, 3, 0]], "int32")}
        if "mask_positions" in model.input:
            ids["mask_positions"] = np.array([[1]], "int32")
        model(ids)
        return model

    return use


def write_google(folder):
    """Writes a checkpoint as Google's code does, with the weights of its golden file."""
    golden = read_golden()
    folder.mkdir()
    save_as_tf1(golden["weight"], folder / PREFIX)
    (folder / "bert_config.json").write_text(json.dumps(golden["config"]))
    (folder / "vocab.txt").write_text("\n".join([*VOCABULARIES["uncased"], ""]))


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tensorflow, keras_hub):
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    root = tmp_path_factory.mktemp("folders")
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(len(WORDS), **SIZES)
    tokenizer = keras_bert.BertTokenizer(WORDS)

    def task(kind, label_names=None, **arguments):
        kind = getattr(keras_bert, f"Bert{kind}")
        names = {"label_names": label_names} if label_names else {}
        reader = kind.preprocessor_class()(tokenizer, 16, **names)
        return kind(backbone, preprocessor=reader, **arguments)

    classifier = task("Classifier", ["no", "yes"])
    classifier.save_to_preset(root / "own")
    task("Pretrainer").save_to_preset(root / "own_pretrainer")
    (root / "own_pretrainer" / "checksums.json").write_text("{}")  # so that damage is read
    classifier.save_to_hugging_face(root / "hf")
    task("TokenClassifier", ["O", "B-x", "I-x"]).save_to_hugging_face(root / "hf_fast")
    (root / "hf_fast" / "vocab.txt").unlink()  # as newer versions of transformers do
    task("Embedder", pooling="mean").save_to_hugging_face(root / "sentences")
    write_google(root / "google")
    theirs = keras_hub.models.BertBackbone(len(WORDS), **SIZES)
    theirs = keras_hub.models.BertTextClassifier(theirs, num_classes=2, preprocessor=None)
    theirs.save_to_preset(str(root / "keras_hub"))
    return sorted(root.iterdir())
