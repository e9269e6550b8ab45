"""Texts in, logits out: batches, callbacks, and arguments that do not fit."""

import keras
import numpy as np
import pytest

from keras_bert.models import row_outputs
from keras_bert.preprocessing import batching as batching_module

TEXTS = ["a b c", "d", "e f g h", "a a a a a a a a a a a a a a", "", "zz b", "x y", "c b a"]


@pytest.fixture
def model(make_classifier):
    return make_classifier(label_names=["0", "1", "2"])


def test_several_tpus_predict_every_text(assert_close, model, monkeypatch):
    model.run_eagerly = True
    expected = model.predict(TEXTS[:5], batch_size=2, verbose=0)
    monkeypatch.setattr(batching_module, "device_kind", lambda: "TPU")
    monkeypatch.setattr(row_outputs, "_one_by_one", row_outputs._distributed)
    assert_close(model.predict(TEXTS[:5], batch_size=2, verbose=0), expected)


def test_predict_keeps_the_contract_of_keras_in_memory(assert_close, model, capsys, monkeypatch):
    model.run_eagerly = True
    calls = []
    steps = keras.callbacks.LambdaCallback()
    steps.on_predict_batch_end = lambda batch, logs: calls.append((batch, len(logs["outputs"])))
    everything = model.predict(TEXTS[:5], verbose=0)
    assert not capsys.readouterr().out
    for x, sizes in (
        (TEXTS[:5], [1, 2, 2]),  # the longest text alone
        (model.preprocessor(TEXTS[:5]), [2, 2, 1]),
    ):
        calls.clear()
        assert_close(model.predict(x, batch_size=2, callbacks=[steps], verbose=1), everything)
        assert calls == [*enumerate(sizes)]
        assert "3/3" in capsys.readouterr().out
        with monkeypatch.context() as patches:
            patches.setattr("keras_bert.preprocessing.texts.CHARACTERS_AT_ONCE", 3)
            assert_close(model.predict(x, batch_size=2, steps=2, verbose=0), everything[:4])


def test_calls_of_any_size_trace_nothing_again(model, tensorflow):
    for number in range(16):
        model.answer(TEXTS[: 1 + number % len(TEXTS)], batch_size=5)
    model.predict(model.preprocessor(TEXTS[:3]), verbose=0)
    assert model.predict_function.__wrapped__.experimental_get_tracing_count() == 1


def test_steps_that_executions_do_not_divide_are_refused(model, inputs, refused):
    model.compile(**model.default_compile_args(), steps_per_execution=2)
    data = inputs, np.zeros(8, "int32")
    for name in ("steps_per_epoch", "validation_steps"):
        refused(f"{name}.*=3 is not a multiple of.*=2.*divisors", model.fit, *data, **{name: 3})
    refused("steps.*=3 is not a multiple of", model.predict, inputs, steps=3)
