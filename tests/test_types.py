"""Editors and type checkers see the public names, although these load on first use."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import keras
import pytest

import keras_bert
from keras_bert.presets.loading_arguments import LoadingArguments
from keras_bert.presets.preset import PresetModel
from keras_bert.presets.preset_arguments import accepted_arguments, setting_names
from tests.gates import NAMESPACES

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_bert"
LIKE_KERAS = ("keras_bert.layers", "keras_bert.models")
# Keras calls these with arguments of its own, and documents them in its base classes.
KERAS_OVERRIDES = re.compile(
    "build|call|compute_output_spec|from_config|get_config|on_.*|.*_step|make_.*_function"
)


def untyped(function):
    """Names of the parameters without a type, and "return" if the function has no return type."""
    signature = inspect.signature(function)
    types = {name: part.annotation for name, part in signature.parameters.items()}
    if function.__name__ != "__init__":
        types["return"] = signature.return_annotation
    return [n for n, kind in types.items() if kind is signature.empty and n not in ("self", "cls")]


def test_public_functions_outside_of_layers_and_models_are_annotated():
    """Layers and models have the signatures of Keras, which users know from there."""
    missing, total = [], 0
    for package in ("keras_bert", *(f"keras_bert.{name}" for name in NAMESPACES)):
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not callable(value) or value.__module__.startswith(LIKE_KERAS):
                continue
            members = vars(value) if isinstance(value, type) else {name: value}
            for member, function in members.items():
                function = getattr(function, "fget", getattr(function, "__func__", function))
                is_private = member.startswith("_") and member != "__init__"
                if is_private or KERAS_OVERRIDES.fullmatch(member):
                    continue
                if inspect.isfunction(function):
                    total += 1
                    missing += [(name, member, part) for part in untyped(function)]
    assert total > 99  # otherwise the search is broken
    assert not missing


def test_the_stub_and_the_typing_marker_are_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]
    assert shipped["*"] == ["*.pyi"] and "py.typed" in shipped["keras_bert"]
    assert all((PACKAGE / name).is_file() for name in shipped["keras_bert"])


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
