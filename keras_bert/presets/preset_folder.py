"""Presets of this library: `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`."""

import math
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from keras_bert.files.json_fields import JsonFields
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.checkpoint import check_size
from keras_bert.presets.formats.weight_file import checked_num_bytes
from keras_bert.presets.formats.weight_names import read_own_arguments
from keras_bert.presets.load_checkpoint import LoadReport, naming
from keras_bert.presets.model_card import write_card
from keras_bert.presets.preset_arguments import (
    changed_arguments,
    check_arguments,
    check_saves,
    split_dtype,
)
from keras_bert.presets.quantization import quantized_from_config
from keras_bert.training.keras_internals import all_layers
from keras_bert.training.processes import is_chief, wait_for_all
from keras_bert.training.training_record import training_of

if TYPE_CHECKING:  # needs TensorFlow Text
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor

FORMAT = 2
FORMATS = (1, 2)
_SIZES = ("vocabulary_size", "num_layers", "hidden_dim", "intermediate_dim")
_SIZES += ("max_sequence_length", "num_segments")


def public_class(name: str) -> type:
    """Imports the public class with this name."""
    return getattr(import_module("keras_bert"), name)


def saved_class(folder: Path) -> type:
    """Returns the class of the model that a preset holds.

    Raises:
        ValueError: if it is a user's own class that isn't defined in this process.
    """
    path = f"{folder}/config.json"
    found = _registered(_read_config(folder)["class"], path)
    return _checked_class(found, keras.Model, path)


def save_preset(model: keras.Model, folder: str | os.PathLike) -> None:
    """Writes `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt` and a model card.

    The folder is written atomically. A backbone has no preprocessor. If several processes train
    together, all call this function; the first writes, and the others wait.

    The card, `README.md`, says what the model is, how it was trained (see `record_training`), its
    scores, and how to load it. Its last line holds a checksum. A `README.md` without it, or with
    another one, was written or edited by a person: it is kept, and no card is written.

    Args:
        model: a `BertBackbone`, or a task with one.
        folder: a path; an earlier preset there is replaced.

    Raises:
        ValueError: if the folder holds something that is not a preset; or if the model couldn't be
            loaded again, because its class isn't registered or its config lacks an argument.
    """
    if is_chief(model):
        _write_preset(model, folder)
    wait_for_all("a preset", model)


def _write_preset(model, folder):
    preprocessor = getattr(model, "preprocessor", None)
    config = model.get_config()
    check_saves(type(model), config)
    if "backbone" in config:
        check_saves(type(model.backbone), model.backbone.get_config())
        config["backbone"] = model.backbone.get_config()
        del config["preprocessor"]
    if preprocessor is not None:
        check_saves(type(preprocessor), preprocessor.get_config())
    training = training_of(model)
    with new_folder(folder, num_weight_bytes(model)) as unfinished:
        write_json(
            unfinished / "config.json",
            {
                "format": FORMAT,
                "class": keras.saving.get_registered_name(type(model)),
                "reads_text": preprocessor is not None,
                "config": config,
                **({"training": training} if training else {}),
            },
        )
        _save_weights_alone(model, unfinished / "model.weights.h5")
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            name = keras.saving.get_registered_name(type(preprocessor))
            write_json(unfinished / "preprocessor.json", {"class": name, **preprocessor.settings()})
        write_card(model, unfinished)


def num_weight_bytes(model: keras.Model) -> int:
    """Returns the least number of bytes that the weights of a model take in a file."""
    sizes = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
    return sum(math.prod(w.shape) * sizes.get(str(w.dtype), 1) for w in model.weights)


def load_own_preset(
    cls: type, folder: Path, preprocessor: "BertPreprocessor | None", arguments: dict[str, Any]
) -> keras.Model:
    """Loads a `cls` from a folder that `save_preset` wrote.

    Args:
        cls: the class.
        folder: a `Path`.
        preprocessor: a `BertPreprocessor`, or None.
        arguments: arguments of `cls` that replace the saved ones.

    Raises:
        ValueError: if the folder is incomplete, or `cls` needs more arguments.
    """
    backbone_class, its_class = public_class("BertBackbone"), saved_class(folder)
    of_source = None if cls in (its_class, backbone_class) else ("backbone", "preprocessor")
    check_arguments(cls, arguments, f"preset {folder}", of_source)
    precision, arguments = split_dtype(arguments)
    is_whole = cls is its_class and not arguments  # else the saved head may have other classes
    saved, source = _saved_model(folder, preprocessor if is_whole else None, precision)
    backbone = getattr(source, "backbone", source)
    parts = {"backbone": backbone, "preprocessor": preprocessor}
    if cls not in (its_class, backbone_class):
        model = cls(**parts, **arguments)
        _take_over_weights(model, source)
    elif not arguments:
        model = backbone if cls is backbone_class else source
    elif cls is backbone_class:
        model = _changed_model(cls, backbone.get_config(), arguments, source)
    else:
        model = _changed_model(cls, {**saved, **parts}, arguments, source)
    model.load_report = _report(model, source, folder)
    return model


