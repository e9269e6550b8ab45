"""Small valid folders in every format that is read; how long the fuzz tests run.

Properties of Hypothesis run a few fixed examples by default. With `FUZZ_MINUTES`, as in
`make fuzz`, each test gets an equal share of that time, and new examples from `FUZZ_SEED`.
"""

import itertools
import json
import logging
import os
import time

import keras
import numpy as np
import pytest

try:
    import hypothesis
except ModuleNotFoundError:  # the tests that need it skip themselves
    hypothesis = None

import keras_bert
from keras_bert.presets.formats.tensor_files import safe_num_bytes
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.presets.read_source import read_source
from tests.presets.formats.conftest import PREFIX, read_golden, save_as_tf1

MINUTES = float(os.environ.get("FUZZ_MINUTES", "0"))
EXAMPLES = 500 if MINUTES else 20
SEED = int(os.environ.get("FUZZ_SEED", "1"))

if hypothesis:
    hypothesis.settings.register_profile(
        "fuzz",
        max_examples=EXAMPLES,
        derandomize=not MINUTES,
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
    logger = logging.getLogger("keras_bert")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Repeats a property with other seeds until its share of `FUZZ_MINUTES` is over."""
    test = pyfuncitem.obj
    if not MINUTES or not getattr(test, "is_hypothesis_test", False):
        return None
    started, share = time.monotonic(), 60 * MINUTES / len(pyfuncitem.session.items)
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for seed in itertools.count(SEED * 10**6):
        hypothesis.seed(seed)(test)(**arguments)
        if time.monotonic() - started > share:
            print(f"{pyfuncitem.name}: seeds {SEED * 10**6} to {seed}, {EXAMPLES} examples each")
            return True


def _leave_to_fast_tokenizer(folder):
    """Removes vocab.txt, as newer versions of transformers do, and adds what older ones write."""
    (folder / "vocab.txt").unlink()
    path = folder / "tokenizer_config.json"
    config = {"mask_token": {"content": "[MASK]"}}
    config["added_tokens_decoder"] = {"1": {"content": "[UNK]"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    (folder / "added_tokens.json").write_text('{"[CLS]": 2}')


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
    letters = [chr(ord("a") + number) for number in range(golden["config"]["vocab_size"] - 5)]
    (folder / "vocab.txt").write_text("\n".join([*WORDS[:5], *letters]) + "\n")


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
    _leave_to_fast_tokenizer(root / "hf_fast")
    task("Embedder", pooling="mean").save_to_hugging_face(root / "sentences")
    write_google(root / "google")
    theirs = keras_hub.models.BertBackbone(len(WORDS), **SIZES)
    theirs = keras_hub.models.BertTextClassifier(theirs, num_classes=2, preprocessor=None)
    theirs.save_to_preset(str(root / "keras_hub"))
    return sorted(root.iterdir())
