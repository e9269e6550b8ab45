"""The table of kernels, and the switch that turns them off."""

from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import kernels

TESTS = Path(__file__).parents[1]


@pytest.fixture
def disabled():
    kernels.disable()
    yield
    kernels.enable()


def test_an_encoder_computes_the_same_without_kernels(disabled, monkeypatch, assert_close):
    rows = [
        row._replace(takes=lambda *_: pytest.fail("a kernel is asked")) for row in kernels.TABLE
    ]
    backbone = keras_bert.ModernBertBackbone(50, 2, 2, 16, 24, window=1)
    inputs = {"token_ids": np.arange(5, 17)[None]}
    with monkeypatch.context() as patches:
        patches.setattr(kernels, "TABLE", tuple(rows))
        plain = backbone(inputs)["sequence_output"]
    kernels.enable()
    assert_close(backbone(inputs)["sequence_output"], plain)


def test_rows_name_operations_of_layers_and_the_tests_that_prove_them():
    layers = "".join(path.read_text() for path in (TESTS.parent / "keras_bert/layers").glob("*.py"))
    for row in kernels.TABLE:
        assert f'kernels.compute("{row.operation}"' in layers, row
        assert (TESTS / row.test).is_file(), row


def test_what_has_not_run_on_its_device_is_off():
    if keras.backend.backend() == "jax":
        [row] = [row for row in kernels.TABLE if row.ran_on == "nothing"]
        assert not row.takes(*[np.zeros((1, 1, 8, 8), "float16")] * 3, None)
