"""Record of how a model got its weights, for its model card: source, training runs, scores."""

import math
import ntpath
import numbers
import os
from typing import Any

import keras

from keras_bert.files.json_files import JsonFields


def record_training(
    model: keras.Model, settings: dict[str, Any], scores: dict[str, dict[str, float]] | None = None
) -> None:
    """Records how a model was trained; see `PresetModel.record_training`."""
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise ValueError(f"settings must be a dict, such as {{'epochs': 3}}; got {settings!r}")
    settings = {name: _plain(value) for name, value in settings.items() if value is not None}
    run = {"task": type(model).__name__, "settings": settings}
    runs = _record(model)["runs"]
    if run not in runs[-1:]:
        runs.append(run)
    model.recorded_scores = None
    record_scores(model, scores or {})


def record_scores(model: keras.Model, scores: dict[str, dict[str, Any]]) -> None:
    """Records scores, `{name of the examples: {name: number}}`, of a model's present weights.

    They replace those of the same names. Values that aren't finite numbers are left out.
    """
    if not isinstance(scores, dict) or not all(isinstance(v, dict) for v in scores.values()):
        raise ValueError(
            f"scores must be a dict of dicts, such as {{'dev': {{'accuracy': 0.91}}}}; got {scores}"
        )
    known, _ = _recorded_scores(model)
    finite = {name: _finite_numbers(values) for name, values in scores.items()}
    # With the result of the last `fit`: after another one, the scores no longer hold.
    model.recorded_scores = known | finite, getattr(model, "history", None)


def start_record(
    model: keras.Model, source: str | None, saved: JsonFields | None, has_new_weights: bool
) -> None:
    """Sets the record of a model that was just loaded.

    `source` names published weights; `saved` is the result of `training_of` in a local preset.
    Scores don't hold if the model `has_new_weights`.
    """
    record = _record(model)
    record |= {"source": source, "runs": []}
    if source is not None or not saved:
        return
    record["source"] = saved.text("source")
    for run in saved.listed_fields("runs"):
        settings = run.fields("settings")
        for name, value in settings.values.items():
            if not isinstance(value, (str, int, float)):
                raise settings.error(name, "a string or a number", value)
        record["runs"].append({"task": run.text("task", ""), "settings": settings.values})
    if not has_new_weights and saved.text("scored") == type(model).__name__:
        sets = saved.fields("scores")
        scores = {}
        for examples in sets.values:
            numbers = sets.fields(examples)
            scores[examples] = {name: numbers.number(name) for name in numbers.values}
        record_scores(model, scores)


def training_of(model: keras.Model) -> dict[str, Any]:
    """Returns a model's record as JSON: `source`, `runs`, `scores`; {} if nothing is known."""
    task = type(model).__name__
    record = dict(_record(model))
    scores, scored_history = _recorded_scores(model)
    history = getattr(model, "history", None)
    if history is not None and scored_history is not history:
        run = {"task": task, "settings": _settings_of_fit(model, history)}
        record["runs"] = record["runs"] + [run]
        last = {}
        for name, values in history.history.items():
            if name.startswith("val_"):
                last[name.removeprefix("val_")] = values[-1]
        scores = {"validation": _finite_numbers(last)}
    scores = {examples: numbers for examples, numbers in scores.items() if numbers}
    if scores:
        record |= {"scores": scores, "scored": task}
    return {name: value for name, value in record.items() if value}


def _recorded_scores(model):
    """Returns a model's scores, and the result of the `fit` before them."""
    return getattr(model, "recorded_scores", None) or ({}, None)


def _finite_numbers(values):
    finite = {}
    for name, value in values.items():
        if _is_number(value) and math.isfinite(value):
            finite[name] = float(value)
    return finite


def _record(model):
    """Returns the record of a model's encoder, `{"source", "runs"}`, which its tasks share."""
    encoder = getattr(model, "backbone", model)
    if getattr(encoder, "training_record", None) is None:
        encoder.training_record = {"source": None, "runs": []}
    return encoder.training_record


def _settings_of_fit(model, history):
    settings = {"epochs of the last fit": len(history.epoch)}
    steps = (history.params or {}).get("steps")
    if steps:
        settings["steps per epoch"] = int(steps)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return settings
    rate = optimizer.get_config().get("learning_rate")
    if isinstance(rate, dict):  # a schedule, or a function, whose config is its name
        settings["learning_rate"] = rate["class_name"]
        config = rate["config"]
        if isinstance(config, dict):
            settings |= {name: value for name, value in config.items() if _is_number(value)}
    elif rate is not None:
        settings["learning_rate"] = float(rate)
    return {**settings, "optimizer": type(optimizer).__name__}


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _plain(value):
    """Returns a setting as a bool, a finite number, or a string; a path without its folders."""
    if isinstance(value, bool):
        return value
    if _is_number(value):
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_plain(item)) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if not isinstance(value, (str, os.PathLike, type(None))):
        return type(value).__name__
    text = str(value)
    is_path = "://" in text or text.startswith("~") or ntpath.isabs(text) or os.path.isabs(text)
    return ntpath.basename(text.rstrip("/\\")) if is_path else text
