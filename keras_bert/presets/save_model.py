"""Saving of models: as presets, and as folders of other libraries."""

import contextlib
import math
import os
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.files.json_files import write_json
from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.checkpoint import ENCODER_PARTS, Checkpoint, Tensor
from keras_bert.presets.formats.hugging_face import (
    check_supported,
    write_config,
    write_hugging_face,
)
from keras_bert.presets.formats.peft import write_adapter
from keras_bert.presets.formats.tensor_files import CHECKSUMS, crc32_of
from keras_bert.presets.model_card import Card, write_card
from keras_bert.presets.preset_arguments import check_saves
from keras_bert.presets.preset_folder import FORMAT, num_weights
from keras_bert.training.keras_internals import all_layers, exact_lora, lora_table
from keras_bert.training.processes import is_chief, wait_for_all


def save_preset(model: keras.Model, folder: str | os.PathLike, card: Card) -> None:
    """Writes a preset; see `PresetModel.save_to_preset`."""
    if is_chief(model):
        _write(model, folder, card)
    wait_for_all("a preset", model)


def save_hugging_face(model: keras.Model, folder: str | os.PathLike, card: Card) -> None:
    """Writes a folder of Hugging Face's; see `PresetModel.save_to_hugging_face`."""
    checkpoint = checkpoint_of(model)
    checkpoint.weights = _float_weights(model)
    with new_folder(folder, 4 * model.count_params()) as unfinished:
        write_hugging_face(checkpoint, unfinished)
        write_card(model, unfinished, card, has_hugging_face=True)


def save_adapter(model: keras.Model, folder: str | os.PathLike, base: str) -> None:
    """Writes LoRA's adapters and the head as a folder of PEFT; see `BertTask.save_lora`."""
    checkpoint = checkpoint_of(model)
    for name, tensor in _float_weights(model).items():
        if not name.startswith(ENCODER_PARTS):
            checkpoint.weights[name] = tensor
    with new_folder(folder, 4 * model.count_params()) as unfinished:
        write_config(checkpoint, unfinished)
        write_adapter(checkpoint, model.backbone.lora_layers(), base, unfinished)


def _write(model, folder, card):
    preprocessor = model.preprocessor
    description = _description(model)
    config = description["config"]
    if model.backbone is not model:
        config["backbone"] = _description(model.backbone)
        del config["preprocessor"]
    saved = {
        "format": FORMAT,
        "class": description["class"],
        "reads_text": preprocessor is not None,
        "config": config,
        "num_weights": num_weights(model),
    }
    if model.backbone.published_source is not None:
        saved["source"] = model.backbone.published_source
    if preprocessor is not None:
        check_saves(type(preprocessor), _settings_of(preprocessor))
    with new_folder(folder, _num_bytes(model)) as unfinished:
        _save_weights(model, unfinished / "model.weights.h5")
        write_json(unfinished / "config.json", saved)
        if preprocessor is not None:
            write_preprocessor(preprocessor, unfinished)
        checksums = {path.name: crc32_of(path) for path in sorted(unfinished.iterdir())}
        write_json(unfinished / CHECKSUMS, checksums)
        write_card(model, unfinished, card)


def write_preprocessor(preprocessor: Any, folder: Path) -> None:
    """Writes the vocabulary and `preprocessor.json`."""
    preprocessor.tokenizer.save_assets(folder)
    name = keras.saving.get_registered_name(type(preprocessor))
    write_json(folder / "preprocessor.json", {"class": name, **_settings_of(preprocessor)})


def _settings_of(preprocessor):
    """Returns the config without the vocabulary."""
    settings = {**preprocessor.get_config(), "tokenizer": preprocessor.tokenizer.settings()}
    return keras.saving.serialize_keras_object(settings)


def _description(part):
    config = part.get_config()
    check_saves(type(part), config)
    return {"class": keras.saving.get_registered_name(type(part)), "config": config}


def _save_weights(model, path):
    """Saves weights, with adapters merged, without the optimizer's state, which Keras would add."""
    optimizer = getattr(model, "optimizer", None)
    adapted = model.backbone.adapted
    model.optimizer = None
    try:
        with adapted.left_out() if adapted else contextlib.nullcontext(), exact_lora(model):
            model.save_weights(path)
    finally:
        model.optimizer = optimizer


def _num_bytes(model):
    """Returns what a model's weights take at most in HDF5, with 2 or 3 kilobytes of groups each."""
    sizes = [math.prod(w.shape) * np.dtype(w.dtype).itemsize for w in model.weights]
    return sum(sizes) + 2**13 * len(sizes)


def checkpoint_of(model: keras.Model) -> Checkpoint:
    """Makes a `Checkpoint`, still without weights, of a model that other libraries can hold.

    Raises a ValueError if they can't.
    """
    backbone = model.backbone
    for part, their_name in ((backbone, backbone.architecture), (model, model.published.head)):
        if their_name is None:
            raise ValueError(
                f"Other libraries have no names for the weights of a {type(part).__name__}. Save "
                "the model with save_to_preset(folder)."
            )
    checkpoint = Checkpoint(
        f"{type(model).__name__} {model.name}",
        type(backbone),
        backbone.get_config(),
        sequence_length=backbone.max_sequence_length,
        truncation=truncation_of(model.preprocessor),
    )
    if model is not backbone:
        checkpoint.task = type(model)
        checkpoint.task_arguments = _task_arguments(model)
    if model.preprocessor is not None:
        checkpoint.own_tokenizer = model.preprocessor.tokenizer
        checkpoint.sequence_length = model.preprocessor.sequence_length
    check_supported(checkpoint)
    return checkpoint


def truncation_of(preprocessor: Any) -> str | None:
    """Returns the part of a long text that a preprocessor keeps; None if it reads all of it."""
    if preprocessor is None or preprocessor.cuts_windows or not preprocessor.truncates:
        return None
    return preprocessor.truncation


def _task_arguments(model):
    arguments = model.own_arguments()
    if model.preprocessor is not None:
        settings = model.preprocessor.get_config()
        for name in ("tokenizer", "sequence_length"):
            del settings[name]
        arguments |= settings
    return arguments


def _float_weights(model):
    """Returns `{name: Tensor}` of a model's weights, with LoRA's matrices merged into kernels."""
    weights = {variable.path: variable for variable in model.weights}
    for layer in all_layers(model, include_self=False):
        if getattr(layer, "quantization_mode", None):
            raise ValueError(
                f"{layer.path} is quantized ({layer.quantization_mode}), which other libraries "
                "can't store. Write the model from before quantize()."
            )
        if getattr(layer, "lora_enabled", False):
            name, table = lora_table(layer)
            with exact_lora(layer):
                weights[table.path] = getattr(layer, name)
            for variable in layer.variables:
                if "lora" in variable.path:
                    del weights[variable.path]
    tensors = {}
    for path, weight in weights.items():
        array = keras.ops.convert_to_numpy(weight)
        tensors[path] = Tensor(array.shape, partial(np.asarray, array))
    return tensors
