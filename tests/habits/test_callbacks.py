"""Callbacks as users write them."""

import csv
import json
import logging

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, TrainingCheckpoint
from tests.habits.conftest import PLAIN

SGD = keras.optimizers.SGD
EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps


@pytest.fixture
def validation(texts, labels):
    return texts[:4], [1 - label for label in labels[:4]]  # so that training makes it worse


def loss_of(model, x, y):
    return model.evaluate(x, y, verbose=0)[0]


@pytest.mark.slow
def test_early_stopping_restores_the_best_weights(
    sgd_model, texts, labels, validation, plain, same_weights
):
    stop = keras.callbacks.EarlyStopping(patience=1, restore_best_weights=True)
    options = {"validation_data": validation, "callbacks": [stop]}
    history = sgd_model.fit(texts, labels, epochs=6, **options, **PLAIN).history
    best = int(np.argmin(history["val_loss"]))
    assert len(history["loss"]) == best + 2 < 6
    same_weights(sgd_model, plain(best + 1)[1])


def test_early_stopping_without_a_validation(sgd_model, texts, labels):
    stop = keras.callbacks.EarlyStopping(monitor="loss", min_delta=100.0, patience=1)
    history = sgd_model.fit(texts, labels, epochs=6, callbacks=[stop], **PLAIN)
    assert len(history.epoch) == 2


@pytest.mark.slow
def test_early_stopping_of_an_accuracy(sgd_model, texts, labels):
    stop = keras.callbacks.EarlyStopping("val_accuracy", mode="max", patience=1)
    options = {"validation_split": 0.25, "callbacks": stop}  # not in a list
    history = sgd_model.fit(texts, labels, epochs=10, **options, **PLAIN).history
    assert len(history["val_accuracy"]) <= int(np.argmax(history["val_accuracy"])) + 2


