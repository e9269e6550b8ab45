"""Private parts of Keras are touched in `training/keras_internals.py` alone.

Ruff finds private modules and those of other objects (TID251, SLF001); here, what a subclass takes.
"""

import ast

import keras

from tests.gates import PACKAGE

INTERNALS = PACKAGE / "training" / "keras_internals.py"


def keras_names():
    """The private names of Keras's classes."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    classes = (
        keras.layers.Embedding,
        keras.callbacks.Callback,
        keras.losses.Loss,
        keras.metrics.Metric,
        keras.optimizers.schedules.LearningRateSchedule,
        keras.distribution.DataParallel,
    )
    objects = (model, model.layers[0], model.optimizer, keras.random.SeedGenerator(1))
    names = {name for each in (*classes, *objects) for name in dir(each)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def names_in(path):
    """The names that a file reads, sets or defines as attributes and methods, or has as text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        yield from (getattr(node, part, None) for part in ("attr", "name", "value"))


def test_subclasses_take_no_private_parts():
    names = keras_names()
    touched = {
        (path.name, name)
        for path in PACKAGE.rglob("*.py")
        for name in names_in(path)
        if isinstance(name, str) and name in names and path != INTERNALS
    }
    assert not touched
    assert names & {*filter(lambda name: isinstance(name, str), names_in(INTERNALS))}
