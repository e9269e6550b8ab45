"""Editors and type checkers see the public names, although these load on first use."""

import ast
import inspect
import pkgutil
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

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_bert"
# Keras calls these with arguments of its own, and documents them in its base classes.
KERAS_OVERRIDES = re.compile(
    "build|call|compute_output_spec|from_config|get_config|on_.*|.*_step|make_.*_function"
)


def untyped(function):
    """Names of the parameters without a type, and "return" if the function has no return type."""
    signature = inspect.signature(function)
    parts = {name: part.annotation for name, part in signature.parameters.items()}
    if function.__name__ != "__init__":
        parts["return"] = signature.return_annotation
    return [n for n, part in parts.items() if part is signature.empty and n not in ("self", "cls")]


def function_of(member):
    """The function of a method of any kind, of a property, or of what has a cache."""
    for name in ("fget", "func", "__func__"):
        member = getattr(member, name, member)
    return inspect.unwrap(member)


def inherits(cls, name):
    """Whether a base class states the types of a member, which type checkers take from there."""
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("keras_bert."):
            function = function_of(vars(base).get(name))
            if name in inspect.get_annotations(base):
                return True
            if inspect.isfunction(function) and not untyped(function):
                return True
    return False


def public_functions(module):
    """Yields `(name, function)` of a module's own public functions and methods."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        found = {name: value}
        if isinstance(value, type):
            found = {
                f"{name}.{member}": part
                for member, part in vars(value).items()
                if member in ("__init__", "__call__") or not member.startswith("_")
                if not KERAS_OVERRIDES.fullmatch(member) and not inherits(value, member)
            }
        for name, function in zip(found, map(function_of, found.values()), strict=True):
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                yield name, function


@pytest.mark.slow
def test_public_functions_outside_of_layers_and_models_are_annotated():
    for backend in ("jax", "torch"):  # pages of their loops import them
        pytest.importorskip(backend, reason='pip install ".[parity]"')
    # Layers and models have the signatures of Keras, which users know from there, and the functions
    # of graph_ops are those of numpy_ops, for tensors.
    missing, total = [], 0
    for info in pkgutil.walk_packages(keras_bert.__path__, "keras_bert."):
        if info.name.split(".")[1] in ("layers", "models") or info.name.endswith("graph_ops"):
            continue
        for name, function in public_functions(import_module(info.name)):
            total += 1
            if found := untyped(function):
                missing.append(f"{info.name}: {name} lacks {', '.join(found)}")
    assert total > 300  # otherwise the search is broken
    assert not missing, "\n".join(missing)


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
