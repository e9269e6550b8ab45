"""BERT's learning rate schedule."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.messages import check_number
from keras_bert.saved import Saved, own_arguments, registered, saved_arguments


@registered
@dataclasses.dataclass(eq=False)
class WarmupLinearDecay(Saved, keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises linearly to a peak, then falls linearly to 0 or a last rate.

    With W warm-up steps of N, step s = 0, 1, ... has the rate

        peak * s / W        where s < W
        peak * (1 - s / N)  after

    as in Google's BERT (google-research/bert optimization.py). There, the first step has rate 0,
    and at s = W the rate drops from the peak to peak * (1 - W / N). `continuous=True` avoids both:

        peak * min((s + 1) / W, (N - s) / (N - W))

    With `final_fraction=f` the rate falls to f * peak: d, the factor after the warm-up, becomes
    f + (1 - f) * d. `recipes/pretrain_day.py` counts in seconds instead of steps.

    Args:
        peak_learning_rate: float, the highest rate.
        warmup_steps: int, W, in optimizer steps; 0 for no warm-up; or a number of seconds.
        total_steps: int, N, in the same unit; more than `warmup_steps`.
        continuous: bool; False is Google's schedule.
        final_fraction: float, f, the last rate as a fraction of the peak, below 1.

    Call arguments:
        step: int or integer tensor, the number of completed steps.

    Returns:
        The rate, a float32 scalar.

    Raises:
        ValueError: if the rate is negative or not finite, or `warmup_steps` is negative or not
            below `total_steps`.

    Example:
    >>> rate = WarmupLinearDecay(1e-4, warmup_steps=10, total_steps=100)
    >>> [round(float(rate(step)) * 1e4, 2) for step in (0, 5, 10, 50, 100)]
    [0.0, 0.5, 0.9, 0.5, 0.0]
    """

    peak_learning_rate: float
    warmup_steps: float
    total_steps: float
    continuous: bool = False
    final_fraction: float = 0.0

    def __post_init__(self):
        check_number("peak_learning_rate", self.peak_learning_rate, at_least=0)
        check_number("total_steps", self.total_steps)
        check_number("warmup_steps", self.warmup_steps, at_least=0, below=self.total_steps)
        check_number("final_fraction", self.final_fraction, at_least=0, below=1)

    def __call__(self, step: Any) -> Any:
        warmup = float(self.warmup_steps)
        total = float(self.total_steps)
        step = ops.minimum(ops.cast(step, "float32"), total)
        if self.continuous:
            rising = (step + 1) / (warmup or 1.0)
            falling = (total - step) / (total - warmup)
        else:
            rising = step / (warmup or 1.0)
            falling = 1 - step / total
        falling = self.final_fraction + (1 - self.final_fraction) * falling
        is_rising = rising < falling if self.continuous else step < warmup
        return self.peak_learning_rate * ops.where(is_rising, rising, falling)

    def get_config(self):
        names = [field.name for field in dataclasses.fields(self)]
        return saved_arguments(self, own_arguments(self, names))