@pytest.mark.slow
def test_checkpoints_of_whole_models(sgd_model, texts, labels, tmp_path, plain, same_weights):
    callback = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch:02d}-{loss:.2f}.keras")
    history = sgd_model.fit(texts, labels, epochs=2, callbacks=[callback], **PLAIN).history
    names = [f"{n:02d}-{loss:.2f}.keras" for n, loss in enumerate(history["loss"], 1)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    first = keras.saving.load_model(tmp_path / names[0])
    same_weights(first, plain()[1])
    assert first.answer(texts[0]).keys() == sgd_model.answer(texts[0]).keys()


@pytest.mark.slow
def test_checkpoints_of_the_best_model(
    sgd_model, texts, labels, validation, tmp_path, plain, same_weights
):
    path = str(tmp_path / "best.keras")
    callback = keras.callbacks.ModelCheckpoint(path, monitor="val_loss", save_best_only=True)
    options = {"validation_data": validation, "callbacks": [callback]}
    history = sgd_model.fit(texts, labels, epochs=3, **options, **PLAIN).history
    best = int(np.argmin(history["val_loss"])) + 1
    same_weights(keras.saving.load_model(path), plain(best)[1])


def test_checkpoints_of_weights(sgd_model, texts, labels, preset, tmp_path, plain, same_weights):
    path = tmp_path / "{epoch}.weights.h5"
    callback = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    sgd_model.fit(texts, labels, epochs=2, callbacks=[callback], **PLAIN)
    model = BertClassifier.from_preset(preset)
    model.load_weights(tmp_path / "1.weights.h5")
    same_weights(model, plain()[1])


def test_checkpoints_each_few_batches(sgd_model, texts, labels, tmp_path):
    callback = keras.callbacks.ModelCheckpoint(
        tmp_path / "{epoch}-{batch}.weights.h5", save_weights_only=True, save_freq=2
    )
    sgd_model.fit(texts, labels, batch_size=2, epochs=2, callbacks=[callback], verbose=0)
    assert len([*tmp_path.iterdir()]) == 4


def test_checkpoints_of_the_old_format(sgd_model, texts, labels, tmp_path, plain, same_weights):
    callback = keras.callbacks.ModelCheckpoint(tmp_path / "model.h5")
    sgd_model.fit(texts, labels, callbacks=[callback], **PLAIN)
    classes = {"BertClassifier": BertClassifier, "BertBackbone": BertBackbone}  # as Keras asks
    loaded = keras.saving.load_model(tmp_path / "model.h5", custom_objects=classes)
    same_weights(loaded, plain()[1])


def test_checkpoints_without_a_format(tmp_path):
    with pytest.raises(ValueError, match=r"\.keras"):
        keras.callbacks.ModelCheckpoint(tmp_path / "checkpoints")


@pytest.mark.slow
def test_a_csv_logger(sgd_model, texts, labels, tmp_path):
    callback = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    options = {"validation_split": 0.25, "callbacks": [callback]}
    history = sgd_model.fit(texts, labels, epochs=2, **options, **PLAIN).history
    with open(tmp_path / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert {*rows[0]} == {"epoch", *history}
    assert [float(row["val_loss"]) for row in rows] == pytest.approx(history["val_loss"])


@pytest.mark.slow
def test_tensorboard(sgd_model, texts, labels, tmp_path):
    pytest.importorskip("tensorflow", reason="Keras writes TensorBoard's files by TensorFlow")
    pytest.importorskip("tensorboard", reason='pip install ".[plots]"')
    callback = keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, update_freq="epoch")
    options = {"validation_split": 0.25, "callbacks": [callback]}
    sgd_model.fit(texts, labels, epochs=2, **options, **PLAIN)
    folders = {path.parent.name for path in tmp_path.glob("*/events.out.*")}
    assert folders == {"train", "validation"}


def test_backup_and_restore(preset, texts, labels, tmp_path, plain, same_weights):
    class Fail(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                raise RuntimeError("killed")

    for attempt in range(2):
        model = BertClassifier.from_preset(preset)
        model.compile(SGD(0.1))
        callbacks = [keras.callbacks.BackupAndRestore(tmp_path / "backup")]
        if not attempt:
            with pytest.raises(RuntimeError, match="killed"):
                model.fit(texts, labels, epochs=3, callbacks=[*callbacks, Fail()], **PLAIN)
            same_weights(model, plain()[1])
        else:
            history = model.fit(texts, labels, epochs=3, callbacks=callbacks, **PLAIN)
    assert history.epoch == [1, 2]
    same_weights(model, plain(3)[1])


@pytest.mark.slow
def test_a_training_checkpoint(preset, texts, labels, tmp_path, plain, same_weights):
    for epochs in (1, 3):
        model = BertClassifier.from_preset(preset)
        model.compile(SGD(0.1))
        checkpoint = TrainingCheckpoint(tmp_path)
        checkpoint.restore(model)
        first = int(model.optimizer.iterations) // 2
        options = {"initial_epoch": first, "epochs": epochs, "callbacks": [checkpoint]}
        model.fit(texts, labels, **options, **PLAIN)
    same_weights(model, plain(3)[1])


def test_a_lambda_callback(sgd_model, texts, labels, plain, assert_close):
    losses = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: losses.append(logs["loss"])
    )
    sgd_model.fit(texts, labels, epochs=2, callbacks=[callback], **PLAIN)
    assert_close(np.array(losses), np.array(plain(2)[0]), sums=64)


def test_logs_of_batches(sgd_model, texts, labels, plain, assert_close):
    class Losses(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.losses = []

        def on_train_batch_end(self, batch, logs=None):
            self.losses.append(logs["loss"])

    callback = Losses()
    sgd_model.fit(texts, labels, callbacks=[callback], **PLAIN)
    assert len(callback.losses) == 2
    assert_close(callback.losses[-1], plain()[0][0], sums=64)  # the mean so far


def test_logs_are_plain_numbers(sgd_model, texts, labels):
    lines = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: lines.append(json.dumps({"epoch": epoch, **logs}))
    )
    sgd_model.fit(texts, labels, validation_split=0.25, callbacks=[callback], **PLAIN)
    assert {*json.loads(lines[0])} == {"epoch", "loss", "accuracy", "val_loss", "val_accuracy"}


def test_history_is_plain_numbers(sgd_model, texts, labels):
    history = sgd_model.fit(texts, labels, validation_split=0.25, **PLAIN)
    assert {*json.loads(json.dumps(history.history))} == {*history.history}
    assert history.params["epochs"] == 1
    assert history.params["steps"] == 2


def test_a_learning_rate_scheduler(sgd_model, texts, labels, by_hand, same_weights):
    rates = [0.1, 0.3]
    callback = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rates[epoch])
    history = sgd_model.fit(texts, labels, epochs=2, callbacks=[callback], **PLAIN).history
    assert history["learning_rate"] == pytest.approx(rates)
    first = by_hand()[1]
    second = by_hand(rate=0.3, prepare=lambda m: m.set_weights(first.get_weights()))
    same_weights(sgd_model, second[1])


