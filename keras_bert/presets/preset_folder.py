"""Presets of this library: `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt`."""

from importlib import import_module
from importlib.util import find_spec

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.new_folder import new_folder
from keras_bert.presets.load_checkpoint import LoadReport
from keras_bert.presets.preset_arguments import changed_arguments, check_arguments
from keras_bert.presets.quantization import quantized_from_config
from keras_bert.training.processes import is_chief, wait_for_all

FORMAT = 1
CLASSES = {
    "BertBackbone": "keras_bert.models.bert_backbone",
    "BertPretrainer": "keras_bert.models.bert_pretrainer",
    "BertClassifier": "keras_bert.models.bert_classifier",
    "BertTokenClassifier": "keras_bert.models.bert_token_classifier",
    "BertSpanLabeler": "keras_bert.models.bert_span_labeler",
    "BertMultipleChoice": "keras_bert.models.bert_multiple_choice",
    "BertEmbedder": "keras_bert.models.bert_embedder",
}


def public_class(name):
    """The class of this name."""
    return getattr(import_module(CLASSES[name]), name)


def save_preset(model, folder):
    """Writes a model to `folder`, whole or not at all; of several processes the first does.

    All of them call this, and find it written when it returns.
    """
    if is_chief(model):
        _write_preset(model, folder)
    wait_for_all("a preset", model)


def _write_preset(model, folder):
    preprocessor = getattr(model, "preprocessor", None)
    config = model.get_config()
    if "backbone" in config:
        config["backbone"] = model.backbone.get_config()
        del config["preprocessor"]
    with new_folder(folder) as unfinished:
        write_json(
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
            write_json(unfinished / "preprocessor.json", preprocessor.settings())


def load_own_preset(cls, folder, preprocessor, arguments):
    """A `cls` from a folder that `save_preset` wrote.

    Args:
        cls: the class, or `BertTask` for what the folder holds.
        folder: a `Path`.
        preprocessor: a `BertPreprocessor`, or None.
        arguments: those of `cls` that take the place of what was saved.

    Raises:
        ValueError: if the folder isn't whole, or `cls` needs more arguments.
    """
    backbone_class, saved_class = (
        public_class(name) for name in ("BertBackbone", _read_config(folder)["class"])
    )
    if cls.__name__ == "BertTask":
        cls = public_class("BertEmbedder") if saved_class is backbone_class else saved_class
    of_source = None if cls in (saved_class, backbone_class) else ("backbone", "preprocessor")
    check_arguments(cls, arguments, f"preset {folder}", of_source)
    saved, source = _saved_model(folder, preprocessor)
    backbone = getattr(source, "backbone", source)
    parts = {"backbone": backbone, "preprocessor": preprocessor}
    if cls not in (saved_class, backbone_class):
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


def load_own_preprocessor(folder, sequence_length=None, lowercase=None, truncation=None):
    """The `BertPreprocessor` that a preset holds, or None."""
    if not _read_config(folder).get("reads_text"):
        return None
    settings = _read_json(folder, "preprocessor.json")
    vocabulary = _existing(folder, "vocab.txt")
    if find_spec("tensorflow_text") is None:  # the model works, but reads no text
        return None
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
    from keras_bert.text.tokenizer import BertTokenizer

    if lowercase is not None:
        settings["tokenizer"]["lowercase"] = lowercase
    if sequence_length is not None:
        settings["sequence_length"] = sequence_length
    tokenizer = BertTokenizer(str(vocabulary), **settings.pop("tokenizer"))
    if truncation is not None:
        settings["truncation"] = truncation
    return BertPreprocessor(tokenizer, **settings)


def _changed_model(cls, saved, arguments, source):
    """A `cls` of other arguments, with the weights of `source` that fit, quantized as there."""
    quantized = {**saved.get("quantized_layers", {})}
    changed = changed_arguments(saved, arguments)
    model = quantized_from_config(cls, {**changed, "quantized_layers": quantized})
    fitting = _weights_that_fit(model, source)
    new = {
        layer.path
        for layer in model._flatten_layers()
        if any(weight.path not in fitting for weight in layer.weights)
    }
    if new & quantized.keys():  # a layer that starts anew must learn, which a quantized one can't
        kept = {path: how for path, how in quantized.items() if path not in new}
        model = quantized_from_config(cls, {**changed, "quantized_layers": kept})
    _take_over_weights(model, source)
    return model


def _saved_model(folder, preprocessor):
    """`(config, model)` of the very model that a folder holds."""
    saved = _read_config(folder)
    weights = _existing(folder, "model.weights.h5")
    saved_class, backbone_class = public_class(saved["class"]), public_class("BertBackbone")
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
    if config.get("format") != FORMAT or config.get("class") not in CLASSES:
        raise ValueError(
            f"{folder}/config.json is not that of a keras_bert preset of format {FORMAT}: it says "
            f"format={config.get('format')!r}, class={config.get('class')!r}."
        )
    return config


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
