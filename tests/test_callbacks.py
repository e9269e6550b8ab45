import itertools
import math
import sys
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert import BertPretrainer, TrainingCheckpoint, WarmupLinearDecay, callbacks
from keras_bert.callbacks import Perplexity, Throughput, TrainingCurves
from keras_bert.preprocessing.forms import take

X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


def make_model(steps_per_execution=1, metrics=("accuracy",)):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    optimizer = keras.optimizers.Adam(WarmupLinearDecay(0.1, 2, 24))
    # Tracing takes longer than these steps.
    is_eager = steps_per_execution == 1 and keras.backend.backend() == "tensorflow"
    settings = {"metrics": [*metrics], "steps_per_execution": steps_per_execution}
    model.compile(optimizer, "mse", run_eagerly=is_eager, **settings)
    return model


def fit(model, output, epochs, first=0, every=1, more=(), size=4, **arguments):
    return model.fit(
        X, Y, batch_size=size, initial_epoch=first, epochs=epochs, shuffle=False, verbose=0,
        callbacks=[*more, TrainingCurves(output / "logs", every=every)], **arguments,
    )  # fmt: skip


class Losses(keras.callbacks.Callback):
    """The loss of each step, from losses of single batches."""

    def __init__(self, size):
        super().__init__()
        self.size, self.losses = size, []

    def on_train_batch_begin(self, batch, logs=None):
        rows = slice(self.size * batch, self.size * batch + self.size)
        predicted = keras.ops.convert_to_numpy(self.model(X[rows]))
        self.losses.append(float(np.mean((predicted - Y[rows]) ** 2)))


@pytest.mark.parametrize("size", [4, 11])  # of the second, the last batch has 2 rows
def test_a_point_is_the_loss_of_its_step(assert_close, curves, tmp_path, size):
    expected = Losses(size)
    history = fit(make_model(), tmp_path, epochs=1, more=[expected], size=size)
    found = curves(tmp_path)
    assert set(found) == {"loss", "accuracy", "learning_rate"}
    steps = [*range(0, 24, size)]
    assert list(found["loss"]) == [*range(1, len(steps) + 1)]
    losses = [*found["loss"].values()]
    assert_close(losses, expected.losses)
    assert np.isclose(np.average(losses, weights=np.diff([*steps, 24])), history.history["loss"][0])
    rate = WarmupLinearDecay(0.1, 2, 24)
    rates = [float(rate(step)) for step in range(len(steps))]  # with which the step was taken
    assert np.allclose([*found["learning_rate"].values()], rates)


def test_a_point_of_slots_is_the_mean_over_those_of_its_step(
    assert_close, curves, make_backbone, pretraining_batch, tmp_path
):
    x, y, weights = pretraining_batch
    weights["masked_lm"][:2, 1] = 0  # 4 predictions in the first step, 5 in the second
    model = BertPretrainer(make_backbone(dropout=0.0))
    defaults = model.default_compile_args()
    is_eager = keras.backend.backend() != "jax"  # which compiles faster than it runs eagerly
    model.compile(**{**defaults, "optimizer": keras.optimizers.SGD(0.0)}, run_eagerly=is_eager)
    options = {"batch_size": 4, "verbose": 0}
    curve = TrainingCurves(tmp_path / "logs", every=1)
    model.fit(x, y, sample_weight=weights, shuffle=False, callbacks=[curve], **options)
    found = curves(tmp_path)
    for step, rows in enumerate((slice(4), slice(4, 8)), start=1):
        inputs, labels, used = take((x, y, weights), rows)
        expected = model.evaluate(inputs, labels, sample_weight=used, return_dict=True, **options)
        assert_close({name: found[name][step] for name in expected}, expected)


def test_points_lie_some_steps_apart_and_at_the_end_of_an_epoch_for_all_that_it_logs(
    curves, tmp_path
):
    model = make_model(metrics=[keras.metrics.AUC(name="auc")])
    options = {"more": [Throughput(tokens_per_step=4)], "validation_data": (X[:4], Y[:4])}
    logs = fit(model, tmp_path, epochs=2, every=4, **options).history
    found = curves(tmp_path)
    assert list(found["loss"]) == [4, 6, 8, 12]
    first, second, third, fourth = found["loss"].values()
    means = (4 * first + 2 * second) / 6, (2 * third + 4 * fourth) / 6
    assert np.allclose(means, logs["loss"])
    assert np.allclose([*found["auc"].values()][1::2], logs["auc"])  # is no mean of steps
    assert list(found["validation/loss"]) == list(found["tokens_per_second"]) == [6, 12]
    assert np.allclose([*found["validation/loss"].values()], logs["val_loss"])


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras has it one step at a time")
@pytest.mark.parametrize("number", [3, 4])  # the second leaves two steps to the last one
def test_executions_of_several_steps_keep_the_axis(curves, tmp_path, number):
    history = fit(make_model(steps_per_execution=number), tmp_path, epochs=2)
    curve = curves(tmp_path)["loss"]
    assert list(curve) == [number, 6, 6 + number, 12]
    mean = (number * curve[number] + (6 - number) * curve[6]) / 6
    assert np.isclose(mean, history.history["loss"][0])


class Killed(BaseException):
    pass


