import keras
import numpy as np
import pytest

from keras_bert import AdamW, TrainingCheckpoint, WarmupLinearDecay
from keras_bert.callbacks import TimeBudget

X = np.random.default_rng(1).normal(size=(8, 4)).astype("float32")
Y = X.sum(axis=1)
SCHEDULE = WarmupLinearDecay(0.1, 10, 100, continuous=True, final_fraction=0.02)


class Clock(keras.callbacks.Callback):
    """A clock in which a step takes 4 seconds and validation 3."""

    def __init__(self, now=1000.0):
        super().__init__()
        self.now, self.rates = now, []

    def __call__(self):
        return self.now

    def on_train_batch_end(self, batch, logs=None):
        self.now += 4
        self.rates.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))

    def on_test_end(self, logs=None):
        self.now += 3


def make_model(**options):
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6), keras.layers.Dense(1)])
    model.compile(AdamW(0.5), "mse", **options)
    return model


def train(folder, clock, model=None, epochs=99, **settings):
    """Trains in epochs of 4 steps, the first of which has 1; returns the model and its budget."""
    model = model or make_model()
    budget, checkpoint = TimeBudget(model.optimizer, SCHEDULE, clock), TrainingCheckpoint(folder)
    checkpoint.restore(model)
    settings = {"batch_size": 2, "shuffle": False, "verbose": 0, "validation_data": (X, Y)}
    settings["callbacks"] = [clock, checkpoint, budget]
    if not budget.seconds:
        model.fit(X[:2], Y[:2], **settings)
    model.fit(X, Y, epochs=epochs, **settings)
    return model, budget


def test_the_rate_follows_the_clock_and_the_last_step_has_the_last_rate(assert_close, tmp_path):
    clock = Clock()
    _, budget = train(tmp_path, clock)
    # Steps of 4 seconds, and 3 seconds at the end of an epoch: of 1 step, then of 4.
    begins = [0, *(7 + 19 * epoch + 4 * step for epoch in range(5) for step in range(4))]
    last = next(i for i, seconds in enumerate(begins) if seconds + 2 * 4 + 3 > 100)
    assert_close(clock.rates[:-1], [float(SCHEDULE(seconds)) for seconds in begins[:last]])
    assert_close(clock.rates[-1], 0.1 * 0.02)
    assert 100 - 4 <= clock.now - 1000 <= 100
    assert budget.is_over and repr(budget) == "TimeBudget(100 of 100 seconds)"
    assert TrainingCheckpoint(tmp_path).latest_step() == len(clock.rates) == last + 1


def test_a_resumed_run_equals_one_that_was_not_interrupted(assert_close, tmp_path):
    clock, again = Clock(), Clock(now=0)
    whole, _ = train(tmp_path / "whole", clock)
    same, _ = train(tmp_path / "again", again)
    assert again.rates == clock.rates
    assert all(map(np.array_equal, same.get_weights(), whole.get_weights()))

    _, budget = train(tmp_path / "parts", first := Clock(), epochs=2)
    assert not budget.is_over
    resumed, budget = train(tmp_path / "parts", later := Clock(now=first.now + 5000))
    assert budget.is_over and [*first.rates, *later.rates] == clock.rates
    assert_close(resumed.get_weights(), whole.get_weights())


def test_several_steps_of_an_execution_have_one_rate(tmp_path):
    if keras.backend.backend() == "torch":
        pytest.skip("Keras trains one step at a time on PyTorch")
    model = make_model(steps_per_execution=2)
    clock = Clock()
    model.fit(
        X, Y, batch_size=2, epochs=99, verbose=0,
        callbacks=[clock, budget := TimeBudget(model.optimizer, SCHEDULE, clock)],
    )  # fmt: skip
    assert budget.is_over and clock.now == 1000 + 100
    assert int(model.optimizer.iterations) == 2 * len(clock.rates) == 50
    assert clock.rates[-1] == np.float32(0.002)


def test_a_budget_that_can_not_be_kept_is_refused(refused, tmp_path):
    model = make_model()
    short = WarmupLinearDecay(0.1, 1, 10)
    budget = TimeBudget(model.optimizer, short, clock := Clock())
    settings = {"verbose": 0, "batch_size": 2, "validation_data": (X, Y)}
    settings["callbacks"] = [clock, TrainingCheckpoint(tmp_path), budget]
    model.fit(X[:2], Y[:2], **settings)
    refused("10 seconds is too short.*took 4.0 seconds, and.*3.0", model.fit, X, Y, **settings)

    train(tmp_path / "run", Clock(), epochs=2)
    model = make_model()
    budget = TimeBudget(model.optimizer, WarmupLinearDecay(0.1, 1, 20), Clock())
    TrainingCheckpoint(tmp_path / "run").restore(model)
    refused("trained for 45 seconds before.*budget of 20", model.fit, X, Y, callbacks=[budget])

    optimizer = AdamW(SCHEDULE)
    refused(
        r"create the optimizer with a number, such as AdamW\(1e-4\)",
        TimeBudget,
        optimizer,
        SCHEDULE,
    )