@pytest.mark.slow
def test_a_learning_rate_scheduler_of_the_default_optimizer(model, texts, labels, caplog):
    callback = keras.callbacks.LearningRateScheduler(lambda epoch: 1e-5)
    options = {"callbacks": [callback], "batch_size": 4, "verbose": 0}
    history = model.fit(texts, labels, epochs=2, **options).history
    assert history["learning_rate"] == pytest.approx([1e-5] * 2)


def test_reducing_the_rate_on_a_plateau(sgd_model, texts, labels):
    callback = keras.callbacks.ReduceLROnPlateau("loss", min_delta=100, patience=1, factor=0.5)
    sgd_model.fit(texts, labels, epochs=4, callbacks=[callback], **PLAIN)
    assert float(sgd_model.optimizer.learning_rate) == pytest.approx(0.1 / 8)


def test_a_rate_set_for_each_batch(sgd_model, texts, labels, by_hand, same_weights):
    class Rates(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.optimizer.learning_rate = [0.1, 0.3][batch]

    sgd_model.fit(texts, labels, callbacks=[Rates()], **PLAIN)
    first = by_hand(rows=range(4))[1]
    second = by_hand(
        rows=range(4, 8), rate=0.3, prepare=lambda m: m.set_weights(first.get_weights())
    )
    same_weights(sgd_model, second[1])


def test_terminate_on_nan(sgd_model, texts, labels):
    sgd_model.optimizer.learning_rate = float("nan")
    options = {"callbacks": [keras.callbacks.TerminateOnNaN()], "batch_size": 2, "verbose": 0}
    history = sgd_model.fit(texts, labels, epochs=3, **options)
    assert len(history.epoch) == 1


@pytest.mark.slow
def test_swapping_the_moving_average(model, texts, labels, by_hand, same_weights, assert_close):
    model.compile(SGD(0.1, use_ema=True, ema_momentum=0.5))
    callbacks = [keras.callbacks.SwapEMAWeights(swap_on_epoch=True)]
    options = {"validation_data": (texts, labels), "callbacks": callbacks}
    history = model.fit(texts, labels, **options, **PLAIN).history
    first, averaged = by_hand(rows=range(4))[1], by_hand()[1]
    for one, two in zip(first.trainable_variables, averaged.trainable_variables, strict=True):
        values = [keras.ops.convert_to_numpy(variable) for variable in (one, two)]
        two.assign((values[0] + values[1]) / 2)  # Keras's average begins at the first step's
    averaged.compile(SGD(0.1))
    assert_close(history["val_loss"][0], loss_of(averaged, texts, labels), sums=64)
    same_weights(model, averaged)


def test_a_callback_that_stops_the_training(sgd_model, texts, labels, plain, same_weights):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                self.model.stop_training = True

    history = sgd_model.fit(texts, labels, epochs=5, callbacks=[Stop()], **PLAIN)
    assert history.epoch == [0, 1]
    same_weights(sgd_model, plain(2)[1])


def test_a_callback_that_stops_within_an_epoch(sgd_model, texts, labels, by_hand, same_weights):
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = True

    sgd_model.fit(texts, labels, epochs=5, callbacks=[Stop()], **PLAIN)
    same_weights(sgd_model, by_hand(rows=range(4))[1])


def test_a_callback_that_evaluates_and_answers(sgd_model, texts, labels, plain, same_weights):
    class Report(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            answers = [answer["label"] for answer in self.model.answer(texts)]
            predicted = self.model.predict(texts, verbose=0).argmax(axis=1)
            assert answers == [["no", "yes"][number] for number in predicted]
            logs["report"] = self.model.evaluate(texts, labels, verbose=0, return_dict=True)["loss"]

    history = sgd_model.fit(texts, labels, epochs=2, callbacks=[Report()], **PLAIN).history
    assert history["report"][1] == pytest.approx(loss_of(sgd_model, texts, labels))
    same_weights(sgd_model, plain(2)[1])


@pytest.mark.slow
def test_a_callback_that_saves_presets(sgd_model, texts, labels, tmp_path, plain, same_weights):
    class Save(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.save_to_preset(tmp_path / f"epoch_{epoch}")

    sgd_model.fit(texts, labels, epochs=2, callbacks=[Save()], **PLAIN)
    same_weights(BertClassifier.from_preset(tmp_path / "epoch_0"), plain()[1])
    same_weights(BertClassifier.from_preset(tmp_path / "epoch_1"), plain(2)[1])


def test_a_callback_class_with_all_of_its_methods(sgd_model, texts, labels):
    calls = []

    class Every(keras.callbacks.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_"):
                calls.append(name)
            return super().__getattribute__(name)

    sgd_model.fit(texts, labels, validation_split=0.25, callbacks=[Every()], **PLAIN)
    for name in ("on_train_begin", "on_epoch_begin", "on_test_begin", "on_test_batch_end"):
        assert name in calls
    assert calls[-1] == "on_train_end"


def test_a_callback_that_unfreezes_in_its_second_fit(preset, texts, labels):
    model = BertClassifier.from_preset(preset)
    model.backbone.trainable = False
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    table = keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings).copy()
    model.fit(texts, labels, **PLAIN)
    assert np.array_equal(
        table, keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
    )
    model.backbone.trainable = True
    model.compile(SGD(0.1), run_eagerly=EAGERLY)
    model.fit(texts, labels, **PLAIN)
    assert not np.array_equal(
        table, keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
    )


def test_callbacks_of_evaluate_and_predict(compiled, texts, labels):
    seen = []
    callback = keras.callbacks.LambdaCallback()
    callback.on_test_end = lambda logs=None: seen.append("test")
    callback.on_predict_end = lambda logs=None: seen.append("predict")
    compiled.evaluate(texts, labels, callbacks=[callback], verbose=0)
    compiled.predict(texts, callbacks=[callback], verbose=0)
    assert seen[0] == "test"
    assert "predict" in seen


@pytest.mark.slow
def test_five_callbacks_together(sgd_model, texts, labels, tmp_path, plain, same_weights):
    callbacks = [
        keras.callbacks.EarlyStopping(patience=9),
        keras.callbacks.ModelCheckpoint(tmp_path / "a.keras"),
        keras.callbacks.CSVLogger(tmp_path / "a.csv"),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
    ]
    options = {"validation_data": (texts, labels), "callbacks": callbacks}
    sgd_model.fit(texts, labels, epochs=2, **options, **PLAIN)
    same_weights(sgd_model, plain(2)[1])


def test_a_progress_bar(sgd_model, texts, labels, capsys, caplog):
    caplog.set_level(logging.WARNING)
    sgd_model.fit(texts, labels, batch_size=4, epochs=1, verbose=1)
    assert "2/2" in capsys.readouterr().out
    assert not caplog.text
