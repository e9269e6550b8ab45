"""Model folders: `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`."""

import json
import os
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

FORMAT = 1
CLASSES = {
    "BertBackbone": "keras_bert.models.bert_backbone",
    "BertPretrainer": "keras_bert.models.bert_pretrainer",
    "BertClassifier": "keras_bert.models.bert_classifier",
}


def save_preset(task, folder):
    """Writes a task to `folder`, whole or not at all."""
    folder = Path(folder).absolute()
    _check_may_be_replaced(folder)
    preprocessor = task.preprocessor
    config = {**task.get_config(), "backbone": task.backbone.get_config()}
    del config["preprocessor"]
    unfinished = folder.with_name(f".{folder.name}.unfinished-{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        _write_json(
            unfinished / "config.json",
            {
                "format": FORMAT,
                "class": type(task).__name__,
                "reads_text": preprocessor is not None,
                "config": config,
            },
        )
        _save_weights_alone(task, unfinished / "model.weights.h5")
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            _write_json(unfinished / "preprocessor.json", preprocessor.settings())
        _replace(folder, unfinished)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def load_preset(cls, folder, **kwargs):
    """A `cls` from `folder`: see `BertTask.from_preset`."""
    folder = Path(folder)
    saved = _read_config(folder)
    weights = _existing(folder, "model.weights.h5")
    preprocessor = kwargs.pop("preprocessor", None)
    if preprocessor is None and saved.get("reads_text"):
        preprocessor = _load_preprocessor(folder)
    saved_class = _public_class(saved["class"])
    try:
        config = {**saved["config"]}
        backbone = _public_class("BertBackbone").from_config(config.pop("backbone"))
        source = saved_class.from_config(
            {**config, "backbone": backbone, "preprocessor": preprocessor}
        )
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"{folder}/config.json doesn't describe a {saved['class']}: {error}"
        ) from error
    try:
        source.load_weights(weights)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{weights} doesn't hold the weights that {folder}/config.json describes: {error}"
        ) from error
    if cls is not saved_class:
        return cls(backbone=backbone, preprocessor=preprocessor, **kwargs)
    if not kwargs:
        return source
    for of_this_model in ("name", "trainable", "quantized_layers"):
        config.pop(of_this_model, None)
    if kwargs.get("num_classes", config.get("num_classes")) != config.get("num_classes"):
        config.pop("label_names")
    model = cls(backbone=backbone, preprocessor=preprocessor, **{**config, **kwargs})
    _take_over_weights(model, source)
    return model


def _take_over_weights(model, source):
    """Gives `model` the weights of `source` that have the same path and shape."""
    saved = {variable.path: variable for variable in source.weights}
    for variable in model.weights:
        if variable.path in saved and variable.shape == saved[variable.path].shape:
            variable.assign(saved[variable.path])


def _check_may_be_replaced(folder):
    if folder.is_dir() and ((folder / "config.json").is_file() or not any(folder.iterdir())):
        return
    if folder.exists():
        raise ValueError(
            f"{folder} exists and is not a preset (it has no config.json). Choose another folder."
        )


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's, which Keras would add."""
    optimizer = getattr(task, "optimizer", None)
    task.optimizer = None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer


def _public_class(name):
    return getattr(import_module(CLASSES[name]), name)


def _read_config(folder):
    config = _read_json(folder, "config.json")
    if config.get("format") != FORMAT or config.get("class") not in CLASSES:
        raise ValueError(
            f"{folder}/config.json is not that of a keras_bert preset of format {FORMAT}: it says "
            f"format={config.get('format')!r}, class={config.get('class')!r}."
        )
    return config


def _load_preprocessor(folder):
    settings = _read_json(folder, "preprocessor.json")
    vocabulary = _existing(folder, "vocab.txt")
    if find_spec("tensorflow_text") is None:  # the model works, but reads no text
        return None
    from keras_bert.data.bert_preprocessor import BertPreprocessor
    from keras_bert.text.tokenizer import BertTokenizer

    tokenizer = BertTokenizer(str(vocabulary), **settings.pop("tokenizer"))
    return BertPreprocessor(tokenizer, **settings)


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
    path = _existing(folder, name)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object; it holds a {type(value).__name__}.")
    return value


def _write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _replace(folder, new):
    """Puts `new` in the place of `folder`, which is there, old or new, at (almost) all times."""
    if not folder.exists():
        new.rename(folder)
        return
    old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)
