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
    settings = {name: _plain(v) for name, v in settings.items() if v is not None}
    record, run = _record(model), {"task": type(model).__name__, "settings": settings}
    if record["runs"][-1:] != [run]:
        record["runs"].append(run)
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
    known, _ = getattr(model, "recorded_scores", None) or ({}, None)
    for name, values in scores.items():
        finite = {s: float(v) for s, v in values.items() if _is_number(v) and math.isfinite(v)}
        known = {**known, name: finite}
    # With the result of the last `fit`: after another one, the scores no longer hold.
    model.recorded_scores = known, getattr(model, "history", None)


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
        fields = {name: sets.fields(name) for name in sets.values}
        record_scores(model, {n: {s: f.number(s) for s in f.values} for n, f in fields.items()})


def training_of(model: keras.Model) -> dict[str, Any]:
    """Returns a model's record as JSON: `source`, `runs`, `scores`; {} if nothing is known."""
    record, history = {**_record(model)}, getattr(model, "history", None)
    scores, of_history = getattr(model, "recorded_scores", None) or ({}, None)
    if history is not None and of_history is not history:
        run = {"task": type(model).__name__, "settings": _settings_of_fit(model, history)}
        record["runs"] = [*record["runs"], run]
        of_dev = {n: v for n, v in history.history.items() if n.startswith("val_") and v}
        last = {name.removeprefix("val_"): values[-1] for name, values in of_dev.items()}
        scores = {"validation": {n: float(v) for n, v in last.items() if math.isfinite(v)}}
    record["scores"] = {name: values for name, values in scores.items() if values}
    record["scored"] = record["scores"] and type(model).__name__
    return {name: value for name, value in record.items() if value}


def _record(model):
    """Returns the record of a model's encoder, `{"source", "runs"}`, which its tasks share."""
    encoder = getattr(model, "backbone", model)
    if getattr(encoder, "training_record", None) is None:
        encoder.training_record = {"source": None, "runs": []}
    return encoder.training_record


def _settings_of_fit(model, history):
    settings = {"epochs of the last fit": len(history.epoch)}
    if steps := (history.params or {}).get("steps"):
        settings["steps per epoch"] = int(steps)
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return settings
    rate = optimizer.get_config().get("learning_rate")
    if isinstance(rate, dict):  # a schedule
        settings["learning_rate"] = rate.get("class_name", "a schedule")
        settings |= {k: v for k, v in rate.get("config", {}).items() if _is_number(v)}
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
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_plain(each)) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(each)}" for key, each in value.items())
    if not isinstance(value, (str, os.PathLike, type(None))):
        return type(value).__name__
    text = str(value)
    is_path = "://" in text or text.startswith("~") or ntpath.isabs(text) or os.path.isabs(text)
    return ntpath.basename(text.rstrip("/\\")) if is_path and not text.isspace() else text
