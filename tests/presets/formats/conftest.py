"""Folders in the formats of other libraries, made by hand."""

import json
from functools import partial
from pathlib import Path

import keras
import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_bert import BertPretrainer
from tests.conftest import VOCABULARY

CONFIG = {
    "model_type": "bert",
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
}
HEADS = {  # those that no weight of a pretrainer has
    "cls.predictions.decoder.weight": (30, 8),
    "cls.predictions.decoder.bias": (30,),
    "classifier.weight": (3, 8),
    "classifier.bias": (3,),
}


@pytest.fixture(scope="session")
def words():
    return list(VOCABULARY)


@pytest.fixture(scope="session")
def tensors(backbone, their_names):
    """Random tensors of an encoder and of each head."""
    shapes = {**HEADS}
    for weight in BertPretrainer(backbone()).weights:
        names = their_names(weight.path)
        shape = (*weight.shape[:-1], weight.shape[-1] // len(names))
        shape = shape[::-1] if weight.path.endswith("/kernel") else shape
        shapes |= dict.fromkeys(names, shape)
    normal = np.random.default_rng(1).normal
    return {name: normal(0.1, 0.3, shape).astype("float32") for name, shape in shapes.items()}


@pytest.fixture
def heads(tensors):
    """Returns a function that selects tensors by their prefixes."""
    return lambda *begin: {n: tensor.copy() for n, tensor in tensors.items() if n.startswith(begin)}


@pytest.fixture
def encoder(heads):
    """Returns the encoder's tensors, as a model with any head saves them."""
    return heads("bert.")


@pytest.fixture
def folder(tmp_path):
    """Writes a Hugging Face folder from tensors, config changes and other files."""

    def write(tensors, config=(), files=(), name="theirs"):
        path = tmp_path / name
        path.mkdir()
        if tensors is not None:
            save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
        for file, content in {
            "config.json": {**CONFIG, **dict(config)},
            **dict(files),
        }.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (path / file).parent.mkdir(exist_ok=True)
            (path / file).write_bytes(text.encode("utf-8"))
        return path

    return write


@pytest.fixture
def their_classifier(encoder, heads, folder):
    """Writes a classifier's folder, with other files and a changed config."""
    tensors = {**encoder, **heads("classifier.")}

    settings = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": "no", "1": "maybe", "2": "yes"},
    }
    return lambda name="theirs", files=(), **config: folder(
        tensors, {**settings, **config}, files, name
    )


@pytest.fixture
def write_shards():
    """Writes tensors as two shards with an index, and returns the shards."""

    def write(tensors, path, save=save_file, stem="model", suffix="safetensors"):
        shards = [path / f"{stem}-0000{i}-of-00002.{suffix}" for i in (1, 2)]
        for index, shard in enumerate(shards):
            save({name: tensors[name] for name in sorted(tensors)[index::2]}, shard)
        files = {name: shards[index % 2].name for index, name in enumerate(sorted(tensors))}
        index = {"metadata": {"total_size": 1}, "weight_map": files}
        (path / f"{stem}.{suffix}.index.json").write_text(json.dumps(index))
        return shards

    return write


@pytest.fixture(scope="session")
def backbone(make_backbone):
    """Makes a `BertBackbone` of the encoder's sizes, with random weights."""
    return partial(make_backbone, num_layers=2, hidden_dim=8, intermediate_dim=12)


@pytest.fixture
def weights_of():
    """Returns `{path: array}` of a model's weights."""
    return lambda model: {w.path: keras.ops.convert_to_numpy(w) for w in model.weights}


@pytest.fixture
def same(weights_of):
    """Compares two models, or dicts of weights, bit for bit."""

    def compare(a, b):
        a, b = (part if isinstance(part, dict) else weights_of(part) for part in (a, b))
        return a.keys() == b.keys() and all(np.array_equal(a[path], b[path]) for path in a)

    return compare


@pytest.fixture
def as_ours(their_names, backbone):
    """Converts tensors under transformers' names to `{our path: our weight}`, of an encoder."""

    def convert(tensors, model=None):
        found = {}
        for path in [weight.path for weight in (model or backbone()).weights]:
            parts = [np.asarray(tensors[name]) for name in their_names(path)]
            parts = [part.T for part in parts] if path.endswith("/kernel") else parts
            found[path] = np.hstack(parts)
        return found

    return convert


# Google's code built and evaluated the model of this file.
GOLDEN = Path(__file__).parents[2] / "golden" / "google_tf1.npz"
PREFIX = "bert_model.ckpt"
WORDS = [*VOCABULARY, *(f"##{letter}" for letter in VOCABULARY[5:15])]


def read_golden():
    """Returns `config`, and dicts of arrays by name: `weight`, `input` and `output`."""
    parts = {"weight": {}, "input": {}, "output": {}}
    with np.load(GOLDEN) as file:
        for key in file:
            part, _, name = key.partition(":")
            if name:
                parts[part][name] = file[key]
        return {**parts, "config": json.loads(str(file["config"]))}


golden = pytest.fixture(scope="session")(read_golden)


@pytest.fixture
def google(tmp_path, golden):
    """Writes a folder as Google's scripts do, by default of the golden weights.

    Settings of None are left out.
    """

    def write(weights=None, config=(), name="theirs", prefix=PREFIX, slices=()):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        save_as_tf1(weights or golden["weight"], folder / prefix, slices)
        settings = {**golden["config"], **dict(config)}
        settings = {key: value for key, value in settings.items() if value is not None}
        (folder / "bert_config.json").write_text(json.dumps(settings))
        (folder / "vocab.txt").write_text("\n".join(WORDS))
        return folder

    return write


def save_as_tf1(weights, prefix, slices=()):
    """Saves variables by the op of TensorFlow 1's Saver; `slices` of larger ones by their names."""
    import tensorflow as tf

    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=[*weights],
        shape_and_slices=[dict(slices).get(name, "") for name in weights],
        tensors=[*weights.values()],
    )
