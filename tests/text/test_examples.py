"""The examples in the docstrings of this room run."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["double_array", "normalization", "tokenizer"])
def test_examples_of_the_docstrings(name):
    result = doctest.testmod(import_module(f"keras_bert.text.{name}"))
    assert result.attempted > 0 and result.failed == 0
