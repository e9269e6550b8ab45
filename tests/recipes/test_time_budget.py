import keras
import numpy as np
import pytest

from _time_budget import TimeBudget
from keras_bert import AdamW, TrainingCheckpoint, WarmupLinearDecay
from tests.marks import on

X, Y = np.random.default_rng(1).normal(size=(2, 8, 4))
SCHEDULE = WarmupLinearDecay(0.1, 10, 100, continuous=True, final_fraction=0.02)


class Clock(keras.callbacks.Callback):
    """A clock in which a step takes 4 seconds and validation 2; it keeps the rate of each step."""

    def __init__(self, now=1000.0, validation=2):
        super().__init__()
        self.now, self.validation, self.rates = now, validation, []

    def __call__(self):
        return self.now

    def on_train_batch_end(self, batch, logs=None):
        self.now += 4
        self.rates.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))

    def on_test_end(self, logs=None):
        self.now += self.validation


class Checkpoint(TrainingCheckpoint):
    """A checkpoint that takes some seconds."""

    def __init__(self, folder, clock, seconds):
        super().__init__(folder)
        self.clock, self.seconds = clock, seconds

    def save(self, *args):
        super().save(*args)
        self.clock.now += self.seconds


def make_model(**options):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    is_eager = keras.backend.backend() == "tensorflow"
    model.compile(AdamW(0.5), "mse", **{"run_eagerly": is_eager, **options})
    return model


def train(folder, clock, schedule=SCHEDULE, epochs=99, saving=0):
    """Trains in epochs of 4 steps; returns the model and its budget."""
    model, checkpoint = make_model(), Checkpoint(folder, clock, saving)
    budget = TimeBudget(model.optimizer, schedule, clock)
    checkpoint.restore(model)
    budget.measure(model, checkpoint)
    if not budget.is_over:
        model.fit(
            X, Y, batch_size=2, epochs=epochs, shuffle=False, verbose=0, validation_data=(X, Y),
            callbacks=[clock, checkpoint, budget],
        )  # fmt: skip
    return model, budget


@pytest.mark.slow
def test_the_rate_follows_the_clock_and_the_last_step_has_the_last_rate(assert_close, tmp_path):
    whole, budget = train(tmp_path / "whole", clock := Clock())
    begins = [18 * epoch + 4 * step for epoch in range(6) for step in range(4)]
    last = next(i for i, seconds in enumerate(begins) if seconds + 4 + 4 + 2 > 100)
    assert_close(clock.rates[:-1], [float(SCHEDULE(seconds)) for seconds in begins[:last]])
    assert_close(clock.rates[-1], 0.1 * 0.02)
    assert 100 - 4 < clock.now - 1000 <= 100
    assert budget.is_over and repr(budget) == "TimeBudget(100 of 100 seconds)"
    assert TrainingCheckpoint(tmp_path / "whole").latest_step() == len(clock.rates) == last + 1

    _, budget = train(tmp_path / "parts", first := Clock(), epochs=2)
    assert not budget.is_over
    for _ in range(2):  # then nothing is left to do
        later = Clock(now=first.now + 5000)
        resumed, budget = train(tmp_path / "parts", later)
        first.rates += later.rates
        assert budget.is_over and first.rates == clock.rates
        assert_close(resumed.get_weights(), whole.get_weights())


@pytest.mark.slow
@on("tensorflow", "jax")  # Keras has one step at a time on PyTorch
def test_several_steps_of_an_execution_have_one_rate():
    model, clock = make_model(steps_per_execution=2, run_eagerly=False), Clock()
    budget = TimeBudget(model.optimizer, SCHEDULE, clock)
    model.fit(X, Y, batch_size=2, epochs=99, verbose=0, callbacks=[clock, budget])
    assert budget.is_over and clock.now == 1000 + 100
    assert int(model.optimizer.iterations) == 2 * len(clock.rates) == 50
    assert clock.rates[-1] == np.float32(0.002)


@pytest.mark.slow
def test_a_budget_is_kept_or_refused(refused, tmp_path):
    for total in (60, 87):  # `measure` doesn't know the seconds of validation
        schedule, clock = WarmupLinearDecay(0.1, 0, total), Clock(validation=0)
        train(tmp_path / str(total), clock, schedule, saving=21)
        assert total - 4 - 21 < clock.now - 1000 - 21 <= total
    for total, told in (
        (2, "0.0 are over after 0 steps"),
        (10, "4.0 are over after 1 steps"),
    ):
        run = tmp_path / str(total), Clock(), WarmupLinearDecay(0.1, 0, total)
        refused(f"budget of {total} seconds is too short: {told}", train, *run, saving=3)
    shorter = WarmupLinearDecay(0.1, 1, 30)
    refused("60 seconds before, longer than.*30", train, tmp_path / "60", Clock(), shorter)
