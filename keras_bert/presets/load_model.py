"""Loading of models: from presets, and from the weights of other libraries."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras

from keras_bert.messages import logger
from keras_bert.presets.formats.checkpoint import (
    ENCODER_PARTS,
    Checkpoint,
    explained,
    public_class,
    renumbered,
)
from keras_bert.presets.preset_arguments import (
    model_from_config,
    shared_arguments,
    split_arguments,
    split_dtype,
)
from keras_bert.presets.preset_folder import PresetFolder
from keras_bert.training.keras_internals import all_layers, set_initial_value

# Prefixes of an encoder's weights in other libraries.
_ENCODER = re.compile("(bert|distilbert|electra|roberta|mpnet|model)[./]")


@dataclass
class LoadReport:
    """Report of which weights were loaded from the source, printed as a table."""

    source: str
    matched: dict[str, tuple] = field(default_factory=dict)  # our name: (shape, their names)
    new: dict[str, tuple] = field(default_factory=dict)  # our name: shape; newly initialized
    left_over: dict[str, tuple] = field(default_factory=dict)  # their name: shape; not used
    other_shapes: dict[str, tuple] = field(default_factory=dict)  # our name of new: shape there

    def __str__(self) -> str:
        rows = [(name, *match) for name, match in self.matched.items()]
        rows += [(name, shape, "newly initialized") for name, shape in self.new.items()]
        rows += [("(left over)", shape, name) for name, shape in self.left_over.items()]
        width = max(len(name) for name, *_ in rows)
        table = f"{'weight':<{width}}  {'shape':<12}  from\n"
        for name, shape, theirs in rows:
            size = "x".join(map(str, shape)) or "scalar"
            table += f"{name:<{width}}  {size:<12}  {theirs}\n"
        return (
            f"{table}{self.source}: {len(self.matched)} weights matched, {len(self.new)} newly "
            f"initialized, {len(self.left_over)} left over."
        )

    def log(self, unused: Collection[str]) -> None:
        """Warns of new weights but those `unused`, and logs the tensors that were not used."""
        new = []
        for name, shape in self.new.items():
            there = self.other_shapes.get(name)
            if name not in unused:
                new.append(name if there is None else f"{name} {list(shape)}, but {list(there)}")
        if new:
            logger.warning(
                "%s has no weights for %s, which start from random ones. Train the model before "
                "you use its answers.",
                self.source,
                ", ".join(new),
            )
        if self.left_over:
            logger.info("%s: not used: %s.", self.source, ", ".join(self.left_over))


def load_preset(
    cls: type, folder: PresetFolder, preprocessor: Any, arguments: dict[str, Any]
) -> keras.Model:
    """Loads a `cls` from a preset, with arguments that replace the saved ones."""
    precision, arguments = split_dtype(arguments)
    is_whole = cls is folder.model_class and not arguments and not folder.keep_layers
    saved, source = folder.model(preprocessor if is_whole else None, precision)
    model = source
    if not is_whole:
        model = _new_model(cls, folder, saved, source, preprocessor, arguments)
    fitting = _weights_that_fit(model, source, folder.keep_layers)
    left_over = {weight.path: tuple(weight.shape) for weight in source.weights}
    report = LoadReport(f"preset {folder}", left_over=left_over)
    for variable in model.weights:
        shape = tuple(variable.shape)
        weight = fitting.get(variable.path)
        if weight is None:
            report.new[variable.path] = shape
            if variable.path in report.left_over:
                report.other_shapes[variable.path] = report.left_over[variable.path]
            continue
        report.matched[variable.path] = (shape, weight.path)
        del report.left_over[weight.path]
        if weight is not variable:
            variable.assign(weight)
    model.load_report = report
    return model


def _new_model(cls, folder, saved, source, preprocessor, arguments):
    """Makes a `cls` with the source's backbone, or with some of its layers, and its own head."""
    backbone = source.backbone
    layers = folder.keep_layers
    if layers:
        if cls is type(source) and saved.get("layers") and "layers" not in arguments:
            raise ValueError(
                f"{folder} reads layers={saved['layers']}, counted among all: give from_preset "
                "layers=..., counted among those of keep_layers."
            )
        sizes = {**shared_arguments(backbone.get_config()), "num_layers": len(layers)}
        backbone = type(backbone)(**sizes)
    if cls is type(backbone) and not arguments:
        return backbone
    if issubclass(cls, public_class("Backbone")):
        config = backbone.get_config()
    else:
        config = saved if issubclass(cls, type(source)) else {}
        config = {**config, "backbone": backbone, "preprocessor": preprocessor}
    quantized = config.get("quantized_layers", {})
    config = {**shared_arguments(config), **arguments}
    with explained(f"preset {folder}"):
        model = model_from_config(cls, {**config, "quantized_layers": quantized})
        fitting = _weights_that_fit(model, source)
        kept = {**quantized}
        for layer in all_layers(model):
            if any(weight.path not in fitting for weight in layer.weights):
                kept.pop(layer.path, None)  # it must be trained, and a quantized one can't be
        if kept != quantized:
            model = model_from_config(cls, {**config, "quantized_layers": kept})
    return model


