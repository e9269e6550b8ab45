"""Where models come from and go to: preset folders, and the checkpoints of other libraries.

A preset of this library is `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`.
"""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from keras_bert.checkpoints.open_source import open_source
from keras_bert.models.load_checkpoint import (
    LoadReport,
    check_vocabulary,
    preprocessor_of,
    with_weights,
)
from keras_bert.models.new_folder import new_folder

FORMAT = 1
CLASSES = {
    "BertBackbone": "keras_bert.models.bert_backbone",
    "BertPretrainer": "keras_bert.models.bert_pretrainer",
    "BertClassifier": "keras_bert.models.bert_classifier",
    "BertEmbedder": "keras_bert.models.bert_embedder",
}


class Presets:
    """Mixed into a model, lets it start from a preset and become one."""

    def save_to_preset(self, folder):
        """Writes `config.json`, `model.weights.h5`, `preprocessor.json` and `vocab.txt`.

        The folder is written whole or not at all. A backbone alone has no preprocessor.

        Args:
            folder: a path; an earlier preset there is replaced.

        Raises:
            ValueError: if the folder holds something that is not a preset.
        """
        save_preset(self, folder)

    @classmethod
    def from_preset(cls, source, **kwargs):
        """A model of this class that starts from saved or published weights.

        A source that holds this very class gives that model; arguments given here replace those
        that were saved, and weights that no longer fit start anew. From any other source come its
        backbone and preprocessor, under a new head; which weights are new is logged, and
        `load_report` of the model, printed, tells of each. `BertTask.from_preset` takes the class
        from the source.

        Args:
            source: a folder that `save_to_preset` wrote; a folder of Hugging Face, of
                sentence-transformers, of KerasHub, or of Google's TF1 code (or the prefix of its
                checkpoint); `hf://user/name`, or `hf://user/name@revision`; `kaggle://...`; or the
                name of a KerasHub preset, such as `"bert_base_en_uncased"`.
            preprocessor: a `BertPreprocessor` to use in place of the source's.
            sequence_length: int, for the source's preprocessor.
            lowercase: bool, for the tokenizer of a source that doesn't say its casing, or says it
                wrongly.
            **kwargs: arguments of the class, such as `num_classes`.

        Returns:
            The model, not compiled.

        Raises:
            ValueError: if the source is none of these, can't be reached, is no BERT, or if a file
                is missing or is not what it should be.
        """
        return load_preset(cls, source, **kwargs)


def save_preset(model, folder):
    """Writes a model to `folder`, whole or not at all."""
    preprocessor = getattr(model, "preprocessor", None)
    config = model.get_config()
    if "backbone" in config:
        config["backbone"] = model.backbone.get_config()
        del config["preprocessor"]
    with new_folder(folder) as unfinished:
        _write_json(
            unfinished / "config.json",
            {
                "format": FORMAT,
                "class": type(model).__name__,
                "reads_text": preprocessor is not None,
                "config": config,
            },
        )
        _save_weights_alone(model, unfinished / "model.weights.h5")
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            _write_json(unfinished / "preprocessor.json", preprocessor.settings())


def load_preset(
    cls, source, *, preprocessor=None, sequence_length=None, lowercase=None, **arguments
):
    """A `cls` from `source`: see `Presets.from_preset`."""
    source = open_source(source)
    own = isinstance(source, Path)
    reads_text = cls.__name__ != "BertBackbone"
    if preprocessor is None and reads_text:
        find = _load_preprocessor if own else preprocessor_of
        preprocessor = find(source, sequence_length, lowercase)
    build = _from_own_preset if own else _from_checkpoint
    model = build(cls, source, preprocessor, arguments)
    model.load_report.say()
    return model


def _from_checkpoint(cls, checkpoint, preprocessor, arguments):
    """A `cls` with the weights of a `Checkpoint`."""
    backbone_class = _public_class("BertBackbone")
    if cls.__name__ == "BertTask":
        cls = _public_class(checkpoint.task if checkpoint.task in CLASSES else "BertEmbedder")
    if cls.__name__ in checkpoint.refused and "pooling" not in arguments:
        raise ValueError(checkpoint.refused[cls.__name__])
    head_may_differ = bool(arguments)
    if cls is backbone_class:
        check_vocabulary(checkpoint)
        arguments = {**checkpoint.backbone, **arguments}
        return with_weights(checkpoint, lambda: cls(**arguments), head_may_differ)
    saved = checkpoint.task_arguments if cls.__name__ == checkpoint.task else {}
    arguments = {"preprocessor": preprocessor, **_changed(saved, arguments)}
    return with_weights(
        checkpoint,
        lambda: cls(backbone=backbone_class(**checkpoint.backbone), **arguments),
        head_may_differ,
    )


def _from_own_preset(cls, folder, preprocessor, arguments):
    """A `cls` from a folder that `save_preset` wrote."""
    saved, source = _saved_model(folder, preprocessor)
    backbone = getattr(source, "backbone", source)
    if cls.__name__ == "BertTask":
        cls = type(source) if source is not backbone else _public_class("BertEmbedder")
    if cls is type(backbone):
        model = backbone
        if arguments:
            model = cls(**_changed(backbone.get_config(), arguments))
    elif cls is type(source):
        model = source
        if arguments:
            parts = {"backbone": backbone, "preprocessor": preprocessor}
            model = cls(**{**_changed(saved, arguments), **parts})
    else:
        model = cls(backbone=backbone, preprocessor=preprocessor, **arguments)
    if model is not source:
        _take_over_weights(model, source)
    model.load_report = _report(model, source, folder)
    return model


def _saved_model(folder, preprocessor):
    """`(config, model)` of the very model that a folder holds."""
    saved = _read_config(folder)
    weights = _existing(folder, "model.weights.h5")
    saved_class, backbone_class = _public_class(saved["class"]), _public_class("BertBackbone")
    try:
        config = {**saved["config"]}
        if saved_class is not backbone_class:
            config["backbone"] = backbone_class.from_config(config["backbone"])
            config["preprocessor"] = preprocessor
        model = saved_class.from_config(config)
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


def _changed(saved, arguments):
    """The saved arguments of a model, with those that a caller gives instead."""
    of_that_model = ("name", "trainable", "quantized_layers")
    saved = {name: value for name, value in saved.items() if name not in of_that_model}
    if arguments.get("num_classes", saved.get("num_classes")) != saved.get("num_classes"):
        saved.pop("label_names", None)
    return {**saved, **arguments}


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
    """`{path: variable}` of those of `source` that mean the same in `model`, of the same shape."""
    if type(model) is not type(source):  # another task's head may have the same names
        source = getattr(source, "backbone", source)
    shapes = {variable.path: variable.shape for variable in model.weights}
    return {w.path: w for w in source.weights if shapes.get(w.path) == w.shape}


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


def _load_preprocessor(folder, sequence_length=None, lowercase=None):
    """The preprocessor that a preset holds, or None."""
    if not _read_config(folder).get("reads_text"):
        return None
    settings = _read_json(folder, "preprocessor.json")
    vocabulary = _existing(folder, "vocab.txt")
    if find_spec("tensorflow_text") is None:  # the model works, but reads no text
        return None
    from keras_bert.data.bert_preprocessor import BertPreprocessor
    from keras_bert.text.tokenizer import BertTokenizer

    if lowercase is not None:
        settings["tokenizer"]["lowercase"] = lowercase
    if sequence_length is not None:
        settings["sequence_length"] = sequence_length
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
