"""Epoch-by-epoch training that keeps the best model and resumes after an interruption."""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert.callbacks import TrainingCurves
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import local_path
from keras_bert.finetuning.settings import FineTuning
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.divergence import check_loss, check_weights
from keras_bert.training.processes import is_chief


def train_epochs(
    model: keras.Model,
    output: str | os.PathLike,
    settings: FineTuning,
    *,
    batches: Callable,
    predict: Callable,
    score: Callable,
    keep: Callable,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> list[dict]:
    """Trains a compiled model, scores it after each epoch, and has the best epoch kept.

    Of equal epochs the first is the best. Rerun the same call to resume after the last finished
    epoch.

    Args:
        model: a compiled model.
        output: a folder, used only for this run; see `finetune`.
        settings: a `FineTuning`, whose `epochs`, `select`, `patience` and `accumulation_steps`
            count.
        batches: function of the epoch, from 0, that returns batches of known length.
        predict: function that returns the model's predictions for the dev set.
        score: function of these predictions that returns a dict of scores. `settings.select` is the
            one that decides; all are written to `scores.json`.
        keep: function of these predictions that saves a new best model, and what belongs to it.
            Each of several processes calls it.
        callbacks: Keras callbacks.

    Returns:
        A list of dicts, the scores of each trained epoch.

    Example:
    ```python
    train_epochs(
        model,
        "tagger",
        FineTuning(epochs=20, select="f1", patience=3),
        batches=lambda epoch: dataset.shuffle(1000, seed=epoch).batch(32),
        predict=lambda: model.predict(dev),
        score=lambda predictions: {"f1": f1_of(predictions)},
        keep=lambda predictions: model.save("tagger/best.keras"),
    )
    ```
    """
    select = settings.select
    output = local_path(output)
    checkpoint = TrainingCheckpoint(output / "checkpoints")
    first_batches = batches(0)
    steps = _num_steps(first_batches)
    step = checkpoint.restore(model)
    scores = _read_scores(output, step, steps, select) if step else []
    if scores:
        print(f"Resumed: {len(scores)} of {settings.epochs} epochs are done.")
    curves = TrainingCurves(output / "logs", every=1)
    for epoch in range(len(scores), settings.epochs):
        if _is_stuck(scores, settings):
            print(f"No better {select} in {settings.patience} epochs: stopped early.")
            break
        model.fit(
            batches(epoch) if epoch else first_batches,
            initial_epoch=epoch,
            epochs=settings.epochs,
            shuffle=False,  # the dataset is already shuffled
            # In this order: the curves show the loss that ends a run.
            callbacks=[*callbacks, curves, _OneEpoch(checkpoint)],
            **_accumulation(settings),
        )
        check_weights(model, checkpoint)
        predictions = predict()
        epoch_scores = score(predictions)
        _check_selects(select, epoch_scores)
        scores.append(epoch_scores)
        curves.write(len(scores) * steps, {f"dev/{n}": v for n, v in epoch_scores.items()})
        print(f"epoch {epoch + 1}:", shown_scores(epoch_scores), flush=True)
        if _best(scores, select) == epoch:
            keep(predictions)
        if is_chief(model):
            write_json(output / "scores.json", scores)
        checkpoint.save(model, len(scores) * steps)
    checkpoint.wait()
    best = _best(scores, select)
    print(f"Best epoch by {select}: {best + 1} of {len(scores)}, {shown_scores(scores[best])}")
    return scores


class _OneEpoch(keras.callbacks.Callback):
    """Ends `fit` after an epoch, and at a loss that isn't finite."""

    def __init__(self, checkpoint):
        super().__init__()
        self.checkpoint = checkpoint

    def on_train_batch_end(self, batch, logs=None):
        check_loss(self, logs, self.checkpoint)

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = True


def shown_scores(scores: dict[str, Any]) -> str:
    """Formats the numbers in a dict of scores as a line of text."""
    shown = []
    for name, value in scores.items():
        if isinstance(value, (int, float)):
            shown.append(f"{name} {value:.4g}")
    return ", ".join(shown)


def _accumulation(settings):
    """Returns the arguments of `fit` for parts of batches, which not every Keras model takes."""
    if settings.accumulation_steps == 1:
        return {}
    return {"accumulation_steps": settings.accumulation_steps}


def _is_stuck(scores, settings):
    """Returns whether the last `patience` epochs were no better than one before them."""
    if not scores or settings.patience is None:
        return False
    since_best = len(scores) - 1 - _best(scores, settings.select)
    return since_best >= settings.patience


def _check_selects(select, scores):
    if select not in scores:
        raise ValueError(
            f"There is no score {select!r} to select an epoch by; the scores are "
            f"{', '.join(scores)}."
        )


def _num_steps(batches):
    steps = int(batches.cardinality()) if hasattr(batches, "cardinality") else len(batches)
    if steps < 1:
        raise ValueError(
            f"batches(epoch) must give batches of known length, at least one; theirs is {steps}. "
            "Set a dataset's with dataset.apply(tf.data.experimental.assert_cardinality(n))."
        )
    return steps


def _read_scores(output, step, steps_per_epoch, select):
    """Reads the scores of the epochs that a checkpoint's step is after."""
    scores = read_json(output / "scores.json", list)
    done, rest = divmod(step, steps_per_epoch)
    if rest or len(scores) < done or any(select not in score for score in scores):
        raise ValueError(
            f"{output} holds a run with other settings: its checkpoint is at step {step}, an epoch "
            f"here has {steps_per_epoch} steps and is selected by {select}, and the scores are "
            f"{scores}. Use the settings of that run, or give this run a folder of its own."
        )
    return scores[:done]


def _best(scores, select):
    """Returns the index of the best epoch; among equal epochs, the first."""
    return max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))


def rank(score: float) -> tuple[bool, float]:
    """Returns a key for comparing scores: higher is better, and NaN is lowest."""
    return (False, 0.0) if math.isnan(score) else (True, score)