def _weights_that_fit(model, source, layers=()):
    """Returns `{path: variable}` of source weights that match in role, shape and dtype.

    The paths are those of `model`, whose blocks are the `layers` of the source, or its first ones.
    """
    blocks = [block.path for block in source.backbone.blocks]
    if not isinstance(model, type(source)):  # another task's head may have the same names
        source = source.backbone
    weights = {weight.path: weight for weight in source.weights}
    weights = renumbered(weights, blocks, layers or range(len(blocks)))
    fitting = {}
    for variable in model.weights:
        weight = weights.get(variable.path)
        if weight is not None and weight.shape == variable.shape:
            if weight.dtype == variable.dtype:  # quantized ones are int8
                fitting[variable.path] = weight
    return fitting


def load_checkpoint(
    cls: type, checkpoint: Checkpoint, preprocessor: Any, arguments: dict[str, Any]
) -> keras.Model:
    """Loads a `cls` from another library's weights, with arguments that replace the source's."""
    head_may_differ = bool(arguments)
    backbone_class = checkpoint.backbone_class
    if issubclass(cls, backbone_class):
        arguments = {**checkpoint.backbone, **arguments}
        return _with_weights(checkpoint, lambda: cls(**arguments), head_may_differ)
    if issubclass(cls, public_class("Backbone")):
        name = backbone_class.__name__
        raise ValueError(f"{checkpoint} holds a {name}, which {cls.__name__} can't load.")
    precision, arguments = split_dtype(arguments)
    backbone_arguments = {**checkpoint.backbone, **precision}
    if cls is checkpoint.task:
        saved, _ = split_arguments(cls, checkpoint.task_arguments)
        arguments = {**saved, **arguments}
    arguments = {"preprocessor": preprocessor, **arguments}

    def make():
        return cls(backbone=backbone_class(**backbone_arguments), **arguments)

    return _with_weights(checkpoint, make, head_may_differ)


def _with_weights(checkpoint, make, head_may_differ):
    """Makes a model with the weights of a `Checkpoint`, and its `load_report`.

    Tensors are read directly into the model, one after the other: no random weights are drawn for
    them, and memory holds no second copy. A head of another shape is new if `head_may_differ`.
    """
    failures = []

    def read(weight, shape, dtype):
        try:
            return keras.ops.convert_to_tensor(weight.read(), dtype)
        except Exception as error:  # Keras must reach the end of its list of variables
            failures.append(error)
            return keras.ops.zeros(shape, dtype)

    with keras.StatelessScope():  # variables get their initial values when it ends
        with explained(checkpoint.source):
            model = make()
        model.load_report = _report(model, checkpoint, head_may_differ)
        for variable in model.weights:
            if variable.path in model.load_report.matched:
                set_initial_value(variable, partial(read, checkpoint.weights[variable.path]))
    if failures:
        raise failures[0]
    return model


def _report(model, checkpoint, head_may_differ):
    """Reports which weights a model takes; raises a ValueError unless its encoder matches."""
    report = LoadReport(checkpoint.source, left_over={**checkpoint.left_over})
    faults = []
    for name, shape in checkpoint.left_over.items():
        if _ENCODER.match(name):
            faults.append(f"{name} {list(shape)} has no place")
    for variable in model.weights:
        name = variable.path
        shape = tuple(variable.shape)
        is_encoder = name.startswith(ENCODER_PARTS)
        weight = checkpoint.weights.get(name)
        if type(model) is not checkpoint.task and not name.startswith(
            (*ENCODER_PARTS, "pooler/", "head/")
        ):
            weight = None  # another task's head has the same names
        if weight is None and is_encoder:
            faults.append(f"{_their_names(checkpoint, name)} is missing, {list(shape)} here")
        elif weight is None:
            report.new[name] = shape
        elif weight.shape == shape:
            report.matched[name] = (shape, _their_names(checkpoint, name))
        elif head_may_differ and not is_encoder:
            report.new[name] = shape
            report.other_shapes[name] = weight.shape
        else:
            faults.append(f"{name} is {list(weight.shape)} there and {list(shape)} here")
    if faults:
        raise ValueError(
            f"{checkpoint} doesn't hold the BERT that its configuration, with the arguments of "
            f"from_preset, describes: {'; '.join(faults)}."
        )
    for name, weight in checkpoint.weights.items():
        if name not in report.matched:
            shape = weight.shape
            if checkpoint.spellings[name].transposed:
                shape = shape[::-1]
            report.left_over[_their_names(checkpoint, name)] = shape
    return report


def _their_names(checkpoint, name):
    if name not in checkpoint.spellings:
        return name
    return ", ".join(checkpoint.spellings[name].names)
