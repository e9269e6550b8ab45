"""Presets of this library: `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`."""

from importlib import import_module

import keras

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.new_folder import new_folder
from keras_bert.presets.load_checkpoint import LoadReport
from keras_bert.presets.preset_arguments import changed_arguments, check_arguments, check_saves
from keras_bert.presets.quantization import quantized_from_config
from keras_bert.training.keras_internals import all_layers
from keras_bert.training.processes import is_chief, wait_for_all

FORMAT = 2
FORMATS = (1, 2)


def public_class(name):
    """The public class of this name, whose module is imported for it."""
    return getattr(import_module("keras_bert"), name)


def saved_class(folder):
    """The class whose model a preset holds.

    Raises:
        ValueError: if it is a user's own that isn't defined in this process.
    """
    config = _read_config(folder)
    return _registered(config["class"], f"{folder}/config.json")


def save_preset(model, folder):
    """Writes `config.json`, `model.weights.h5`, `preprocessor.json` and `vocab.txt`.

    The folder is written whole or not at all. A backbone alone has no preprocessor. If several
    processes train together, all of them call this; the first writes, and all find it written.

    Args:
        model: a `BertBackbone`, or a task on one.
        folder: a path; an earlier preset there is replaced.

    Raises:
        ValueError: if the folder holds something that is not a preset, or the model couldn't be
            loaded again because its class isn't registered or its config lacks an argument.
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
    with new_folder(folder) as unfinished:
        write_json(
            unfinished / "config.json",
            {
                "format": FORMAT,
                "class": keras.saving.get_registered_name(type(model)),
                "reads_text": preprocessor is not None,
                "config": config,
            },
        )
        _save_weights_alone(model, unfinished / "model.weights.h5")
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            name = keras.saving.get_registered_name(type(preprocessor))
            write_json(unfinished / "preprocessor.json", {"class": name, **preprocessor.settings()})


def load_own_preset(cls, folder, preprocessor, arguments):
    """A `cls` from a folder that `save_preset` wrote.

    Args:
        cls: the class.
        folder: a `Path`.
        preprocessor: a `BertPreprocessor`, or None.
        arguments: those of `cls` that take the place of what was saved.

    Raises:
        ValueError: if the folder isn't whole, or `cls` needs more arguments.
    """
    backbone_class, its_class = public_class("BertBackbone"), saved_class(folder)
    of_source = None if cls in (its_class, backbone_class) else ("backbone", "preprocessor")
    check_arguments(cls, arguments, f"preset {folder}", of_source)
    saved, source = _saved_model(folder)
    backbone = getattr(source, "backbone", source)
    parts = {"backbone": backbone, "preprocessor": preprocessor}
    if cls not in (its_class, backbone_class):
        model = cls(**parts, **arguments)
        _take_over_weights(model, source)
    elif not arguments:
        model = backbone if cls is backbone_class else source
        if model is not backbone:
            model.preprocessor = preprocessor
    elif cls is backbone_class:
        model = _changed_model(cls, backbone.get_config(), arguments, source)
    else:
        model = _changed_model(cls, {**saved, **parts}, arguments, source)
    model.load_report = _report(model, source, folder)
    return model


def saved_preprocessor(folder, lowercase=None):
    """The preprocessor that a preset holds, or None."""
    config = _read_config(folder)
    if not config.get("reads_text"):
        return None
    settings = _read_json(folder, "preprocessor.json")
    vocabulary = _existing(folder, "vocab.txt")
    tokenizer = public_class("BertTokenizer")
    if lowercase is not None:
        settings["tokenizer"]["lowercase"] = lowercase
    tokenizer = tokenizer(str(vocabulary), **settings.pop("tokenizer"))
    if config["format"] == 1:
        kind = saved_class(folder).preprocessor_class()
        settings |= {n: v for n, v in config["preprocessor"].items() if n in kind.arguments()}
    else:
        kind = _registered(settings.pop("class"), f"{folder}/preprocessor.json")
    return kind(tokenizer, **settings)


def _changed_model(cls, saved, arguments, source):
    """A `cls` of other arguments, with the weights of `source` that fit, quantized as there."""
    quantized = {**saved.get("quantized_layers", {})}
    changed = changed_arguments(saved, arguments)
    model = quantized_from_config(cls, {**changed, "quantized_layers": quantized})
    fitting = _weights_that_fit(model, source)
    new = {
        layer.path
        for layer in all_layers(model)
        if any(weight.path not in fitting for weight in layer.weights)
    }
    if new & quantized.keys():  # a layer that starts anew must learn, which a quantized one can't
        kept = {path: how for path, how in quantized.items() if path not in new}
        model = quantized_from_config(cls, {**changed, "quantized_layers": kept})
    _take_over_weights(model, source)
    return model


def _saved_model(folder):
    """`(config, model)` of the very model that a folder holds, without its preprocessor."""
    saved = _read_config(folder)
    weights = _existing(folder, "model.weights.h5")
    its_class, backbone_class = saved_class(folder), public_class("BertBackbone")
    try:
        config = {**saved["config"]}
        if not issubclass(its_class, backbone_class):
            config["backbone"] = backbone_class.from_config(config["backbone"])
            config["preprocessor"] = None  # the one to load may suit another task
        model = its_class.from_config(config)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{folder}/config.json doesn't describe a {saved['class']}: {error}"
        ) from error
    try:
        model.load_weights(weights)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{weights} doesn't hold the weights that {folder}/config.json describes: {error}"
        ) from error
    return config, model


def _report(model, source, folder):
    """The `LoadReport` of a model whose weights are `source`'s where they have the same shape."""
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
    """Gives `model` the weights of `source` that fit."""
    saved = _weights_that_fit(model, source)
    for variable in model.weights:
        if variable.path in saved and variable is not saved[variable.path]:
            variable.assign(saved[variable.path])


def _weights_that_fit(model, source):
    """`{path: variable}` of those of `source` that mean the same in `model`, and look the same."""
    if type(model) is not type(source):  # another task's head may have the same names
        source = getattr(source, "backbone", source)
    looks = {w.path: (w.shape, w.dtype) for w in model.weights}  # of a quantized one, int8
    return {w.path: w for w in source.weights if looks.get(w.path) == (w.shape, w.dtype)}


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's, which Keras would add."""
    optimizer = getattr(task, "optimizer", None)
    task.optimizer = None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer


def _read_config(folder):
    config = _read_json(folder, "config.json")
    if config.get("format") not in FORMATS or "class" not in config or "config" not in config:
        raise ValueError(
            f"{folder}/config.json is not that of a keras_bert preset of format 1 or 2: it says "
            f"format={config.get('format')!r}, class={config.get('class')!r}."
        )
    if config["format"] == 1:
        return _upgraded(config)
    return config


def _upgraded(config):
    """A config of format 1, in which the model held what its preprocessor holds now."""
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
    """The class that is registered under a name."""
    package, _, short = name.rpartition(">")
    if package == "keras_bert" and hasattr(import_module("keras_bert"), short):
        return public_class(short)
    found = keras.saving.get_registered_object(name)
    if found is None:
        raise ValueError(
            f"{path} names the class {name!r}, which isn't defined here. Import the module that "
            "registers it with @keras.saving.register_keras_serializable(), then load again."
        )
    return found


def _existing(folder, name):
    path = folder / name
    if not path.is_file():
        found = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else "no such folder"
        raise ValueError(
            f"{folder} is not a whole preset: {name} is missing (found: {found}). Write it again "
            "with save_to_preset."
        )
    return path


def _read_json(folder, name):
    return read_json(_existing(folder, name))
