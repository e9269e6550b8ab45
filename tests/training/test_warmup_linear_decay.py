import keras
import numpy as np

from keras_bert.training.warmup_linear_decay import WarmupLinearDecay


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


RATES = [
    # Google's form drops at the end of the warm-up; the continuous one starts above 0.
    (
        (1.0, 10, 100),
        {0: 0, 1: 0.1, 9: 0.9, 10: 0.9, 11: 0.89, 50: 0.5, 99: 0.01, 100: 0, 101: 0},
    ),
    (
        (1.0, 10, 100, True),
        {0: 0.1, 1: 0.2, 9: 1, 10: 1, 55: 0.5, 99: 1 / 90, 100: 0, 999: 0},
    ),
    # In seconds.
    (
        (1.0, 1.5, 6.0, True, 0.02),
        {0: 2 / 3, 0.4: 0.933333, 1.5: 1, 6: 0.02, 7: 0.02},
    ),
    *(((2.0, 0, 4, continuous), {0: 2, 1: 1.5, 3: 0.5, 4: 0}) for continuous in (False, True)),
]


def test_the_rate_rises_to_the_peak_and_falls_to_0(assert_close):
    for settings, expected in RATES:
        schedule = WarmupLinearDecay(*settings)
        assert_close(rates(schedule, expected), [*expected.values()], name=settings)


def test_the_papers_million_steps_are_told_apart():
    actual = rates(WarmupLinearDecay(1e-4, 10_000, 1_000_000), [999_998, 999_999])
    np.testing.assert_allclose(actual, [2e-10, 1e-10], rtol=0.05)


def test_config_round_trip():
    schedule = WarmupLinearDecay(3e-5, 7, 70, continuous=True, final_fraction=0.02)
    config = keras.optimizers.schedules.serialize(schedule)
    copy = keras.optimizers.schedules.deserialize(config)
    assert isinstance(copy, WarmupLinearDecay) and copy.get_config() == schedule.get_config()


REFUSED = [
    ("peak_learning_rate.*of at least 0", (-1.0, 1, 9)),
    ("total_steps", (1.0, 1, np.nan)),
    ("warmup_steps.*of at least 0", (1.0, -1, 9)),
    ("warmup_steps must be below 9", (1.0, 9, 9)),
    ("final_fraction.*of at least 0", (1.0, 1, 9, False, -0.1)),
    ("final_fraction must be below 1", (1.0, 1, 9, False, 1)),
]


def test_a_warm_up_that_does_not_end_in_time_and_a_last_rate_above_the_peak_are_refused(refused):
    for message, numbers in REFUSED:
        refused(message, WarmupLinearDecay, *numbers)
