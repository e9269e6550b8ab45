"""Values that `finetune` takes: how to train, and a teacher to learn from."""

import dataclasses
import os
from typing import Any

from keras_bert.losses import Distillation
from keras_bert.messages import check_int
from keras_bert.models.bert_task import BertTask


@dataclasses.dataclass(frozen=True)
class FineTuning:
    """Settings of `finetune`: how long and how fast to train, and what selects the best epoch.

    Args:
        epochs: number of epochs.
        learning_rate: the peak; None is that of the task's default optimizer.
        warmup: fraction of the steps in which the learning rate rises.
        layer_decay: see `AdamW`.
        loss: a loss as in `compile`, in place of the task's default.
        class_weight: see `BertTask.fit`.
        accumulation_steps: see `BertTask.fit`.
        select: name of the score that selects the best epoch (higher is better); None is the task's
            main score.
        patience: epochs without a better score after which training stops; or None.
        seed: seed for the order of examples.

    Raises:
        ValueError: if `epochs` or `patience` is below 1.

    Example:
    >>> from keras_bert.finetuning import FineTuning
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

    def __post_init__(self):
        check_int("epochs", self.epochs)
        if self.patience is not None:
            check_int("patience", self.patience)


@dataclasses.dataclass(frozen=True)
class Teacher:
    """A trained task whose outputs a model learns in `finetune`, together with the labels.

    A `BertEmbedder` learns the teacher's vectors of its texts instead, which need no labels or
    pairs, by the squared error or the given `loss`; temperature and alpha have no effect then.

    Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network".

    Args:
        source: a task of the same class, labels and vocabulary, or a preset of one.
        temperature: see `keras_bert.losses.Distillation`.
        alpha: the weight of the teacher, from 0 to 1; the labels have the rest.

    Raises:
        ValueError: if `temperature` or `alpha` is out of range.

    Example:
    >>> from keras_bert.finetuning import Teacher
    >>> Teacher("reviews/best", alpha=0.9).temperature
    2.0
    """

    source: BertTask | str | os.PathLike
    temperature: float = 2.0
    alpha: float = 0.5

    def __post_init__(self):
        Distillation("mean_squared_error", self.temperature, self.alpha)  # checks both
