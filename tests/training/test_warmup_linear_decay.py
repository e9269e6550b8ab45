import keras
import numpy as np
import pytest

from keras_bert.training.warmup_linear_decay import WarmupLinearDecay


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def test_googles_form_drops_at_the_end_of_the_warm_up(assert_close):
    schedule = WarmupLinearDecay(1.0, warmup_steps=10, total_steps=100)
    actual = rates(schedule, [0, 1, 9, 10, 11, 50, 99, 100])
    assert_close(actual, [0, 0.1, 0.9, 0.9, 0.89, 0.5, 0.01, 0])


def test_the_continuous_form_starts_above_0_and_reaches_the_peak(assert_close):
    schedule = WarmupLinearDecay(1.0, warmup_steps=10, total_steps=100, continuous=True)
    actual = rates(schedule, [0, 1, 9, 10, 55, 99, 100])
    assert_close(actual, [0.1, 0.2, 1, 1, 0.5, 1 / 90, 0])


@pytest.mark.parametrize("continuous", [False, True])
def test_without_warm_up_the_rate_falls_from_the_peak(assert_close, continuous):
    schedule = WarmupLinearDecay(2.0, 0, 4, continuous=continuous)
    assert_close(rates(schedule, range(5)), [2, 1.5, 1, 0.5, 0])


@pytest.mark.parametrize("continuous", [False, True])
def test_after_the_last_step_the_rate_stays_0(continuous):
    assert rates(WarmupLinearDecay(1.0, 2, 10, continuous), [10, 11, 1000]) == [0, 0, 0]


def test_the_papers_million_steps_are_told_apart():
    schedule = WarmupLinearDecay(1e-4, 10_000, 1_000_000)
    actual = rates(schedule, [999_998, 999_999])
    np.testing.assert_allclose(actual, [2e-10, 1e-10], rtol=0.05)


@pytest.mark.parametrize("continuous", [False, True])
def test_config_round_trip(continuous):
    schedule = WarmupLinearDecay(3e-5, 7, 70, continuous=continuous)
    config = keras.optimizers.schedules.serialize(schedule)
    copy = keras.optimizers.schedules.deserialize(config)
    assert isinstance(copy, WarmupLinearDecay) and copy.get_config() == schedule.get_config()
    assert rates(copy, range(0, 70, 9)) == rates(schedule, range(0, 70, 9))


@pytest.mark.parametrize(("warmup", "total"), [(-1, 10), (10, 10), (11, 10), (0, 0)])
def test_a_warm_up_that_does_not_end_in_time_is_refused(warmup, total):
    with pytest.raises(ValueError, match=f"warmup_steps={warmup} and total_steps={total}"):
        WarmupLinearDecay(1.0, warmup, total)
