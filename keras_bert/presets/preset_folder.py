"""Presets of this library: JSON files, `model.weights.h5` and a vocabulary, with checksums."""

import copy
import math
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_finite, check_one_of
from keras_bert.presets.formats.checkpoint import (
    check_size,
    checked_layers,
    explained,
    public_class,
)
from keras_bert.presets.formats.tensor_files import CHECKSUMS, check_crc32, safe_num_bytes
from keras_bert.text.base_tokenizer import tokenizer_class
from keras_bert.training.keras_internals import set_initial_value

FORMAT = 4


class PresetFolder:
    """A folder that `save_to_preset` wrote. Each file is read once; a damaged one is named."""

    refused: dict[str, str] = {}  # as of a `Checkpoint`

    def __init__(self, path: Path, config: dict[str, Any]):
        self.path = path
        self.keep_layers: list[int] = []  # empty for all
        self._saved = JsonFields(path / "config.json", config)
        check_one_of(f"format of {self._saved.path}", config.get("format"), [FORMAT])
        self._checksums = JsonFields(path / CHECKSUMS)
        for name in (CHECKSUMS, "config.json"):
            self.file(name)

    def __str__(self) -> str:
        return str(self.path)

    def file(self, name: str) -> Path:
        """Returns the path of a file; raises a ValueError if it is missing or was changed."""
        path = self.path / name
        if not path.is_file():
            raise ValueError(f"{self} is not a complete preset: {name} is missing.")
        check_crc32(path, self._checksums.integer(name, high=2**32 - 1))
        return path

    @cached_property
    def model_class(self) -> type[keras.Model]:
        """The model's class; a ValueError if a user's own isn't defined in this process."""
        return _registered(self._saved.text("class"), keras.Model, self._saved.path)

    @cached_property
    def backbone_class(self) -> type[keras.Model]:
        """The class of the model's backbone, or of the model if it is a backbone."""
        base = public_class("Backbone")
        if issubclass(self.model_class, base):
            return self.model_class
        name = self._saved.fields("config").fields("backbone").text("class", "")
        return _registered(name, base, self._saved.path)

    @property
    def backbone_config(self) -> JsonFields:
        config = self._saved.fields("config")
        if self.backbone_class is self.model_class:
            return config
        return config.fields("backbone").fields("config")

    @property
    def training(self) -> JsonFields:
        """The record of the model's training; see `training_of`."""
        return self._saved.fields("training")

    @cached_property
    def _settings(self) -> JsonFields:
        """The contents of `preprocessor.json`; empty if the model doesn't read text."""
        if not self._saved.value("reads_text"):
            return JsonFields(f"{self}/preprocessor.json", {})
        return JsonFields(self.file("preprocessor.json"))

    @cached_property
    def settings(self) -> tuple[type, dict[str, Any]]:
        """The preprocessor's class, by default the task's, and its settings among other values."""
        if name := self._settings.text("class"):
            kind = _registered(name, public_class("BertPreprocessor"), self._settings.path)
            return kind, self._settings.values
        task = self.model_class
        task = task if hasattr(task, "preprocessor_class") else public_class("BertTask")
        return task.preprocessor_class(), self._settings.values

    def with_layers(self, layers: Any) -> Self:
        """Returns this folder as one from which only some layers are to be loaded."""
        kind = self.backbone_class
        if "num_layers" not in kind.size_names:
            raise ValueError(f"The layers of {kind.__name__} may differ: leave keep_layers out.")
        if self._saved.fields("config").value("quantized_layers"):
            raise ValueError(f"{self} is quantized: choose layers of the model from before that.")
        chosen, number = copy.copy(self), self.backbone_config.integer("num_layers", low=1)
        chosen.keep_layers = checked_layers(layers, number, self)
        return chosen

    def text(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments of the tokenizer, if there is one, and those of sequences."""
        if not self._saved.value("reads_text"):
            return {}, {}
        tokenizer = self._settings.fields("tokenizer").values
        with explained(self):
            asset = tokenizer_class(tokenizer.get("family")).asset
        names, values = ("sequence_length", "truncation"), self._settings.values
        text = {name: values[name] for name in names if name in values}
        return {**tokenizer, "vocabulary": str(self.file(asset))}, text

    def model(
        self, preprocessor: Any, precision: dict[str, Any]
    ) -> tuple[dict[str, Any], keras.Model]:
        """Loads `(config, model)`; `precision` may hold a `dtype` to replace the saved one."""
        weights = self.file("model.weights.h5")
        self._check_sizes(safe_num_bytes(weights))
        described = f"{self}/config.json"
        with explained(described, f"doesn't describe a {self.model_class.__name__}"):
            config = {**self._saved.values["config"]}
            model = undrawn(lambda: self._made(config, preprocessor, precision))
        with explained(weights, f"doesn't hold the weights that {described} describes"):
            model.load_weights(weights)
            saved = self._saved.integer("num_weights", high=2**63)
            needed = num_weights(model)
            if saved not in (None, needed):  # Keras leaves out the rest
                raise ValueError(f"{saved:,} numbers were saved, {needed:,} are needed")
        for variable in model.weights:
            check_finite(keras.ops.convert_to_numpy(variable), weights, variable.path)
        return config, model

    def _made(self, config, preprocessor, precision):
        config.pop("trainable", None)  # loaded models train
        if self.backbone_class is self.model_class:
            config |= precision
        else:
            if precision:
                config.pop("dtype", None)  # the head follows
            backbone = {**self.backbone_config.values, **precision}
            backbone.pop("trainable", None)
            config["backbone"] = self.backbone_class.from_config(backbone)
            config["preprocessor"] = preprocessor
        return self.model_class.from_config(config)

    def _check_sizes(self, num_bytes):
        config = self._saved.fields("config")
        for name in ("num_classes", "num_features"):
            config.integer(name, high=num_bytes)
        backbone = self.backbone_config
        sizes = {name: backbone.integer(name, 0) for name in self.backbone_class.size_names}
        check_size(sizes, num_bytes, self, self.backbone_class)


def num_weights(model: keras.Model) -> int:
    """Counts the numbers in a model's weights; presets hold no adapters."""
    return sum(math.prod(weight.shape) for weight in model.weights if "lora" not in weight.path)


def undrawn(make: Callable[[], keras.Model]) -> keras.Model:
    """Makes a model with weights of 0, to be replaced: drawing them takes seconds."""

    def zeros(shape, dtype):
        return keras.ops.convert_to_tensor(np.zeros(shape, "int8"), dtype)

    with keras.StatelessScope():  # variables get their initial values when it ends
        model = make()
        for variable in model.weights:
            set_initial_value(variable, zeros)
    return model


def _registered(name, base, path):
    package, _, short = name.rpartition(">")
    if package == "keras_bert" and hasattr(import_module("keras_bert"), short):
        found = public_class(short)
    else:
        found = keras.saving.get_registered_object(name)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ValueError(
            f"{path} names the class {name!r}, which isn't defined here as a {base.__name__}. "
            "Import the module that registers it with Keras, then load again."
        )
    return found
