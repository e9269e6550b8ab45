"""Texts in, logits out: batches, callbacks, and arguments that do not fit."""

import resource
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertClassifier, BertClassifierPreprocessor
from keras_bert.models import row_outputs
from keras_bert.preprocessing import batching as batching_module

TEXTS = ["a b c", "d", "e f g h", "a a a a a a a a a a a a a a", "", "zz b", "x y", "c b a"]
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])


@pytest.fixture(scope="module")
def reader(letters):
    return BertClassifierPreprocessor(letters, sequence_length=12, label_names=["0", "1", "2"])


@pytest.fixture
def model(backbone, reader):
    return BertClassifier(backbone, num_classes=3, preprocessor=reader)


@pytest.fixture
def bare(backbone):
    return BertClassifier(backbone, num_classes=3)


def test_several_tpus_predict_every_text(assert_close, model, monkeypatch):
    model.run_eagerly = True
    expected = model.predict(TEXTS[:5], batch_size=2, verbose=0)
    monkeypatch.setattr(batching_module, "device_kind", lambda: "TPU")
    monkeypatch.setattr(row_outputs, "_one_by_one", row_outputs._distributed)
    assert_close(model.predict(TEXTS[:5], batch_size=2, verbose=0), expected)


@pytest.mark.parametrize("kind", ["texts", "arrays"])
def test_predict_keeps_the_contract_of_keras_in_memory(
    assert_close, model, capsys, kind, monkeypatch
):
    model.run_eagerly = True
    x = TEXTS[:5] if kind == "texts" else model.preprocessor(TEXTS[:5])
    calls = []
    steps = keras.callbacks.LambdaCallback(
        on_predict_begin=lambda logs: calls.append("begin"),
        on_predict_batch_end=lambda batch, logs: calls.append((batch, len(logs["outputs"]))),
        on_predict_end=lambda logs: calls.append("end"),
    )
    everything = model.predict(x, verbose=0)
    assert not capsys.readouterr().out
    assert_close(model.predict(x, batch_size=2, callbacks=[steps], verbose=1), everything)
    sizes = [1, 2, 2] if kind == "texts" else [2, 2, 1]  # the longest text alone
    assert calls == ["begin", *enumerate(sizes), "end"]
    assert "3/3" in capsys.readouterr().out
    monkeypatch.setattr("keras_bert.preprocessing.texts.CHARACTERS_AT_ONCE", 3)
    assert_close(model.predict(x, batch_size=2, steps=2, verbose=0), everything[:4])


def resident():
    """The memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


@pytest.mark.parametrize("calls", [50, pytest.param(1000, marks=pytest.mark.weekly)])
def test_calls_trace_nothing_again_and_keep_memory(model, tensorflow, calls):
    def call(number):
        model.answer(TEXTS[: 1 + number % len(TEXTS)], batch_size=5)

    for number in range(16):
        call(number)
    memory = resident()
    for number in range(calls):
        call(number)
    model.predict(model.preprocessor(TEXTS[:3]), verbose=0)
    assert model.predict_function.__wrapped__.experimental_get_tracing_count() == 1
    assert resident() - memory < 20  # a pipeline for each call would take 0.1 to 1 MB of it


def test_fit_takes_the_rows_of_its_batching(model, eager):
    eager(model).fit(TEXTS, LABELS, batching=Batching(3, shuffle=False), verbose=0)
    assert int(model.optimizer.iterations) == 3


def test_steps_that_executions_do_not_divide_are_refused(bare, inputs, refused):
    bare.compile(**bare.default_compile_args(), steps_per_execution=2)
    y = np.zeros(len(inputs["token_ids"]), "int32")
    for name in ("steps_per_epoch", "validation_steps"):
        refused(f"{name}.*=3 is not a multiple of.*=2", bare.fit, inputs, y, **{name: 3})
    refused("steps.*=3 is not a multiple of", bare.evaluate, inputs, y, steps=3)
    refused("steps.*=3 is not a multiple of", bare.predict, inputs, steps=3)


def test_arguments_that_do_not_fit_are_named(make_backbone, backbone, preprocessor, refused):
    short, small = make_backbone(max_sequence_length=8), make_backbone(vocabulary_size=29)
    model = BertClassifier(short, 3)
    refused("30 words.*only 29", BertClassifier, small, 3, preprocessor)
    refused("sequence_length=12.* 8 positions", BertClassifier, short, 3, preprocessor)
    refused("sequence_length=12.* 8 positions", setattr, model, "preprocessor", preprocessor)
    refused("num_features must .*got -1", BertClassifier, backbone, 2, num_features=-1)
    refused("label_names.*BertClassifierPrep", BertClassifier, backbone, 2, label_names=["a"])
