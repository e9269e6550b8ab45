"""Saving of models as presets."""

import math
import os

import keras

from keras_bert.files.json_files import write_json
from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.tensor_files import crc32_of
from keras_bert.presets.model_card import write_card
from keras_bert.presets.preset_arguments import check_saves
from keras_bert.presets.preset_folder import FORMAT
from keras_bert.training.processes import is_chief, wait_for_all
from keras_bert.training.training_record import training_of


def save_preset(model: keras.Model, folder: str | os.PathLike) -> None:
    """Writes a model as a preset; see `PresetModel.save_to_preset`."""
    if is_chief(model):
        _write(model, folder)
    wait_for_all("a preset", model)


def num_weight_bytes(model: keras.Model) -> int:
    """Returns the least number of bytes that the weights of a model take in a file."""
    sizes = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
    return sum(math.prod(w.shape) * sizes.get(str(w.dtype), 1) for w in model.weights)


def _write(model, folder):
    preprocessor = getattr(model, "preprocessor", None)
    description = _description(model)
    if "backbone" in description["config"]:
        description["config"]["backbone"] = _description(model.backbone)
        del description["config"]["preprocessor"]
    reader = {} if preprocessor is None else _description(preprocessor)
    training = training_of(model)
    with new_folder(folder, num_weight_bytes(model)) as unfinished:
        weights = unfinished / "model.weights.h5"
        _save_weights_alone(model, weights)
        config = {
            "format": FORMAT,
            "class": description["class"],
            "reads_text": preprocessor is not None,
            "config": description["config"],
            "weights_crc32": crc32_of(weights),
            **({"training": training} if training else {}),
        }
        write_json(unfinished / "config.json", config)
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            settings = {"class": reader["class"], **preprocessor.settings()}
            write_json(unfinished / "preprocessor.json", settings)
        write_card(model, unfinished)


def _description(part):
    config = part.get_config()
    check_saves(type(part), config)
    return {"class": keras.saving.get_registered_name(type(part)), "config": config}


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's state, which Keras would add."""
    optimizer = getattr(task, "optimizer", None)
    task.optimizer = None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer
