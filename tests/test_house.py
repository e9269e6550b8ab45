"""The house stands: rooms import downwards only, public names are there and documented."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import keras_bert

ROOT = Path(__file__).resolve().parents[1]
FLOORS = {
    "recipes": 4,
    "models": 3,
    "data": 2,
    "serving": 2,
    "layers": 1,
    "text": 1,
    "training": 1,
    "metrics": 1,
    "checkpoints": 1,
    "sizes": 0,
}
SOURCES = sorted((ROOT / "keras_bert").rglob("*.py")) + sorted((ROOT / "recipes").glob("*.py"))
KERAS_ALONE = [
    path
    for path in SOURCES
    if path.parent.name in ("layers", "models") or path.name in ("adamw.py", "sizes.py")
]


def imports(path, top_level_only=False):
    """Full names of the modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def room(module):
    """The room of `keras_bert.<room>...`, or None."""
    parts = module.split(".")
    return parts[1] if parts[0] == "keras_bert" and len(parts) > 1 else None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_from_rooms_below(path):
    own = "sizes" if path.name == "sizes.py" else path.parent.name
    for module in imports(path):
        other = room(module)
        if own == "recipes":
            assert other in (None, "sizes"), f"{path.name} imports {module}: not a public name"
        elif own in FLOORS and other not in (None, own):
            down = FLOORS[other] < FLOORS[own]
            beside = (own, other) == ("serving", "data")  # one floor: what reads text for both
            assert down or beside, f"{path.name} of {own} imports {module}"


@pytest.mark.parametrize("path", KERAS_ALONE, ids=lambda path: str(path.relative_to(ROOT)))
def test_models_and_layers_need_keras_alone(path):
    modules = list(imports(path, top_level_only=True))
    assert not [m for m in modules if m.split(".")[0] in ("tensorflow", "tensorflow_text")]


def test_no_file_is_a_drawer_for_everything():
    banned = {"utils", "util", "common", "helpers", "manager", "misc"}
    assert not [path for path in SOURCES if path.stem in banned or path.parent.name in banned]


def test_all_is_exact():
    assert keras_bert.__all__ == sorted(set(keras_bert.__all__))
    for name in keras_bert.__all__:
        assert getattr(keras_bert, name) is not None
    assert set(keras_bert.__all__) <= set(dir(keras_bert))
    with pytest.raises(AttributeError, match="no attribute 'Bert'"):
        keras_bert.Bert  # noqa: B018


@pytest.mark.parametrize("name", keras_bert.__all__)
def test_public_names_are_documented_with_an_example(name):
    text = inspect.getdoc(getattr(keras_bert, name))
    assert text and "Example:" in text


def modules_with_doctests():
    for info in pkgutil.walk_packages(keras_bert.__path__, "keras_bert."):
        if info.name.endswith("beam_workers"):
            continue  # needs Apache Beam
        path = ROOT / (info.name.replace(".", "/") + ".py")
        if path.is_file() and ">>> " in path.read_text(encoding="utf-8"):
            yield info.name


@pytest.mark.slow
@pytest.mark.parametrize("name", list(modules_with_doctests()))
def test_examples_run(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testmod(module, optionflags=flags)
    assert tried > 0 and failed == 0


WITHOUT_TENSORFLOW = """
import sys

sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None  # importing them fails
import numpy as np
import keras_bert

assert "keras" not in sys.modules
backbone = keras_bert.BertBackbone(
    20, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=16
)
model = keras_bert.BertClassifier(backbone, num_classes=2)
token_ids = np.array([[2, 7, 3], [2, 8, 3]] * 4)
model.fit({"token_ids": token_ids}, np.array([0, 1] * 4), epochs=2, verbose=0)
assert model.predict({"token_ids": token_ids}, verbose=0).shape == (8, 2)
assert sys.modules["tensorflow"] is None
print("trained without TensorFlow")
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_models_train_where_tensorflow_is_missing(backend):
    pytest.importorskip(backend, reason=f"{backend} is not installed (the `parity` extra)")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
    )
    assert "trained without TensorFlow" in done.stdout, done.stderr[-3000:]
