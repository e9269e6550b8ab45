"""Marks of tests, and of single rows of a table of tests: when and where they run."""

import importlib.util

import keras
import pytest


def slow(*row):
    return pytest.param(*row, marks=pytest.mark.slow)


def weekly(*row):
    return pytest.param(*row, marks=pytest.mark.weekly)


def on(*backends):
    """Skips tests on other backends."""
    is_here = keras.backend.backend() in backends
    return pytest.mark.skipif(not is_here, reason=f"needs Keras on {' or '.join(backends)}")


def with_package(name):
    """Skips tests where a package of the `parity` extra isn't installed."""
    is_there = importlib.util.find_spec(name)
    return pytest.mark.skipif(not is_there, reason='pip install ".[parity]"')
