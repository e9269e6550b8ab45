"""TF1 checkpoints as Google's code writes them.

`tests/golden/google_tf1.npz` holds a model that google-research/bert built and evaluated.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parents[3] / "golden" / "google_tf1.npz"
PREFIX = "bert_model.ckpt"
LETTERS = [chr(ord("a") + i) for i in range(26)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARIES = {
    "uncased": SPECIAL + LETTERS + [f"##{letter}" for letter in LETTERS[:9]],
    "cased": SPECIAL + LETTERS + [letter.upper() for letter in LETTERS[:9]],
}


@pytest.fixture(scope="session")
def golden():
    """Returns `config`, and dicts of arrays by name: `weight`, `input` and `output`."""
    parts = {"weight": {}, "input": {}, "output": {}}
    with np.load(GOLDEN) as file:
        for key in file:
            part, _, name = key.partition(":")
            if name:
                parts[part][name] = file[key]
        return {**parts, "config": json.loads(str(file["config"]))}


@pytest.fixture(scope="session")
def golden_checkpoint(golden, tmp_path_factory):
    """A folder with the golden weights, written by TensorFlow 1's own Saver."""
    folder = tmp_path_factory.mktemp("golden")
    save_as_tf1(golden["weight"], folder / PREFIX)
    return folder


@pytest.fixture
def google(tmp_path, golden, golden_checkpoint):
    """Writes a folder as Google's scripts do, with variables written by TensorFlow 1's own Saver.

    `vocabulary` is the name of one of `VOCABULARIES`, or None.
    """

    def write(weights=None, config=(), vocabulary="uncased", name="theirs", prefix=PREFIX):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        if weights is not None:
            save_as_tf1(weights, folder / prefix)
            (folder / "checkpoint").unlink()  # published folders don't have it
        else:
            for file in golden_checkpoint.glob(f"{PREFIX}.*"):
                shutil.copy(file, folder / file.name.replace(PREFIX, prefix))
        (folder / "bert_config.json").write_text(json.dumps({**golden["config"], **dict(config)}))
        if vocabulary is not None:
            words = "".join(f"{token}\n" for token in VOCABULARIES[vocabulary])
            (folder / "vocab.txt").write_text(words)
        return folder

    return write


def save_as_tf1(weights, prefix):
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [
            tf.compat.v1.get_variable(name, initializer=array) for name, array in weights.items()
        ]
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(variables).save(session, str(prefix), write_meta_graph=False)


@pytest.fixture
def with_head(golden):
    """Adds a head with random variables of these shapes to the golden encoder's variables."""

    def variables(shapes):
        encoder = {name: w for name, w in golden["weight"].items() if name.startswith("bert/")}
        generator = np.random.default_rng(5)
        head = {name: generator.normal(0, 0.2, s).astype("float32") for name, s in shapes.items()}
        return {**encoder, **head}

    return variables
