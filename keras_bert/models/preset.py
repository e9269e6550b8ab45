"""Model folders: `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`."""

import json
import os
import shutil
from importlib import import_module
from pathlib import Path

FORMAT = 1
CLASSES = {
    "BertBackbone": "keras_bert.models.bert_backbone",
    "BertPretrainer": "keras_bert.models.bert_pretrainer",
    "BertClassifier": "keras_bert.models.bert_classifier",
}


def save_preset(task, folder):
    """Writes a task to `folder`, whole or not at all."""
    folder = Path(folder)
    if folder.exists() and not (folder / "config.json").is_file():
        raise ValueError(
            f"{folder} exists and is not a preset (it has no config.json). Choose another folder."
        )
    config = task.get_config()
    preprocessor = task.preprocessor
    config["backbone"] = task.backbone.get_config()
    del config["preprocessor"]
    unfinished = folder.with_name(f".{folder.name}.unfinished-{os.getpid()}")
    unfinished.mkdir(parents=True)
    try:
        _write_json(
            unfinished / "config.json",
            {"format": FORMAT, "class": type(task).__name__, "config": config},
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
    saved = _read_json(folder, "config.json")
    if saved.get("format") != FORMAT or saved.get("class") not in CLASSES:
        raise ValueError(
            f"{folder}/config.json is not that of a keras_bert preset of format {FORMAT}: it says "
            f"format={saved.get('format')!r}, class={saved.get('class')!r}."
        )
    weights = _existing(folder, "model.weights.h5")
    saved_class = getattr(import_module(CLASSES[saved["class"]]), saved["class"])
    backbone_class = import_module(CLASSES["BertBackbone"]).BertBackbone
    config = {**saved["config"]}
    backbone = backbone_class(**config.pop("backbone"))
    preprocessor = kwargs.pop("preprocessor", None) or _load_preprocessor(folder)
    source = saved_class(backbone=backbone, preprocessor=preprocessor, **config)
    try:
        source.load_weights(weights)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{weights} doesn't hold the weights that {folder}/config.json describes: {error}"
        ) from error
    if cls is saved_class and not kwargs:
        return source
    if cls is saved_class:
        kwargs = {**{k: v for k, v in config.items() if k not in ("name", "trainable")}, **kwargs}
    return cls(backbone=backbone, preprocessor=preprocessor, **kwargs)


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's, which Keras would add."""
    optimizer, task.optimizer = task.optimizer, None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer


def _load_preprocessor(folder):
    if not (folder / "preprocessor.json").exists() and not (folder / "vocab.txt").exists():
        return None
    settings = _read_json(folder, "preprocessor.json")
    vocabulary = _existing(folder, "vocab.txt")
    try:
        from keras_bert.data.bert_preprocessor import BertPreprocessor
        from keras_bert.text.tokenizer import BertTokenizer
    except ImportError:  # no TensorFlow: the model works, but reads no text
        return None
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
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error


def _write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _replace(folder, new):
    """Puts `new` in the place of `folder`, which is there, old or new, at (almost) all times."""
    if not folder.exists():
        new.rename(folder)
        return
    old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)
