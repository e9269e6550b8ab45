"""The settings of `finetune`."""

import dataclasses
from typing import Any

from keras_bert.losses import Distillation
from keras_bert.messages import check_int


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """Settings of `finetune`: how long and how fast to train, and which epoch is the best.

    Args:
        epochs: int, the number of epochs.
        learning_rate: float, the peak; None is that of the task's default optimizer.
        warmup: float, the share of the steps in which the learning rate rises.
        layer_decay: see `AdamW`.
        loss: a loss as in `compile`, in place of the task's default; no function with a teacher.
        class_weight: see `BertTask.fit`.
        accumulation_steps: see `BertTask.fit`.
        select: str, the score that selects the best epoch (higher is better); None is the task's
            main score.
        patience: int, the epochs without a better score after which training stops; or None.
        seed: int, the seed for the order of examples.
        temperature: float, of a teacher's probabilities; see `keras_bert.losses.Distillation`.
        alpha: float, the weight of a teacher, from 0 to 1; the labels have the rest.

    Raises:
        ValueError: if `epochs` or `patience` is below 1, or `temperature` or `alpha` out of range.

    Example:
    >>> from keras_bert import FineTuning
    >>> FineTuning(epochs=4, learning_rate=2e-5, patience=1).warmup
    0.1
    """

    epochs: int = 3
    learning_rate: float | None = None
    warmup: float = 0.1
    layer_decay: float | None = None
    loss: Any = None
    class_weight: dict | str | None = None
    accumulation_steps: int = 1
    select: str | None = None
    patience: int | None = None
    seed: int = 0
    temperature: float = 2.0
    alpha: float = 0.5

    def __post_init__(self):
        check_int("epochs", self.epochs)
        if self.patience is not None:
            check_int("patience", self.patience)
        Distillation("mean_squared_error", self.temperature, self.alpha)  # checks both