def saved_training(folder: Path) -> JsonFields:
    """Returns the record of a preset's training; see `training_of`."""
    return JsonFields(f"{folder}/config.json", _read_config(folder)).fields("training")


def saved_settings(folder: Path) -> "tuple[type[BertPreprocessor], dict[str, Any]]":
    """Returns the class of a preset's preprocessor, and its settings.

    If the preset has no preprocessor, returns the model's preprocessor class and no settings.
    """
    config = _read_config(folder)
    settings = _read_json(folder, "preprocessor.json") if config.get("reads_text") else {}
    if "class" in settings:
        path = f"{folder}/preprocessor.json"
        kind = _registered(JsonFields(path, settings).text("class", ""), path)
        del settings["class"]
        kind = _checked_class(kind, public_class("BertPreprocessor"), path)
        if kind.__module__.startswith("keras_bert."):  # a user's class may take other values
            settings |= read_own_arguments(JsonFields(path, settings))
        return kind, settings
    task = saved_class(folder)
    task = task if hasattr(task, "preprocessor_class") else public_class("BertTask")
    return task.preprocessor_class(), {**settings, **config.get("preprocessor", {})}


def saved_preprocessor(folder: Path, lowercase: bool | None = None) -> "BertPreprocessor | None":
    """Loads a preset's text settings as a `BertPreprocessor`; None if it doesn't read text."""
    if not _read_config(folder).get("reads_text"):
        return None
    _, settings = saved_settings(folder)
    saved = JsonFields(f"{folder}/preprocessor.json", settings)
    tokenizer = saved.fields("tokenizer")
    if lowercase is None:
        lowercase = tokenizer.boolean("lowercase", True)
    with naming(f"{folder}/vocab.txt"):
        tokenizer = public_class("BertTokenizer")(
            str(_existing(folder, "vocab.txt")),
            lowercase=lowercase,
            max_word_characters=tokenizer.integer("max_word_characters", 200, low=1),
        )
    length = {"sequence_length": saved.integer("sequence_length", low=1)}
    text = {**length, "truncation": saved.text("truncation")}
    text = {name: value for name, value in text.items() if value is not None}
    with naming(saved.path):
        return public_class("BertPreprocessor")(tokenizer, **text)


def _changed_model(cls, saved, arguments, source):
    """Makes a `cls` with changed arguments, the same quantization, and the weights that fit."""
    quantized = {**saved.get("quantized_layers", {})}
    changed = changed_arguments(saved, arguments)
    model = quantized_from_config(cls, {**changed, "quantized_layers": quantized})
    fitting = _weights_that_fit(model, source)
    new = {
        layer.path
        for layer in all_layers(model)
        if any(weight.path not in fitting for weight in layer.weights)
    }
    if new & quantized.keys():  # a new layer must be trained, which a quantized one can't be
        kept = {path: how for path, how in quantized.items() if path not in new}
        model = quantized_from_config(cls, {**changed, "quantized_layers": kept})
    _take_over_weights(model, source)
    return model


