import itertools
import math
import threading
from types import SimpleNamespace

import keras
import numpy as np

import _runs
from keras_bert import TrainingCheckpoint, callbacks
from keras_bert.callbacks import Perplexity, Throughput
from tests.marks import on

X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


def make_model(steps_per_execution=1):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    # Tracing takes longer than these steps.
    is_eager = steps_per_execution == 1 and keras.backend.backend() == "tensorflow"
    model.compile("adam", "mse", run_eagerly=is_eager, steps_per_execution=steps_per_execution)
    return model


def test_losses_of_training_and_validation_get_a_perplexity():
    logs = {"loss": 5.0, "masked_lm_loss": 2.0, "val_loss": 1e6}
    Perplexity().on_epoch_end(0, logs)
    added = {"masked_lm_perplexity": math.exp(2), "val_masked_lm_perplexity": math.exp(700)}
    assert logs == {"loss": 5.0, "masked_lm_loss": 2.0, "val_loss": 1e6, **added}


def test_tokens_are_counted_over_all_steps_but_the_first_and_without_validation(monkeypatch):
    ticks, logs = itertools.count(step=2), {}
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: next(ticks))
    callback = Throughput(tokens_per_step=100)
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    for step in range(5):
        callback.on_train_batch_end(step)
    next(ticks)  # time goes by
    callback.on_epoch_end(0, logs)
    assert logs == {"tokens_per_second": 50.0}  # four steps in eight seconds


@on("tensorflow", "jax")  # Keras has one step at a time on PyTorch
def test_all_steps_of_an_execution_are_counted(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    model = make_model(steps_per_execution=2)
    options = {"batch_size": 3, "epochs": 2, "verbose": 0}
    history = model.fit(X, Y, callbacks=[Throughput(100)], **options)
    # Each execution takes a tick.
    assert history.history["tokens_per_second"] == [200.0, 200.0]


def test_a_long_run_does_not_wait_for_the_loss_of_a_step(monkeypatch, tmp_path):
    monkeypatch.setattr("keras.src.backend.IS_THREAD_SAFE", True)  # as on JAX
    is_known, read = threading.Event(), []

    class Loss:
        def __float__(self):
            read.append(is_known.wait(60))
            return 1.0

    ours = [Throughput(1), TrainingCheckpoint(tmp_path), _runs.tensorboard(tmp_path)]
    run = keras.callbacks.CallbackList(ours, model=make_model(), steps=1)
    run.on_train_begin()
    run.on_epoch_begin(0)
    run.on_train_batch_end(0, {"loss": Loss()})
    is_known.set()
    run.on_epoch_end(0)
    run.on_train_end()
    assert read == [True]


def test_an_epoch_of_one_step_is_no_error():
    options = {"batch_size": 24, "epochs": 2, "verbose": 0}
    history = make_model().fit(X, Y, callbacks=[Throughput(1)], **options)
    assert [*map(len, history.history.values())] == [2, 1]  # the first step isn't counted