class Dies(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3 and int(self.model.optimizer.iterations) > 6:
            raise Killed


def test_a_killed_run_resumes_its_curves(assert_close, curves, tmp_path):
    whole = tmp_path / "whole"
    fit(make_model(), whole, epochs=3)
    killed, checkpoint = tmp_path / "killed", TrainingCheckpoint(tmp_path / "checkpoints")
    with pytest.raises(Killed):
        fit(make_model(), killed, epochs=3, more=[checkpoint, Dies()])
    (file,) = (killed / "logs").iterdir()
    with open(file, "ab") as events:  # a record that the kill cut
        events.write(b"\x18\x00\x00\x00\x00\x00\x00\x00cut")
    checkpoint.wait()
    model = make_model()
    assert checkpoint.restore(model) == 6
    fit(model, killed, epochs=3, first=1, more=[checkpoint])
    found, expected = curves(killed), curves(whole)
    assert set(found) == set(expected)
    for name, curve in expected.items():
        assert list(curve) == list(range(1, 19))
        assert_close(found[name], curve)


def test_a_new_run_in_the_same_folder_replaces_the_curves(curves, tmp_path):
    fit(make_model(), tmp_path, epochs=2)
    fit(make_model(), tmp_path, epochs=1)
    assert list(curves(tmp_path)["loss"]) == [1, 2, 3, 4, 5, 6]


def test_files_of_one_second_are_read_in_order(curves, tmp_path):
    for step in range(12):
        TrainingCurves(tmp_path / "logs").write(step, {"loss": step})
    assert curves(tmp_path)["loss"] == {step: step for step in range(12)}


def test_a_full_disk_ends_the_curves_but_not_the_training(curves, tmp_path, full_disk):
    model = make_model()
    with pytest.warns(UserWarning, match=f"{tmp_path}.*(full|too large)") as warned:
        history = fit(model, tmp_path, epochs=10)
    assert [each.category for each in warned].count(UserWarning) == 1
    assert len(history.history["loss"]) == 10
    found = list(curves(tmp_path)["loss"])
    assert found == list(range(1, len(found) + 1)) and 5 < len(found) < 60


def test_training_goes_on_without_tensorboard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    with pytest.warns(UserWarning, match=r"tensorboard: pip install .*\[plots\]"):
        history = fit(make_model(), tmp_path, epochs=2)
    assert len(history.history["loss"]) == 2 and not (tmp_path / "logs").exists()


def test_one_callback_writes_one_file_for_many_fits_once_there_is_room(curves, tmp_path):
    (tmp_path / "logs").write_text("a file where the folder should be")
    model, callback = make_model(), TrainingCurves(tmp_path / "logs", every=6)
    with pytest.warns(UserWarning, match="logs"):
        model.fit(X, Y, batch_size=4, verbose=0, callbacks=[callback])
        callback.write(6, {"dev/f1": 0.5})
    (tmp_path / "logs").unlink()
    for step in (12, 18):
        model.fit(X, Y, batch_size=4, verbose=0, callbacks=[callback])
        callback.write(step, {"dev/f1": np.float32(0.5), "dev/report": {"of": "a class"}})
    (_,) = (tmp_path / "logs").iterdir()
    found = curves(tmp_path)
    assert list(found["loss"]) == list(found["dev/f1"]) == [12, 18]
    assert "dev/report" not in found


def test_points_less_than_a_step_apart_are_refused(tmp_path, refused):
    refused("at least 1; got 0", TrainingCurves, tmp_path, every=0)


def test_losses_of_training_and_validation_get_a_perplexity():
    logs = {"loss": 5.0, "masked_lm_loss": 2.0, "val_loss": 1e6}
    Perplexity().on_epoch_end(0, logs)
    assert logs["masked_lm_perplexity"] == math.exp(2)
    assert logs["val_masked_lm_perplexity"] == math.exp(700) and len(logs) == 5


@pytest.mark.parametrize("is_validated", [False, True])
def test_tokens_are_counted_over_all_steps_but_the_first(monkeypatch, is_validated):
    ticks = itertools.count()
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: next(ticks))
    callback = Throughput(tokens_per_step=100)
    callback.on_train_begin()
    logs = {}
    callback.on_epoch_begin(0)
    for step in range(5):
        callback.on_train_batch_end(step)
    if is_validated:
        callback.on_test_begin()
        next(ticks)  # time goes by
    callback.on_epoch_end(0, logs)
    assert logs == {"tokens_per_second": 400.0}  # four steps in a tick of a clock


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras has it one step at a time")
def test_all_steps_of_an_execution_are_counted(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(callbacks, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    model, options = make_model(steps_per_execution=2), {"batch_size": 3, "epochs": 2, "verbose": 0}
    history = model.fit(X, Y, callbacks=[Throughput(100)], **options)
    assert history.history["tokens_per_second"] == [600.0, 800.0]  # each epoch takes a tick


def test_an_epoch_of_one_step_is_no_error():
    for epochs in (1, 2):
        options = {"batch_size": 24, "epochs": epochs, "verbose": 0}
        history = make_model().fit(X, Y, callbacks=[Throughput(1)], **options).history
        assert len(history["loss"]) == epochs
