"""Fixtures that several rooms' tests share."""

import contextlib
import functools
import gc
import itertools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more wait for each other, 70 times as long

import keras
import numpy as np
import pytest

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [chr(ord("a") + i) for i in range(25)]
THEIR_BLOCK = {  # {our layer: layers of transformers}
    "attention/query_key_value": [f"attention.self.{part}" for part in ("query", "key", "value")],
    "attention/output_dense": ["attention.output.dense"],
    "attention_norm": ["attention.output.LayerNorm"],
    "intermediate_dense": ["intermediate.dense"],
    "output_dense": ["output.dense"],
    "output_norm": ["output.LayerNorm"],
}
THEIR_LAYERS = {
    "embeddings/token_embedding": ["bert.embeddings.word_embeddings"],
    "embeddings/segment_embedding": ["bert.embeddings.token_type_embeddings"],
    "embeddings/position_embedding": ["bert.embeddings.position_embeddings"],
    "embeddings/norm": ["bert.embeddings.LayerNorm"],
    "pooler": ["bert.pooler.dense"],
    "masked_lm/transform/dense": ["cls.predictions.transform.dense"],
    "masked_lm/transform/norm": ["cls.predictions.transform.LayerNorm"],
    "masked_lm": ["cls.predictions"],
    "next_sentence": ["cls.seq_relationship"],
}
THEIR_KINDS = {
    "kernel": "weight",
    "gamma": "weight",
    "beta": "bias",
    "embeddings": "weight",
}
LONGEST = ("test_pairs", "test_backends", "test_replicas", "test_jax_loop")
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_report_header():
    return f"Keras computes with {keras.backend.backend()}"


def pytest_collection_modifyitems(items):
    """Starts the longest tests first, so that no worker waits for one at the end.

    What is too long for each change is slow, too.
    """
    items.sort(key=lambda item: item.path.stem not in LONGEST)
    for item in items:
        if item.get_closest_marker("weekly"):
            item.add_marker("slow")


def pytest_collection_finish():
    """Exempts all modules from garbage collection, which Keras starts for each quantized layer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # tracing makes many objects, few of which are garbage


MODULES = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def no_collection_of_what_is_left():
    """Exempts what earlier modules left, such as traced graphs, from garbage collection.

    After every fifth module it is collected, or a process would grow to several GB.
    """
    if next(MODULES) % 5 == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeded():
    """Starts every test from the same seed."""
    keras.utils.set_random_seed(1)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real data that lies beside the project in CI, not in a clone of it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data not found at ../shared/data (looked in {SHARED_DATA})")
    return SHARED_DATA


@pytest.fixture(scope="session")
def curves():
    """A function that reads the curves of a run as TensorBoard does: `{name: {step: value}}`."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat import tf
    from tensorboard.util.tensor_util import make_ndarray

    def read(output):
        found = {}
        for part in tf.io.gfile.listdir(f"{output}/logs"):  # train, and perhaps validation
            events = EventAccumulator(f"{output}/logs/{part}", {"tensors": 0}).Reload()  # all
            for name in events.Tags()["tensors"]:
                points = sorted(events.Tensors(name), key=lambda point: point.wall_time)
                values = {point.step: make_ndarray(point.tensor_proto).item() for point in points}
                found[f"{part.strip('/')}/{name}"] = values
        return found

    return read


