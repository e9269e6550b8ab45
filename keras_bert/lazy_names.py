"""Public names of a package, listed in its `__init__.pyi` and loaded on first use."""

import ast
import functools
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from types import MappingProxyType
from typing import Any


@functools.cache
def homes(package: str) -> dict[str, str]:
    """Returns the names that a package's `__init__.pyi` imports, each with its module."""
    return {
        alias.name: node.module
        for node in ast.parse(get_data(package, "__init__.pyi")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def lazy_names(
    package: str, elsewhere: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Makes a package's `__all__`, `__getattr__` and `__dir__`.

    Messages suggest our names for those that other libraries have `elsewhere`.
    """
    known = homes(package)

    def get(name):
        if name not in known:
            theirs = elsewhere.get(name.removeprefix("TF"), "")  # the same class in TensorFlow
            similar = [theirs, *get_close_matches(name, known, 1, cutoff=0.8)]
            hint = next((f"; did you mean {ours}?" for ours in similar if ours), "")
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        home = known[name]
        is_module = home == package
        try:
            value = import_module(f"{home}.{name}" if is_module else home)
        except ModuleNotFoundError as error:
            if error.name == "tensorflow" and "keras" not in sys.modules:
                raise _no_backend() from None  # of Keras's twenty lines
            raise
        value = value if is_module else getattr(value, name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(known), get, lambda: sorted(known)


def _no_backend():
    backends = [name for name in ("jax", "torch") if find_spec(name)]
    fix = f"set the environment variable KERAS_BACKEND={backends[0]}, or " if backends else ""
    return ImportError(
        f"Keras's backend is TensorFlow here, which is not installed: {fix}pip install "
        '"keras3-bert[tensorflow]".'
    )
