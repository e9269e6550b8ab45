"""Loading of models: from presets, and from the weights of other libraries."""

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras

from keras_bert.messages import logger
from keras_bert.presets.formats.checkpoint import (
    ENCODER_PARTS,
    Checkpoint,
    Spelling,
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

_ENCODER = re.compile("(bert|distilbert|electra|roberta|mpnet)[./]")  # in other libraries' names


@dataclass
class LoadReport:
    """Report of which weights were loaded from the source, printed as a table."""

    source: str
    matched: dict[str, tuple] = field(default_factory=dict)  # our name: (shape, their names)
    new: dict[str, tuple] = field(default_factory=dict)  # our name: shape; newly initialized
    left_over: dict[str, tuple] = field(default_factory=dict)  # their name: shape; not used

    def __str__(self) -> str:
        rows = [("weight", "shape", "from")]
        rows += [(name, _size(shape), theirs) for name, (shape, theirs) in self.matched.items()]
        rows += [(name, _size(shape), "newly initialized") for name, shape in self.new.items()]
        rows += [("(left over)", _size(shape), name) for name, shape in self.left_over.items()]
        first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
        table = "".join(f"{name:<{first}}  {size:<{second}}  {of}\n" for name, size, of in rows)
        return (
            f"{table}{self.source}: {len(self.matched)} weights matched, {len(self.new)} newly "
            f"initialized, {len(self.left_over)} left over."
        )

    def log(self) -> None:
        """Warns of new weights, and logs the tensors that were not used."""
        if self.new:
            logger.warning(
                "%s lacks %s: newly initialized. Train the model before using outputs that "
                "depend on them.",
                self.source,
                ", ".join(self.new),
            )
        if self.left_over:
            logger.info("%s: not used: %s.", self.source, ", ".join(self.left_over))


def load_preset(
    cls: type, folder: PresetFolder, preprocessor: Any, arguments: dict[str, Any]
) -> keras.Model:
    """Loads a `cls` from a preset, with arguments that replace the saved ones."""
    its_class, layers = folder.model_class, folder.keep_layers
    is_backbone = issubclass(cls, public_class("Backbone"))
    precision, arguments = split_dtype(arguments)
    is_whole = cls is its_class and not arguments and not layers  # else the saved head may differ
    saved, source = folder.model(preprocessor if is_whole else None, precision)
    backbone = getattr(source, "backbone", source)
    if layers:
        if cls is its_class and saved.get("layers") and "layers" not in arguments:
            raise ValueError(
                f"{folder} reads layers={saved['layers']}, counted among all: give from_preset "
                "layers=..., counted among those of keep_layers."
            )
        sizes = {**shared_arguments(backbone.get_config()), "num_layers": len(layers)}
        backbone = type(backbone)(**sizes)
    parts = {"backbone": backbone, "preprocessor": preprocessor}
    if is_whole:
        model = source
    elif cls is folder.backbone_class and not arguments:
        model = backbone
    else:
        own = saved if issubclass(cls, its_class) else {}
        config = backbone.get_config() if is_backbone else {**own, **parts}
        with explained(f"preset {folder}"):
            model = _changed_model(cls, config, arguments, source)
    taken = _weights_that_fit(model, source, layers)
    for variable in model.weights:
        if variable.path in taken and variable is not taken[variable.path]:
            variable.assign(taken[variable.path])
    shapes = {w.path: tuple(w.shape) for w in model.weights}
    used = {w.path for w in taken.values()}
    model.load_report = LoadReport(
        f"preset {folder}",
        matched={n: (shape, taken[n].path) for n, shape in shapes.items() if n in taken},
        new={name: shape for name, shape in shapes.items() if name not in taken},
        left_over={w.path: tuple(w.shape) for w in source.weights if w.path not in used},
    )
    return model


def _changed_model(cls, saved, arguments, source):
    """Makes a `cls` with changed arguments, and the layers quantized whose weights fit."""
    quantized = {**saved.get("quantized_layers", {})}
    changed = {**shared_arguments(saved), **arguments}
    model = model_from_config(cls, {**changed, "quantized_layers": quantized})
    fitting = _weights_that_fit(model, source)
    new = {
        layer.path
        for layer in all_layers(model)
        if any(weight.path not in fitting for weight in layer.weights)
    }
    if new & quantized.keys():  # a new layer must be trained, which a quantized one can't be
        kept = {path: how for path, how in quantized.items() if path not in new}
        model = model_from_config(cls, {**changed, "quantized_layers": kept})
    return model


def _weights_that_fit(model, source, layers=()):
    """Returns `{path: variable}` of source weights that match in role, shape and dtype.

    The paths are those of `model`, whose blocks are the `layers` of the source, or its first ones.
    """
    blocks = [block.path for block in getattr(source, "backbone", source).blocks]
    if not isinstance(model, type(source)):  # another task's head may have the same names
        source = getattr(source, "backbone", source)
    looks = {w.path: (w.shape, w.dtype) for w in model.weights}  # of a quantized one, int8
    named = renumbered({w.path: w for w in source.weights}, blocks, layers or range(len(blocks)))
    return {path: w for path, w in named.items() if looks.get(path) == (w.shape, w.dtype)}


def load_checkpoint(
    cls: type, checkpoint: Checkpoint, preprocessor: Any, arguments: dict[str, Any]
) -> keras.Model:
    """Loads a `cls` from another library's weights, with arguments that replace the source's."""
    backbone_class = public_class("BertBackbone")
    head_may_differ = bool(arguments)
    if issubclass(cls, backbone_class):
        arguments = {**checkpoint.backbone, **arguments}
        return _with_weights(checkpoint, lambda: cls(**arguments), head_may_differ)
    if issubclass(cls, public_class("Backbone")):
        raise ValueError(f"{checkpoint.source} holds a BERT, which {cls.__name__} can't load.")
    saved = checkpoint.task_arguments if cls.__name__ == checkpoint.task else {}
    saved, _ = split_arguments(cls, saved)
    encoder, arguments = split_dtype(arguments)
    arguments = {"preprocessor": preprocessor, **shared_arguments(saved), **arguments}
    return _with_weights(
        checkpoint,
        lambda: cls(backbone=backbone_class(**{**checkpoint.backbone, **encoder}), **arguments),
        head_may_differ,
    )


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
    left_over = checkpoint.left_over.items()
    faults = [f"{n} {list(s)} has no place" for n, s in left_over if _ENCODER.match(n)]
    other_task = type(model).__name__ != checkpoint.task  # another task's head has the same names
    for variable in model.weights:
        name, shape = variable.path, tuple(variable.shape)
        weight, theirs = checkpoint.weights.get(name), _their_names(checkpoint, name)
        is_encoder = name.startswith(ENCODER_PARTS)
        if other_task and not is_encoder and not name.startswith("pooler/"):
            weight = None
        if weight is None and is_encoder:
            faults.append(f"{theirs} is missing, {list(shape)} here")
        elif weight is not None and weight.shape == shape:
            report.matched[name] = (shape, theirs)
        elif weight is None or (head_may_differ and not is_encoder):
            report.new[name] = shape
        else:
            faults.append(f"{name} is {list(weight.shape)} there and {list(shape)} here")
    if faults:
        raise ValueError(
            f"{checkpoint.source} doesn't hold the BERT that its configuration, with the arguments "
            f"of from_preset, describes: {'; '.join(faults)}."
        )
    for name, weight in checkpoint.weights.items():
        if name not in report.matched:
            is_transposed = name in checkpoint.spellings and checkpoint.spellings[name].transposed
            shape = weight.shape[::-1] if is_transposed else weight.shape
            report.left_over[_their_names(checkpoint, name)] = shape
    return report


def _their_names(checkpoint, name):
    return ", ".join(checkpoint.spellings.get(name, Spelling((name,))).names)


def _size(shape):
    return "x".join(map(str, shape)) or "scalar"
