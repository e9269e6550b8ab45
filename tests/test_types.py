"""Editors and type checkers see the public names, although these load on first use."""

import ast
import inspect
import subprocess
import sys
import tomllib
from importlib import import_module

import keras
import pytest

import keras_bert
from keras_bert.presets.loading_arguments import LoadingArguments
from keras_bert.presets.preset import PresetModel
from keras_bert.presets.preset_arguments import accepted_arguments, setting_names
from tests.gates import NAMESPACES, PACKAGE, ROOT

LIKE_KERAS = ("keras_bert.layers", "keras_bert.models")


def test_public_functions_and_constructors_are_annotated():
    """But for layers and models, which have the signatures of Keras, known to users."""
    missing = []
    for package in ("keras_bert", *(f"keras_bert.{name}" for name in NAMESPACES)):
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and not value.__module__.startswith(LIKE_KERAS):
                called = vars(value).get("__init__") if isinstance(value, type) else value
                parameters = inspect.signature(called).parameters if called else {}
                others = {part: kind for part, kind in parameters.items() if part != "self"}
                missing += [n for n, each in others.items() if each.annotation is each.empty]
    assert not missing


def test_the_stub_and_the_typing_marker_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]
    assert shipped["*"] == ["*.pyi"] and "py.typed" in shipped["keras_bert"]
    assert all((PACKAGE / name).is_file() for name in shipped["keras_bert"])


@pytest.mark.slow
def test_a_type_checker_resolves_classes_and_methods_and_rejects_misspelled_names():
    pytest.importorskip("mypy", reason='pip install ".[dev]"')
    done = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_of_keras_models_has_their_public_names():
    # A name that it lacks would be an error in users' editors.
    stub = ast.parse((PACKAGE / "models" / "keras_model.pyi").read_text(encoding="utf-8"))
    (declared,) = [node.body for node in stub.body if isinstance(node, ast.ClassDef)]
    names = {node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in declared}
    inputs = keras.Input([2])
    model = keras.Model(inputs, inputs)
    assert {name for name in dir(model) if not name.startswith("_")} <= names


def test_the_arguments_of_from_preset_are_those_of_the_classes():
    names = set()
    for name in keras_bert.__all__:
        cls = getattr(keras_bert, name)
        if isinstance(cls, type) and issubclass(cls, PresetModel):
            names |= {*accepted_arguments(cls), *setting_names(cls)}
    assert LoadingArguments.__annotations__.keys() == names
