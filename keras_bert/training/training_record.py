"""Record of how a model got its weights, for its model card: source, training runs, scores."""

import math
import ntpath
import numbers
import os
from dataclasses import dataclass, field
from typing import Any

import keras

from keras_bert.files.json_fields import JsonFields


@dataclass
class TrainingRecord:
    """History of an encoder: the weights it started from, and each training run.

    Args:
        source: name of published weights, such as `"hf://google-bert/bert-base-uncased"`; or None.
        runs: a list of `{"task": class, "settings": {name: value}}`, the first run first.
    """

    source: str | None = None
    runs: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Scores:
    """Scores of a model's present weights, `{"dev": {"accuracy": 0.9}}`.

    `history` is what the model's last `fit` returned; after another `fit` they no longer hold.
    """

    sets: dict[str, dict[str, float]]
    history: Any


def record_training(
    model: keras.Model,
    settings: dict[str, Any],
    scores: dict[str, dict[str, float]] | None = None,
) -> None:
    """Records how a model was trained; see `PresetModel.record_training`."""
    checked = _checked_settings(settings)
    if scores is not None:
        _check_scores(scores)
    record = _record(model)
    run = {"task": type(model).__name__, "settings": checked}
    if record.runs[-1:] != [run]:
        record.runs = [*record.runs, run]
    model.recorded_scores = None
    record_scores(model, scores or {})


def record_scores(model: keras.Model, scores: dict[str, dict[str, Any]]) -> None:
    """Records scores of a model's present weights; they replace those of the same names.

    Args:
        model: as in `record_training`.
        scores: `{name of the examples: {name: number}}`; values that aren't finite numbers are left
            out.
    """
    known = getattr(model, "recorded_scores", None)
    history = getattr(model, "history", None)
    sets = {} if known is None else known.sets
    new = {
        name: {score: float(v) for score, v in found.items() if _is_number(v) and math.isfinite(v)}
        for name, found in scores.items()
    }
    model.recorded_scores = _Scores({**sets, **new}, history)


def start_record(
    model: keras.Model, source: str | None, saved: JsonFields | None, has_new_weights: bool
) -> None:
    """Sets the record of a model that was just loaded.

    Args:
        model: as in `record_training`.
        source: name of the published weights, or None.
        saved: the result of `training_of` in a local preset; None without one.
        has_new_weights: whether some weights are newly initialized, so that scores don't hold.

    Raises:
        ValueError: if the saved record is damaged.
    """
    if source is not None or not saved:
        _set_record(model, TrainingRecord(source))
        return
    runs = [
        {"task": run.text("task", ""), "settings": _read_settings(run.fields("settings"))}
        for run in saved.listed_fields("runs")
    ]
    _set_record(model, TrainingRecord(saved.text("source"), runs))
    if not has_new_weights and saved.text("scored") == type(model).__name__:
        sets = saved.fields("scores")
        found = {name: sets.fields(name) for name in sets.values}
        record_scores(model, {n: {s: f.number(s) for s in f.values} for n, f in found.items()})


def training_of(model: keras.Model) -> dict[str, Any]:
    """Returns a model's record as JSON: `source`, `runs`, `scores`; {} if nothing is known."""
    record, known = _record(model), getattr(model, "recorded_scores", None)
    runs, scores = record.runs, {} if known is None else known.sets
    history = getattr(model, "history", None)
    if history is not None and (known is None or known.history is not history):
        runs = [*runs, {"task": type(model).__name__, "settings": _settings_of_fit(model, history)}]
        scores = {"validation": _validation_metrics(history)}
    scores = {name: found for name, found in scores.items() if found}
    found = {"source": record.source, "runs": runs, "scores": scores}
    found["scored"] = type(model).__name__ if scores else None
    return {name: value for name, value in found.items() if value}


def _record(model):
    """Returns the record of a model's encoder, which its tasks share."""
    encoder = getattr(model, "backbone", model)
    if getattr(encoder, "training_record", None) is None:
        encoder.training_record = TrainingRecord()
    return encoder.training_record


def _set_record(model, record):
    getattr(model, "backbone", model).training_record = record


def _settings_of_fit(model, history):
    """Returns what Keras knows about the last `fit`."""
    optimizer = getattr(model, "optimizer", None)
    settings = {"epochs of the last fit": len(history.epoch)}
    steps = (history.params or {}).get("steps")
    if steps:
        settings["steps per epoch"] = int(steps)
    if optimizer is None:
        return settings
    rate = optimizer.get_config().get("learning_rate")
    settings["optimizer"] = type(optimizer).__name__
    if isinstance(rate, dict):  # a schedule
        settings["learning_rate"] = rate.get("class_name", "a schedule")
        settings |= {k: v for k, v in rate.get("config", {}).items() if _is_number(v)}
    elif rate is not None:
        settings["learning_rate"] = float(rate)
    return settings


def _validation_metrics(history):
    return {
        name.removeprefix("val_"): float(values[-1])
        for name, values in history.history.items()
        if name.startswith("val_") and values and math.isfinite(values[-1])
    }


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _checked_settings(settings):
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise ValueError(
            f"settings must be a dict of names to values, such as {{'epochs': 3}}; got {settings!r}"
        )
    return {name: _plain(name, v) for name, v in settings.items() if v is not None}


def _plain(name, value):
    """Returns a setting as a bool, number or string."""
    if isinstance(value, bool):
        return value
    if _is_number(value):
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, (str, os.PathLike)):
        text = str(value)
        is_path = "://" in text or text.startswith("~") or ntpath.isabs(text) or os.path.isabs(text)
        return ntpath.basename(text.rstrip("/\\")) if is_path and not text.isspace() else text
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_plain(name, each)) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(name, each)}" for key, each in value.items())
    if value is None:
        return "None"
    raise ValueError(
        f"The setting {name!r} must be a number, a string, a bool, None, or a list or dict of "
        f"them; got a {type(value).__name__}. Pass its name as a string."
    )


def _check_scores(scores):
    is_right = isinstance(scores, dict) and all(
        isinstance(name, str) and isinstance(found, dict) for name, found in scores.items()
    )
    if not is_right:
        raise ValueError(
            "scores must be a dict of dicts, such as {'dev': {'accuracy': 0.91}}; got "
            f"{scores!r}."
        )


def _read_settings(fields):
    for name, value in fields.values.items():
        if not isinstance(value, (str, int, float)):
            raise fields.error(name, "a string or a number", value)
    return dict(fields.values)