@pytest.fixture
def write(tmp_path):
    """A function that writes a file of text or bytes and returns its path."""

    def write(content, name="a.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def file_limit():
    """A block in which files are limited to a size: a write then fails as it does at a quota."""
    import resource

    @contextlib.contextmanager
    def limited(num_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        logging.disable()  # pytest's own files are limited, too
        resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            logging.disable(logging.NOTSET)
            signal.signal(signal.SIGXFSZ, handler)

    return limited


@pytest.fixture(scope="session")
def tensorflow():
    """TensorFlow, for tests of what runs on that backend alone (`tests/test_backends.py`)."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip(f"needs the TensorFlow backend; this is {keras.backend.backend()}")
    import tensorflow

    return tensorflow


@pytest.fixture
def eagerly():
    """Runs functions of TensorFlow without tracing them, which takes longer than a few steps."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow

    tensorflow.config.run_functions_eagerly(True)
    yield
    tensorflow.config.run_functions_eagerly(False)
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason='pip install ".[parity]"')


@pytest.fixture(scope="session")
def transformers(torch):
    return pytest.importorskip("transformers", reason='pip install ".[parity]"')


@pytest.fixture(scope="session")
def keras_hub():
    why = "keras-hub is not installed, or not made for this Keras"
    return pytest.importorskip("keras_hub", reason=why, exc_type=ImportError)


@pytest.fixture(scope="session")
def run_python():
    """What Python prints for some arguments, in a process of its own; it ends without an error."""

    def run(*arguments, cwd=None, **environment):
        command = [sys.executable, *map(str, arguments)]
        environment = {**os.environ, **environment}
        options = {"text": True, "timeout": 2400, "cwd": cwd, "env": environment}
        done = subprocess.run(command, capture_output=True, **options)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        return done.stdout

    return run


@pytest.fixture(scope="session")
def run_together():
    """What processes print that run Python with an environment each; all end without an error."""

    def run(command, environment):
        command = [sys.executable, *map(str, command)]
        options = {
            "stderr": subprocess.STDOUT,
            "text": True,
            "env": {**os.environ, **environment},
        }
        try:
            return subprocess.check_output(command, timeout=600, **options), ""
        except subprocess.SubprocessError as error:  # or one waits for another
            return "", f"{error}: {str(error.output)[-3000:]}"

    def run_all(command, *environments):
        with ThreadPoolExecutor(len(environments)) as pool:
            done = pool.map(functools.partial(run, command), environments)
        said, errors = zip(*done, strict=True)
        assert not any(errors), "\n".join(errors)
        return said

    return run_all


@pytest.fixture(scope="session")
def free_addresses():
    """A function of a number that gives as many addresses of this machine that nobody uses."""

    def find(number):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
        for each in sockets:
            each.close()
        return addresses

    return find


@pytest.fixture
def two_workers(free_addresses):
    """The environments of two workers of TensorFlow."""
    cluster = {"worker": free_addresses(2)}
    tasks = [{"type": "worker", "index": i} for i in (0, 1)]
    configs = [json.dumps({"cluster": cluster, "task": task}) for task in tasks]
    return [{"KERAS_BACKEND": "tensorflow", "TF_CONFIG": config} for config in configs]


@pytest.fixture(scope="session")
def their_names():
    """Lists transformers' names for the parts of a weight of ours, by its path."""

    def names(path):
        layer, kind = path.rsplit("/", 1)
        found = THEIR_LAYERS.get(layer)
        if layer.startswith("block_"):
            block, layer = layer.removeprefix("block_").split("/", 1)
            found = [f"bert.encoder.layer.{block}.{name}" for name in THEIR_BLOCK[layer]]
        return [f"{name}.{THEIR_KINDS.get(kind, kind)}" for name in found]

    return names


@pytest.fixture(scope="session")
def make_backbone():
    """Makes a tiny `BertBackbone`, with other arguments where they are given."""
    from keras_bert import BertBackbone

    def make(**arguments):
        tiny = {"vocabulary_size": 30, "num_layers": 1, "num_heads": 2, "hidden_dim": 16}
        return BertBackbone(
            **{**tiny, "intermediate_dim": 32, "max_sequence_length": 16, **arguments}
        )

    return make


@pytest.fixture
def backbone(make_backbone):
    return make_backbone()


@pytest.fixture(scope="session")
def letters():
    """A tokenizer whose words are single letters; its tables take long to build."""
    pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")
    from keras_bert import BertTokenizer

    return BertTokenizer(VOCABULARY)


@pytest.fixture(scope="session")
def make_classifier(make_backbone, letters):
    """Makes a tiny `BertClassifier` that reads rows of 12 tokens, with settings of its text."""
    from keras_bert import BertClassifier, BertClassifierPreprocessor

    def make(num_classes=None, backbone=None, dropout=0.1, num_features=0, **settings):
        reader = BertClassifierPreprocessor(letters, **{"sequence_length": 12, **settings})
        backbone = backbone or make_backbone(dropout=dropout)
        arguments = {"dropout": dropout, "num_features": num_features}
        return BertClassifier(backbone, num_classes, reader, **arguments)

    return make


@pytest.fixture
def reloaded(tmp_path):
    """A function that gives a model as it is loaded from a `.keras` file, to run eagerly."""

    def load(model):
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        loaded.run_eagerly = True
        return loaded

    return load


@pytest.fixture(scope="session")
def tf():
    """TensorFlow for `tf.data`, whatever the backend."""
    return pytest.importorskip("tensorflow", reason="pip install tensorflow")


@pytest.fixture
def preprocessor(letters):
    from keras_bert import BertPreprocessor

    return BertPreprocessor(letters, sequence_length=12)


@pytest.fixture
def inputs():
    generator = np.random.default_rng(2)
    lengths = np.array([[12], [5], [9], [12], [3], [7], [11], [12]])
    padding_mask = (np.arange(12) < lengths).astype("int32")
    token_ids = generator.integers(5, 30, (8, 12)).astype("int32") * padding_mask
    segment_ids = (np.arange(12) >= lengths // 2).astype("int32") * padding_mask
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": padding_mask,
    }


@pytest.fixture
def pretraining_batch(inputs):
    """`(x, y, sample_weight)` as `pretraining_dataset` gives them, of uneven weights."""
    generator = np.random.default_rng(3)
    x = {**inputs, "mask_positions": np.tile(np.array([[1, 2, 0]], "int32"), (8, 1))}
    y = {
        "masked_lm": generator.integers(5, 30, (8, 3)).astype("int32"),
        "next_sentence": generator.integers(0, 2, 8).astype("int32"),
    }
    weights = np.ones((8, 3), "float32")
    weights[:, 2] = 0
    weights[3:6, 1] = 0
    return x, y, {"masked_lm": weights, "next_sentence": np.ones(8, "float32")}


@pytest.fixture(scope="session")
def randomized():
    """Gives a model or a layer weights as far from the start as those of a trained one."""
    from keras_bert import testing

    return functools.partial(testing._vary, seed=4)


@pytest.fixture(scope="session")
def eager():
    """Compiles a model to run eagerly, by default with SGD: few steps cost less than a graph."""

    def compile_eagerly(model, **arguments):
        if "loss" not in arguments:
            arguments = {**model.default_compile_args(), "optimizer": "sgd", **arguments}
        model.compile(**arguments, run_eagerly=True)
        return model

    return compile_eagerly


@pytest.fixture(scope="session")
def varied():
    """Gives a model weights under which tokens and texts differ."""

    def vary(model):
        generator = np.random.default_rng(5)
        for weight in model.weights:
            if weight.path.endswith(("kernel", "embeddings", "relative_bias/bias")):
                weight.assign(generator.normal(0, 0.7, weight.shape))
        return model

    return vary


@pytest.fixture(scope="session")
def assert_close():
    """A function that asserts that values differ by float32's roundings alone, on any processor.

    What is fastest decides in which order a sum is added, so a library, an instruction set or a
    graph may each round another way. The bound is relative to the largest value, as a value near 0
    is the difference of larger ones: a sum of n terms errs by about sqrt(n) roundings, of 2^-24 in
    either program, and a value is the last of several sums in a row. A tiny model has 16 of up to
    32 terms (two layers; query or key, scores, context, output and two of feed-forward, two norms),
    so the bound is 1e-5 of the largest value. Whole numbers must be equal; a list or dict of
    numbers counts as one array.

    Args, besides two arrays or trees of arrays:
        sums: the number of sums, or other steps that round, in a row; 0 for the same bits.
        terms: the number of terms of the longest of them.
        size: of the values that it was computed from, if larger: probabilities err as logits do.
        name: what an error names.
    """

    def arrays(values):
        leaves = [keras.ops.convert_to_numpy(leaf) for leaf in keras.tree.flatten(values)]
        return leaves if any(leaf.ndim for leaf in leaves) else [np.array(leaves)]

    def check(actual, expected, sums=16, terms=32, size=0.0, name=""):
        assert not isinstance(expected, dict) or actual.keys() == expected.keys()
        share = 2**-23 * sums * terms**0.5
        for found, wanted in zip(arrays(actual), arrays(expected), strict=True):
            largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=size)
            bound = 0 if found.dtype.kind in "biu" else share * largest
            np.testing.assert_allclose(found, wanted, rtol=0, atol=bound, err_msg=name)

    return check


@pytest.fixture(scope="session")
def refused():
    """A function that asserts that a call raises a ValueError whose message matches."""

    def check(message, call, /, *arguments, **options):
        with pytest.raises(ValueError, match=message):
            call(*arguments, **options)

    return check


@pytest.fixture(scope="session")
def under():
    """A function that returns what another gives under a global dtype policy."""

    from keras_bert import testing

    def call(policy, function):
        with testing._policy(policy):
            return function()

    return call


@pytest.fixture(scope="session")
def difference():
    from keras_bert import testing

    def largest(a, b):
        return float(max(testing._differences(testing._numpy(a), testing._numpy(b))))

    return largest
