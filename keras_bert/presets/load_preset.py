"""Loading of models from presets, also as another class or with other arguments."""

from typing import TYPE_CHECKING, Any

import keras

from keras_bert.presets.load_checkpoint import LoadReport
from keras_bert.presets.preset_arguments import (
    check_arguments,
    quantized_from_config,
    shared_arguments,
    split_dtype,
)
from keras_bert.presets.preset_folder import PresetFolder, public_class
from keras_bert.training.keras_internals import all_layers

if TYPE_CHECKING:
    from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor


def load_preset(
    cls: type,
    folder: PresetFolder,
    preprocessor: "BertPreprocessor | None",
    arguments: dict[str, Any],
) -> keras.Model:
    """Loads a `cls` from a preset, with arguments that replace the saved ones."""
    its_class = folder.model_class
    is_backbone = issubclass(cls, public_class("Backbone"))
    of_source = folder.backbone_config.values if is_backbone else ("backbone", "preprocessor")
    if cls in (its_class, folder.backbone_class):
        of_source = None
    check_arguments(cls, arguments, f"preset {folder}", of_source)
    precision, arguments = split_dtype(arguments)
    is_whole = cls is its_class and not arguments  # else the saved head may have other classes
    saved, source = folder.model(preprocessor if is_whole else None, precision)
    backbone = getattr(source, "backbone", source)
    parts = {"backbone": backbone, "preprocessor": preprocessor}
    if is_backbone and (arguments or cls is not folder.backbone_class):
        model = _changed_model(cls, backbone.get_config(), arguments, source)
    elif is_backbone:
        model = backbone
    elif is_whole:
        model = source
    elif cls is its_class:
        model = _changed_model(cls, {**saved, **parts}, arguments, source)
    else:
        model = cls(**parts, **arguments)
    taken = _weights_that_fit(model, source)
    for variable in model.weights:
        if variable.path in taken and variable is not taken[variable.path]:
            variable.assign(taken[variable.path])
    shapes = {w.path: tuple(w.shape) for w in model.weights}
    model.load_report = LoadReport(
        f"preset {folder}",
        matched={name: (shape, name) for name, shape in shapes.items() if name in taken},
        new={name: shape for name, shape in shapes.items() if name not in taken},
        left_over={w.path: tuple(w.shape) for w in source.weights if w.path not in taken},
    )
    return model


def _changed_model(cls, saved, arguments, source):
    """Makes a `cls` with changed arguments, and the layers quantized whose weights fit."""
    quantized = {**saved.get("quantized_layers", {})}
    changed = {**shared_arguments(saved), **arguments}
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
    return model


def _weights_that_fit(model, source):
    """Returns `{path: variable}` of source weights that match in role, shape and dtype."""
    if type(model) is not type(source):  # another task's head may have the same names
        source = getattr(source, "backbone", source)
    looks = {w.path: (w.shape, w.dtype) for w in model.weights}  # of a quantized one, int8
    return {w.path: w for w in source.weights if looks.get(w.path) == (w.shape, w.dtype)}
