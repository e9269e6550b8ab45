"""Callbacks as users write them."""

import json
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier
from tests.habits.conftest import LABELS, NAMES, PLAIN, TEXTS

CLASSES = {"BertClassifier": BertClassifier, "BertBackbone": BertBackbone}
VALIDATION = (TEXTS[:4], [1 - label for label in LABELS[:4]])  # training makes it worse


class Records(keras.callbacks.Callback):
    """The logs of epochs."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.lines = folder, []

    def on_epoch_end(self, epoch, logs=None):
        self.model.save_to_preset(self.folder / f"epoch_{epoch}")
        self.lines.append(json.dumps({"epoch": epoch, **logs}))


@pytest.fixture(scope="module")
def run(preset, tmp_path_factory):
    """Two epochs with the callbacks of many programs."""
    folder = tmp_path_factory.mktemp("run")
    model = BertClassifier.from_preset(preset)
    model.compile(keras.optimizers.SGD(0.1))
    to_file = keras.callbacks.ModelCheckpoint
    records = Records(folder)
    callbacks = [
        to_file(folder / "{epoch:02d}-{loss:.2f}.keras"),
        to_file(folder / "{epoch}.weights.h5", save_weights_only=True),
        to_file(folder / "model.h5"),
        records,
    ]
    options = {"epochs": 2, "validation_data": VALIDATION, "callbacks": callbacks}
    history = model.fit(TEXTS, LABELS, **options, **PLAIN)
    return SimpleNamespace(folder=folder, model=model, history=history, records=records)


@pytest.mark.slow
def test_callbacks_change_nothing(run, plain, trained_as):
    trained_as(run.model, run.history, plain(2))


def test_checkpoints_of_each_epoch(run, plain, same_weights):
    folder, load = run.folder, keras.saving.load_model
    first, second = run.history.history["loss"]
    model = load(folder / f"01-{first:.2f}.keras")
    same_weights(model, plain()[1])
    assert model.answer(TEXTS[0]).keys() == run.model.answer(TEXTS[0]).keys()
    same_weights(load(folder / f"02-{second:.2f}.keras"), plain(2)[1])  # written after HDF5's file
    same_weights(load(folder / "model.h5", custom_objects=CLASSES), plain(2)[1])
    model.load_weights(folder / "2.weights.h5")
    same_weights(model, plain(2)[1])
    same_weights(BertClassifier.from_preset(folder / "epoch_0"), plain()[1])


def test_logs_and_history_are_plain_numbers(run):
    history = run.history.history
    names = {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert {*json.loads(run.records.lines[0])} == {"epoch", *names}
    assert json.loads(json.dumps(history)) == history and {*history} == names
    assert run.history.params["epochs"] == run.history.params["steps"] == 2


@pytest.mark.slow
def test_a_callback_that_evaluates_and_answers(sgd_model, plain, same_weights):
    class Report(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            predicted = self.model.predict(TEXTS, verbose=0).argmax(axis=1)
            assert [NAMES[n] for n in predicted] == [a["label"] for a in self.model.answer(TEXTS)]
            logs["report"] = self.model.evaluate(TEXTS, LABELS, verbose=0)[0]

    history = sgd_model.fit(TEXTS, LABELS, epochs=2, callbacks=Report(), **PLAIN).history
    expected = sgd_model.evaluate(TEXTS, LABELS, verbose=0)[0]
    assert history["report"][1] == pytest.approx(expected)
    same_weights(sgd_model, plain(2)[1])


MOMENTS = ("begin", "batch_begin", "batch_end", "end")
HOOKS = {f"on_{verb}_{each}" for verb in ("train", "test", "predict") for each in MOMENTS}
HOOKS |= {"on_epoch_begin", "on_epoch_end"}


def test_all_methods_of_a_callback_are_called_with_the_user_s_model(sgd_model):
    seen = []

    class Notes(keras.callbacks.Callback):
        def set_model(self, model):
            super().set_model(model)
            assert model is sgd_model

    for hook in HOOKS:
        setattr(Notes, hook, lambda self, *_, hook=hook, **__: seen.append((hook, self.model)))
    inputs = sgd_model.preprocessor(TEXTS)
    options = {"callbacks": [Notes()], "verbose": 0}
    sgd_model.fit(TEXTS, LABELS, validation_data=VALIDATION, **options)
    sgd_model.evaluate(inputs, np.array(LABELS), **options)
    for x in (TEXTS, inputs):
        sgd_model.predict(x, 4, **options)
        assert {hook for hook, _ in seen} == HOOKS
        assert all(model is sgd_model for _, model in seen)
        seen = [each for each in seen if "predict" not in each[0]]


def test_a_callback_stops_the_prediction_of_inputs(compiled):
    inputs = compiled.preprocessor(TEXTS)
    expected = compiled.predict(inputs, 2, verbose=0)

    def stop(batch, logs):
        compiled.stop_predicting = batch == 1

    stops = keras.callbacks.LambdaCallback()
    stops.on_predict_batch_end = stop
    found = compiled.predict(inputs, 2, verbose=0, callbacks=[stops])
    np.testing.assert_array_equal(found, expected[:4])
    assert len(compiled.predict(inputs, 2, verbose=0)) == 8


def test_an_unbound_variable_of_a_user_s_callback_is_named(sgd_model):
    def fail(logs):
        raise UnboundLocalError("cannot access local variable 'logs'")

    callback = keras.callbacks.LambdaCallback(on_train_begin=fail)
    callback.on_predict_begin = fail
    inputs = sgd_model.preprocessor(TEXTS)
    with pytest.raises(UnboundLocalError, match="'logs'"):
        sgd_model.fit(inputs, np.array(LABELS), callbacks=[callback], verbose=0)
    with pytest.raises(UnboundLocalError, match="'logs'"):
        sgd_model.predict(inputs, callbacks=[callback], verbose=0)
