"""Private parts of Keras and TensorFlow are touched in `training/keras_internals.py` alone."""

import ast
import functools
from pathlib import Path

import keras

PACKAGE = Path(__file__).resolve().parents[2] / "keras_bert"
INTERNALS = PACKAGE / "training" / "keras_internals.py"
PRIVATE_MODULES = ("keras.src", "tensorflow.core", "tensorflow.python", "jax._src")
PRIVATE_MODULES += ("tensorflow_text.core",)
PUBLIC = {"_exit", "_replace", "_asdict", "_fields"}  # of os, and of named tuples
# These lie below `training/`, so they can't import its functions.
ALLOWED = {
    "graph/tensorflow_text.py": {"tensorflow_text.core.pybinds"},
}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


@functools.cache
def keras_names():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    seeds = keras.random.SeedGenerator(1)
    classes = (
        keras.layers.Embedding,
        keras.callbacks.Callback,
        keras.losses.Loss,
        keras.metrics.Metric,
        keras.optimizers.schedules.LearningRateSchedule,
        keras.distribution.DataParallel,
    )
    objects = (model, model.layers[0], model.optimizer, seeds)
    names = {name for each in (*classes, *objects) for name in dir(each)}
    return {name for name in names if is_private(name)}


def own_names(tree):
    """The names that a file defines: functions, classes, variables and attributes of `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                yield node.attr


def touched_names(tree, own, foreign):
    """Private names of others that a file imports, reads, sets or overrides."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from filter(is_private_module, (alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and is_private_module(node.module):
            yield node.module
        elif isinstance(node, ast.Attribute):
            is_of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            is_own = node.attr in own and (is_of_self or node.attr not in foreign)
            if is_private(node.attr) and not is_own:
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("getattr", "hasattr", "setattr"):
                name = getattr(node.args[1], "value", None)  # of a constant
                if isinstance(name, str) and is_private(name):
                    yield name
        elif isinstance(node, ast.ClassDef) and node.bases:
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name in foreign:
                    yield part.name


def is_private_module(module):
    return f"{module}.".startswith(tuple(f"{name}." for name in PRIVATE_MODULES))


def test_private_parts_are_touched_in_one_file():
    paths = sorted(path for path in PACKAGE.rglob("*.py") if path != INTERNALS)
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    own = {name for tree in trees.values() for name in own_names(tree)}
    touched = {
        path.relative_to(PACKAGE).as_posix(): set(touched_names(tree, own, keras_names()))
        for path, tree in trees.items()
    }
    assert {path: names for path, names in touched.items() if names} == ALLOWED
    found = set(touched_names(ast.parse(INTERNALS.read_text(encoding="utf-8")), (), keras_names()))
    assert found >= {"keras.src.backend.common", "_loss_tracker", "_value_specs", "_symbolic_build"}
