"""Public names are there and documented, and examples run; `gates.py` has what needs no Keras."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import keras_bert
from tests.gates import NAMESPACES, ROOT


def test_public_names_are_exact_and_documented_with_an_example():
    for package in ("keras_bert", *(f"keras_bert.{name}" for name in NAMESPACES)):
        module = importlib.import_module(package)
        public = getattr(module, "__all__", [])
        assert public == sorted({*public}) and {*public} <= {*dir(module)}
        for name in {*public} - {*NAMESPACES}:
            assert "Example:" in (inspect.getdoc(getattr(module, name)) or ""), (
                package,
                name,
            )
    with pytest.raises(AttributeError, match="attribute Bert$"):
        keras_bert.Bert  # noqa: B018


WITHOUT_TENSORFLOW = """
import sys

class Finder:  # as if TensorFlow weren't installed
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *others):
        return None if name == "tensorflow" else self.finder.find_spec(name, *others)

sys.meta_path = [*map(Finder, sys.meta_path)]
import keras_bert
try:
    keras_bert.BertBackbone
except ImportError as error:
    print(error)
"""


def test_a_backend_that_is_not_installed_is_told_with_one_that_is(run_python):
    installed = next((name for name in ("jax", "torch") if importlib.util.find_spec(name)), None)
    said = run_python("-c", WITHOUT_TENSORFLOW, KERAS_BACKEND="tensorflow")
    assert 'pip install "keras3-bert[tensorflow]"' in said
    assert installed is None or f"KERAS_BACKEND={installed}" in said


def modules_with_doctests():
    for info in pkgutil.walk_packages(keras_bert.__path__, "keras_bert."):
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
