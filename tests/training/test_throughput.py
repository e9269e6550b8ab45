import itertools
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert.training import throughput
from keras_bert.training.throughput import Throughput


def test_tokens_are_counted_over_all_steps_but_the_first(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(throughput.time, "perf_counter", lambda: next(ticks))
    callback = Throughput(tokens_per_step=100)
    callback.on_train_begin()
    logs = {}
    callback.on_epoch_begin(0)
    for step in range(5):
        callback.on_train_batch_end(step)
    callback.on_epoch_end(0, logs)
    assert logs == {"tokens_per_second": 400.0}  # four steps in a tick of a clock


def test_validation_is_not_training(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(throughput.time, "perf_counter", lambda: next(ticks))
    callback = Throughput(tokens_per_step=100)
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    for step in range(5):
        callback.on_train_batch_end(step)
    callback.on_test_begin()
    next(ticks)  # time goes by
    logs = {}
    callback.on_epoch_end(0, logs)
    assert logs == {"tokens_per_second": 400.0}


def test_fit_logs_it():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(loss="mse")
    callback = Throughput(tokens_per_step=7)
    history = model.fit(
        np.ones((6, 2)), np.ones(6), batch_size=2, epochs=2, verbose=0, callbacks=[callback]
    )
    assert len(history.history["tokens_per_second"]) == 2
    assert min(history.history["tokens_per_second"]) > 0


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras has it one step at a time")
def test_all_steps_of_an_execution_are_counted(monkeypatch):
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(throughput, "time", clock)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(loss="mse", steps_per_execution=2)
    history = model.fit(
        np.ones((8, 2)), np.ones(8), batch_size=1, epochs=2, verbose=0, callbacks=[Throughput(100)]
    )
    assert history.history["tokens_per_second"] == [600.0, 800.0]  # each epoch takes a tick


@pytest.mark.parametrize("epochs", [1, 2])
def test_an_epoch_of_one_step_is_no_error(epochs):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(loss="mse")
    history = model.fit(
        np.ones((2, 2)), np.ones(2), epochs=epochs, verbose=0, callbacks=[Throughput(1)]
    )
    assert len(history.history["loss"]) == epochs
