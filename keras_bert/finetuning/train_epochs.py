"""Epoch-by-epoch training that keeps the best model and resumes after an interruption."""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import local_path
from keras_bert.finetuning.settings import FineTuning
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.divergence import DivergenceStop, check_weights
from keras_bert.training.processes import is_chief


def train_epochs(
    model: keras.Model,
    output: str | os.PathLike,
    settings: FineTuning,
    *,
    batches: Callable,
    predict: Callable,
    score: Callable,
    save: Callable,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> list[dict]:
    """Trains a compiled model, scores it after each epoch, and has the best epoch kept.

    `batches(epoch)`, from 0, gives batches of known length, and `predict()` the predictions of the
    dev set. `score(predictions)` returns a dict of floats, of which `settings.select` decides, the
    first of equal epochs winning; other values are only kept in `scores.json`. `save(predictions,
    scores)` saves each new best model, and what belongs to it; each of several processes calls it.

    Returns the scores of each trained epoch. Of the settings, those of epochs and parts count;
    other arguments and the folder are those of `finetune`.
    """
    epochs = settings.epochs
    select = settings.select
    patience = settings.patience
    arguments = {}
    if settings.accumulation_steps > 1:  # other Keras models don't take it
        arguments["accumulation_steps"] = settings.accumulation_steps
    output = local_path(output)
    checkpoint = TrainingCheckpoint(output / "checkpoints")
    steps = len(batches(0))
    scores = _read_scores(output, checkpoint.restore(model), steps, select)
    if scores:
        print(f"Resumed: {len(scores)} of {epochs} epochs are done.")
    one_epoch = keras.callbacks.LambdaCallback(  # of each `fit`
        on_epoch_end=lambda *_: setattr(model, "stop_training", True)
    )
    for epoch in range(len(scores), epochs):
        if patience and scores and epoch - 1 - best_epoch(scores, select) >= patience:
            print(f"No better {select} in {patience} epochs: stopped early.")
            break
        model.fit(
            batches(epoch),
            initial_epoch=epoch,
            epochs=epochs,
            shuffle=False,  # the dataset is already shuffled
            callbacks=[*callbacks, DivergenceStop(checkpoint), one_epoch],
            **arguments,
        )
        check_weights(model, checkpoint)
        predictions = predict()
        scores.append(score(predictions))
        if select not in scores[-1]:
            raise ValueError(
                f"There is no score {select!r} to select an epoch by; the scores are "
                f"{', '.join(scores[-1])}."
            )
        print(f"epoch {epoch + 1}:", shown_scores(scores[-1]), flush=True)
        if best_epoch(scores, select) == epoch:
            save(predictions, scores[-1])
        if is_chief(model):
            write_json(output / "scores.json", scores)
        checkpoint.save(model, len(scores) * steps)
    checkpoint.wait()
    best = best_epoch(scores, select)
    print(f"Best epoch by {select}: {best + 1} of {len(scores)}, {shown_scores(scores[best])}")
    return scores


def shown_scores(scores: dict[str, Any]) -> str:
    """Formats the numbers in a dict of scores as a line of text."""
    numbers = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())


def _read_scores(output, step, steps_per_epoch, select):
    if not step:
        return []
    scores = []
    for epoch in read_json(output / "scores.json", list):
        if isinstance(epoch, dict) and isinstance(epoch.get(select), (int, float)):
            scores.append(epoch)
    done = step // steps_per_epoch
    if step % steps_per_epoch or len(scores) < done:
        raise ValueError(
            f"{output} holds a run with other settings: its checkpoint is at step {step}, an epoch "
            f"here has {steps_per_epoch} steps, and scores.json has a number {select!r} for "
            f"{len(scores)} epochs. Use the settings of that run, or give this run a folder of its "
            "own."
        )
    return scores[:done]


def best_epoch(scores: list[dict[str, float]], select: str) -> int:
    """Returns the index of the best epoch; among equal epochs, the first."""
    return max(range(len(scores)), key=lambda epoch: rank(scores[epoch][select]))


def rank(score: float) -> tuple[bool, float]:
    """Returns a key for comparing scores: higher is better, and NaN is lowest."""
    return (False, 0.0) if math.isnan(score) else (True, score)
