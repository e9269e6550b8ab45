"""The learning rate of a `fit` whose optimizer is the task's own."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert import (
    AdamW,
    BertClassifier,
    BertTask,
    WarmupLinearDecay,
)
from keras_bert.models.fit_schedule import fit_steps, warn_of_high_rate

IDS = np.random.default_rng(0).integers(5, 20, size=(40, 5)).astype("int32")
X, Y = {"token_ids": IDS}, (IDS[:, 1] > 12).astype("int32")


@pytest.fixture(scope="module")
def backbone(make_backbone):
    return make_backbone(dropout=0.0)


@pytest.fixture
def model(backbone):
    model = BertClassifier(backbone, num_classes=2, dropout=0.0)
    model.compile(run_eagerly=True)  # nothing to trace
    return model


def rates_of(model, x=X, y=Y, callbacks=(), **arguments):
    """The learning rate of each step of a `fit`."""
    rates = []

    def note(batch, logs):
        rates.append(float(model.optimizer.learning_rate))

    noted = keras.callbacks.LambdaCallback(on_train_batch_begin=note)
    model.fit(x, y, callbacks=[*callbacks, noted], **arguments)
    return rates


def schedule(steps, peak=5e-5):
    rate = WarmupLinearDecay(peak, int(0.1 * steps), steps, continuous=True)
    return [float(rate(step)) for step in range(steps)]


def test_fit_warms_up_and_decays_over_its_own_steps_and_needs_no_compile(backbone, eager_compile):
    model = BertClassifier(backbone, num_classes=2)
    assert np.allclose(rates_of(model, epochs=2, batch_size=8), schedule(10))
    assert np.allclose(rates_of(model, batch_size=6, validation_split=0.25), schedule(5))


def test_a_second_fit_starts_a_schedule_of_its_own(model, reloaded):
    rates_of(model, batch_size=40)
    assert np.allclose(rates_of(model, epochs=2, batch_size=20), schedule(4))
    loaded = reloaded(model)
    assert int(loaded.optimizer.iterations) == 4
    assert np.allclose(rates_of(loaded, batch_size=20), schedule(2))


def test_the_same_fit_again_starts_anew_in_the_same_program(model):
    start, runs, programs = model.get_weights(), [], []
    for _ in range(2):
        model.set_weights(start)
        history = model.fit(X, Y, shuffle=False, epochs=2).history
        assert set(history) == {"loss", "accuracy"}  # what compile left out
        runs.append((history, *model.get_weights()))
        programs.append(model.train_function)
    keras.tree.map_structure(np.testing.assert_array_equal, *runs)
    model.fit(X, Y, epochs=1)
    first, second, shorter = *programs, model.train_function
    assert first is second and second is not shorter
    model.set_weights(start)


def test_the_metrics_of_a_second_fit_are_of_its_own_examples(model):
    metric = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    model.compile(metrics=[metric], run_eagerly=True)
    for rows in (40, 8):
        model.fit({"token_ids": IDS[:rows]}, Y[:rows])
        assert float(metric.count) == rows


def test_a_callback_that_sets_the_rate_has_it_to_itself(model):
    plan = keras.callbacks.LearningRateScheduler(lambda epoch: 1e-4 / (epoch + 1))
    found = rates_of(model, batch_size=20, epochs=2, callbacks=[plan])
    assert np.allclose(found, [1e-4, 1e-4, 5e-5, 5e-5])


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_an_unknown_number_of_steps_is_said(model, caplog):
    assert np.allclose(rates_of(model, iter([(X, Y)]), None, shuffle=False), [5e-5])
    advice = "pass steps_per_epoch to fit, or compile(AdamW(WarmupLinearDecay(5e-05"
    assert "stays at 5e-05" in caplog.text and advice in caplog.text


def test_a_fit_of_later_epochs_says_that_its_schedule_is_new(model, caplog):
    model.fit(X, Y, initial_epoch=1, epochs=2)
    assert "starts a new optimizer" in caplog.text and "TrainingCheckpoint" in caplog.text


COSINE = keras.optimizers.schedules.CosineDecay(0.0, 9, warmup_target=2e-3, warmup_steps=3)


def test_a_rate_that_ruins_a_trained_encoder_is_said(backbone, randomized, caplog):
    model = randomized(BertClassifier(backbone, num_classes=2))

    def said(optimizer, *callbacks):
        caplog.clear()
        model.compile(optimizer)
        warn_of_high_rate(model, {"callbacks": callbacks})
        return caplog.text

    for optimizer, rate in (
        (AdamW(WarmupLinearDecay(8e-4, 1, 9)), "0.00071"),
        (keras.optimizers.RMSprop(COSINE), "0.002"),
        (keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-3)), "0.001"),
    ):
        found = said(optimizer)
        assert f"A learning rate of {rate} usually ruins a pre-trained encoder" in found
        assert "compile(AdamW(5e-5))" in found and "model.backbone.freeze()" in found
    by_epoch = keras.callbacks.LearningRateScheduler(lambda epoch: 1e-5)
    assert not said(AdamW(5e-4)) + said(keras.optimizers.Lamb(1e-3)) + said("adam", by_epoch)
    model.backbone.freeze()
    assert not said("adam")
    model.backbone.unfreeze()


@pytest.mark.slow
def test_it_is_said_once_and_not_of_an_encoder_from_scratch(make_backbone, caplog):
    model = BertClassifier(make_backbone(), num_classes=2)
    x, y = {"token_ids": IDS[:4]}, Y[:4]
    for expected in (0, 1):
        model.compile("adam", run_eagerly=True)
        for _ in range(2):
            model.fit(x, y)
        assert caplog.text.count("A learning rate of 0.001 usually ruins") == expected


def test_the_steps_of_a_fit(tf):
    numbers = tf.data.Dataset.range(12)
    for x, arguments, steps in (
        (X, {"batch_size": 3, "epochs": 5, "initial_epoch": 3}, 28),
        (X, {"steps_per_epoch": 5, "epochs": 2, "batch_size": 1}, 10),
        (SimpleNamespace(num_batches=7), {"epochs": 2}, 14),
        ([1] * 9, {}, 9),  # as a PyTorch DataLoader
        (iter([]), {}, None),
        (numbers.batch(5), {"epochs": 2}, 6),
        (numbers.filter(lambda number: number > 5), {}, None),
    ):
        assert fit_steps(x, **arguments) == steps, (x, arguments)


def test_a_task_without_a_loss_asks_for_one(backbone, refused):
    own = BertTask(backbone.input, backbone.output, backbone)
    refused("BertTask has no default_compile_args: call compile", own.fit, X, Y)
