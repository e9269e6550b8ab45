"""The examples in the docstrings of these rooms run."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["graph.double_array", "text.tokenizer"])
def test_examples_of_the_docstrings(name):
    result = doctest.testmod(import_module(f"keras_bert.{name}"))
    assert result.attempted > 0 and result.failed == 0
