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
    """Writes `config.json`, `model.weights.h5`, `preprocessor.json`, `vocab.txt` and a model card.

    The folder is written atomically. A backbone has no preprocessor. If several processes train
    together, all call this function; the first writes, and the others wait.

    The card, `README.md`, says what the model is, how it was trained (see `record_training`), its
    scores, and how to load it. Its last line marks it as ours: a `README.md` without that line is a
    person's and is kept, and no card is written.

    Args:
        model: a `BertBackbone`, or a task with one.
        folder: a path; an earlier preset there is replaced.

    Raises:
        ValueError: if the folder holds something that is not a preset; or if the model couldn't be
            loaded again, because its class or its backbone's isn't registered, or a config lacks
            an argument.
    """
    if is_chief(model):
        _write(model, folder)
    wait_for_all("a preset", model)


def num_weight_bytes(model: keras.Model) -> int:
    """Returns the least number of bytes that the weights of a model take in a file."""
    sizes = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
    return sum(math.prod(w.shape) * sizes.get(str(w.dtype), 1) for w in model.weights)


def _write(model, folder):
    preprocessor = getattr(model, "preprocessor", None)
    name, config = _description(model)
    if "backbone" in config:
        config["backbone"] = dict(
            zip(("class", "config"), _description(model.backbone), strict=True)
        )
        del config["preprocessor"]
    if preprocessor is not None:
        reader, _ = _description(preprocessor)
    training = training_of(model)
    with new_folder(folder, num_weight_bytes(model)) as unfinished:
        weights = unfinished / "model.weights.h5"
        _save_weights_alone(model, weights)
        write_json(
            unfinished / "config.json",
            {
                "format": FORMAT,
                "class": name,
                "reads_text": preprocessor is not None,
                "config": config,
                "weights_crc32": crc32_of(weights),
                **({"training": training} if training else {}),
            },
        )
        if preprocessor is not None:
            preprocessor.tokenizer.save_vocabulary(unfinished / "vocab.txt")
            settings = {"class": reader, **preprocessor.settings()}
            write_json(unfinished / "preprocessor.json", settings)
        write_card(model, unfinished)


def _description(part):
    """Returns the registered name of an object's class, and its config."""
    config = part.get_config()
    check_saves(type(part), config)
    return keras.saving.get_registered_name(type(part)), config


def _save_weights_alone(task, path):
    """Saves weights without the optimizer's state, which Keras would add."""
    optimizer = getattr(task, "optimizer", None)
    task.optimizer = None
    try:
        task.save_weights(path)
    finally:
        task.optimizer = optimizer