def _saved_model(folder, preprocessor, precision):
    """Loads the model that a folder holds, as `(config, model)`, with another `dtype` if given."""
    saved = _read_config(folder)
    weights = _existing(folder, "model.weights.h5")
    its_class, backbone_class = saved_class(folder), public_class("BertBackbone")
    size = checked_num_bytes(weights)
    inner = JsonFields(f"{folder}/config.json", saved).fields("config")
    for name in ("num_classes", "num_features"):
        inner.integer(name, high=size)
    inner = inner if issubclass(its_class, backbone_class) else inner.fields("backbone")
    check_size({name: inner.integer(name, 1, low=1) for name in _SIZES}, size, folder)
    for name in ("dropout", "attention_dropout", "layer_norm_epsilon"):
        inner.number(name, low=0, high=1)
    try:
        config = {**saved["config"]}
        if issubclass(its_class, backbone_class):
            config |= precision
        else:
            if precision:
                config.pop("dtype", None)  # the head follows
            config["backbone"] = backbone_class.from_config({**config["backbone"], **precision})
            config["preprocessor"] = preprocessor
        model = its_class.from_config(config)
    except Exception as error:  # whatever the class raises at values that it doesn't expect
        raise ValueError(
            f"{folder}/config.json doesn't describe a {_short(saved['class'])}: {error}"
        ) from error
    try:
        model.load_weights(weights)
    except Exception as error:  # a damaged file raises errors of any kind
        raise ValueError(
            f"{weights} doesn't hold the weights that {folder}/config.json describes: {error}"
        ) from error
    return config, model


def _report(model, source, folder):
    """Reports which weights of a model come from `source`."""
    saved = _weights_that_fit(model, source)
    report = LoadReport(f"preset {folder}")
    for variable in model.weights:
        name, shape = variable.path, tuple(variable.shape)
        if name in saved:
            report.matched[name] = (shape, name)
        else:
            report.new[name] = shape
    report.left_over = {w.path: tuple(w.shape) for w in source.weights if w.path not in saved}
    return report


def _take_over_weights(model, source):
    """Copies to `model` the weights of `source` that fit."""
    saved = _weights_that_fit(model, source)
    for variable in model.weights:
        if variable.path in saved and variable is not saved[variable.path]:
            variable.assign(saved[variable.path])


def _weights_that_fit(model, source):
    """Returns `{path: variable}` of source weights that match in role, shape and dtype."""
    if type(model) is not type(source):  # another task's head may have the same names
        source = getattr(source, "backbone", source)
    looks = {w.path: (w.shape, w.dtype) for w in model.weights}  # of a quantized one, int8
    return {w.path: w for w in source.weights if looks.get(w.path) == (w.shape, w.dtype)}


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's state, which Keras would add."""
    optimizer = getattr(task, "optimizer", None)
    task.optimizer = None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer


def _read_config(folder):
    config = _read_json(folder, "config.json")
    if config.get("format") not in FORMATS or not isinstance(config.get("class"), str):
        raise ValueError(
            f"{folder}/config.json is not from a keras_bert preset of format 1 or 2: it has "
            f"format={config.get('format')!r}, class={config.get('class')!r}."
        )
    if not isinstance(config.get("config"), dict):
        raise ValueError(
            f"{folder}/config.json doesn't describe a {_short(config['class'])}: it lacks 'config'."
        )
    if config["format"] == 1:
        return _upgraded(config)
    return config


def _upgraded(config):
    """Converts a config of format 1, in which the model held its preprocessor's settings."""
    moved = ("label_names", "multi_label", "threshold", "window_stride", "window_pooling")
    moved += ("document_stride", "max_question_length", "max_answer_length", "null_threshold")
    settings = config["config"]
    return {
        **config,
        "class": f"keras_bert>{config['class']}",
        "config": {name: value for name, value in settings.items() if name not in moved},
        "preprocessor": {name: settings[name] for name in moved if name in settings},
    }


def _registered(name, path):
    """Returns the class that is registered under a name."""
    package, short = name.rpartition(">")[0], _short(name)
    if package == "keras_bert" and hasattr(import_module("keras_bert"), short):
        return public_class(short)
    found = keras.saving.get_registered_object(name)
    if found is None:
        raise ValueError(
            f"{path} names the class {name!r}, which isn't defined here. Import the module that "
            "registers it with @keras.saving.register_keras_serializable(), then load again."
        )
    return found


def _checked_class(found, base, path):
    """Returns a class if it is a subclass of `base`; raises a ValueError otherwise."""
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(f"{path} names {found!r}, which is no {base.__name__}.")
    return found


def _short(name):
    """Returns the name of a class without its package."""
    return name.rpartition(">")[2]


def _existing(folder, name):
    path = folder / name
    if not path.is_file():
        found = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else "no such folder"
        raise ValueError(
            f"{folder} is not a complete preset: {name} is missing (found: {found}). Write it "
            "again with save_to_preset."
        )
    return path


def _read_json(folder, name):
    return read_json(_existing(folder, name))
