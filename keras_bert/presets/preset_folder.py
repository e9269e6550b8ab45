"""Presets of this library: JSON files, `model.weights.h5` and a vocabulary, with checksums."""

import copy
import math
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_all_finite
from keras_bert.presets.formats.checkpoint import (
    DIVERGED,
    check_size,
    checked_layers,
    explained,
    public_class,
    reader_class,
)
from keras_bert.presets.formats.tensor_files import CHECKSUMS, crc32_of, safe_num_bytes
from keras_bert.text.base_tokenizer import tokenizer_class
from keras_bert.training.keras_internals import set_initial_value

FORMAT = 4


class PresetFolder:
    """A folder that `save_to_preset` wrote. Each file is read once; a damaged one is named."""

    refused: dict[type, str] = {}  # like a `Checkpoint`'s

    def __init__(self, path: Path, config: dict[str, Any]):
        self.path = path
        self.keep_layers: list[int] = []  # empty for all
        self._saved = JsonFields(path / "config.json", config)
        self._saved.one_of("format", [FORMAT])
        self._checksums = JsonFields(path / CHECKSUMS)
        for name in (CHECKSUMS, "config.json"):
            self.file(name)

    def __str__(self) -> str:
        return str(self.path)

    def file(self, name: str) -> Path:
        """Returns the path of a file; raises a ValueError if it is missing or was changed."""
        path = file_in(self.path, name)
        if not path.is_file():
            raise ValueError(f"{self} is not a complete preset: {name} is missing.")
        expected = self._checksums.integer(name, high=2**32 - 1)
        if expected is not None and crc32_of(path) != expected:
            raise ValueError(
                f"{path} is damaged, or was changed: its checksum is another one. Write the preset "
                "again, or download it again. To use a file that you changed, remove its name from "
                f"{path.with_name(CHECKSUMS)}."
            )
        return path

    @cached_property
    def model_class(self) -> type[keras.Model]:
        """The model's class; a ValueError if a user's own isn't defined in this process."""
        return _registered(self._saved, keras.Model)

    @cached_property
    def backbone_class(self) -> type[keras.Model]:
        """The class of the model's backbone, or of the model if it is a backbone."""
        base = public_class("Backbone")
        if issubclass(self.model_class, base):
            return self.model_class
        return _registered(self._saved.fields("config").fields("backbone"), base)

    @property
    def backbone_config(self) -> JsonFields:
        """The config of the model's backbone."""
        config = self._saved.fields("config")
        if self.backbone_class is self.model_class:
            return config
        return config.fields("backbone").fields("config")

    @property
    def published_source(self) -> str | None:
        """The published weights that the model's training started from."""
        return self._saved.text("source")

    @cached_property
    def _settings(self) -> JsonFields:
        """The contents of `preprocessor.json`; empty if the model doesn't read text."""
        if not self._saved.value("reads_text"):
            return JsonFields(f"{self}/preprocessor.json", {})
        return JsonFields(self.file("preprocessor.json"))

    @cached_property
    def settings(self) -> tuple[type, dict[str, Any]]:
        """The preprocessor's class, by default the task's, and its settings among other values."""
        if "class" in self._settings:  # also if the model's own class isn't defined here
            preprocessor_class = _registered(self._settings, public_class("BertPreprocessor"))
        else:
            preprocessor_class = reader_class(self.model_class)
        return preprocessor_class, self._settings.values

    def with_layers(self, layers: Any) -> Self:
        """Returns this folder as one from which only some layers are to be loaded."""
        if self._saved.fields("config").value("quantized_layers"):
            raise ValueError(f"{self} is quantized: choose layers of the model from before that.")
        num_layers = self.backbone_config.integer("num_layers", 1, low=1)
        folder = copy.copy(self)
        folder.keep_layers = checked_layers(layers, num_layers, self)
        self.backbone_class.check_layers(folder.keep_layers, self.backbone_config.values)
        return folder

    def text(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments of the tokenizer, if there is one, and those of sequences."""
        if not self._settings:
            return {}, {}
        tokenizer = self._settings.fields("tokenizer").values
        asset = tokenizer_class(tokenizer).asset
        lengths = ("sequence_length", "truncation")
        text = {name: value for name, value in self._settings.values.items() if name in lengths}
        return {**tokenizer, "vocabulary": str(self.file(asset))}, text

    def model(
        self, preprocessor: Any, precision: dict[str, Any]
    ) -> tuple[dict[str, Any], keras.Model]:
        """Loads `(config, model)`; `precision` may hold a `dtype` to replace the saved one."""
        weights = self.file("model.weights.h5")
        self._check_sizes(safe_num_bytes(weights))
        path = f"{self}/config.json"
        with explained(path, f"doesn't describe a {self.model_class.__name__}"):
            config = {**self._saved.values["config"]}
            with keras.StatelessScope():  # variables get their initial values when it ends
                model = self._model(config, preprocessor, precision)
                for variable in model.weights:  # random initialization would take seconds
                    set_initial_value(variable, _zeros)
        with explained(weights, f"doesn't hold the weights that {path} describes"):
            model.load_weights(weights)
            saved = self._saved.integer("num_weights", high=2**63)
            needed = num_weights(model)
            if saved not in (None, needed):  # Keras leaves out the rest
                raise ValueError(f"{saved:,} numbers were saved, {needed:,} are needed")
        for variable in model.weights:
            array = keras.ops.convert_to_numpy(variable)
            check_all_finite(f"{weights}: {variable.path}", array, DIVERGED)
        return config, model

    def _model(self, config, preprocessor, precision):
        config.pop("trainable", None)  # loaded models train
        if self.backbone_class is self.model_class:
            return self.model_class.from_config({**config, **precision})
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
        check_size(self.backbone_class, sizes, num_bytes, self)


def num_weights(model: keras.Model) -> int:
    """Counts the numbers in a model's weights; presets hold no adapters."""
    return sum(math.prod(weight.shape) for weight in model.weights if "lora" not in weight.path)


def _zeros(shape, dtype):
    return keras.ops.convert_to_tensor(np.zeros(shape, "int8"), dtype)


def _registered(saved, base):
    """Returns the class that an object of a file names, one of this library or of a user."""
    name = saved.text("class", "")
    package, _, short = name.rpartition(">")
    if package == "keras_bert" and short in import_module("keras_bert").__all__:
        cls = public_class(short)
    else:
        cls = keras.saving.get_registered_object(name)
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise ValueError(
            f"{saved.path} names the class {name!r}, which isn't defined here as a "
            f"{base.__name__}. Import the module that registers it with Keras, then load again."
        )
    return cls
