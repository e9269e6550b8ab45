"""Export of models to other libraries."""

import logging
import os
from collections.abc import Callable

import keras

from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.checkpoint import Checkpoint, Tensor
from keras_bert.presets.model_card import write_card
from keras_bert.presets.preset_arguments import shared_arguments
from keras_bert.presets.save_preset import num_weight_bytes
from keras_bert.training.keras_internals import all_layers, lora_table

logger = logging.getLogger("keras_bert")


def save_checkpoint(
    model: keras.Model, folder: str | os.PathLike, write: Callable, has_card: bool = False
) -> None:
    """Writes a model as a folder of another library's, by the `write` of its format."""
    _check_others_support(model)
    checkpoint = checkpoint_of(model)
    with new_folder(folder, num_weight_bytes(model)) as unfinished:
        write(checkpoint, unfinished)
        if has_card:
            write_card(model, unfinished, has_hugging_face=True)
    if not has_card:
        _report_prompts_and_width(model)


def checkpoint_of(model: keras.Model) -> Checkpoint:
    """Makes a `Checkpoint` from a model of this library."""
    backbone = getattr(model, "backbone", model)
    if backbone.architecture != "bert":
        raise ValueError(
            f"Other libraries have no names for the weights of {type(backbone).__name__}. Save the "
            "model with save_to_preset(folder)."
        )
    preprocessor = getattr(model, "preprocessor", None)
    tokenizer = {} if preprocessor is None else preprocessor.tokenizer.get_config()
    return Checkpoint(
        source=f"{type(model).__name__} {model.name}",
        backbone={**backbone.get_config()},
        weights={
            name: Tensor(tuple(array.shape), lambda array=array: array)
            for name, array in _float_weights(model).items()
        },
        task=type(model).__name__ if backbone is not model else None,
        task_arguments=_task_arguments(model, preprocessor) if backbone is not model else {},
        vocabulary=tokenizer.pop("vocabulary", None),
        tokenizer=tokenizer,
        sequence_length=getattr(preprocessor, "sequence_length", backbone.max_sequence_length),
    )


def _task_arguments(model, preprocessor):
    """Merges the arguments of a task and its preprocessor, as other libraries store them."""
    arguments = shared_arguments(model.get_config())
    del arguments["backbone"], arguments["preprocessor"]
    if preprocessor is not None:
        text = ("tokenizer", "sequence_length", "truncation")
        arguments |= {n: v for n, v in preprocessor.get_config().items() if n not in text}
    elif "num_classes" in arguments:
        arguments["label_names"] = [*map(str, range(arguments["num_classes"]))]
    return arguments


def _check_others_support(model):
    config, num_features = model.get_config(), getattr(model, "num_features", 0)
    if config.get("layers") is not None or config.get("pooling", "mean") is None:
        raise ValueError(
            f"This {type(model).__name__} has pooling={config['pooling']!r}, layers="
            f"{config['layers']}; other libraries' embedders pool the last layer. Write "
            "model.backbone in place of model."
        )
    if num_features:
        raise ValueError(
            f"This {type(model).__name__} takes numbers alongside texts (num_features="
            f"{num_features}), which other libraries don't support. Save it with "
            "save_to_preset(folder), or write model.backbone in place of model."
        )
    truncation = getattr(getattr(model, "preprocessor", None), "truncation", "head")
    if truncation != "head":
        logger.warning(
            "Other libraries don't store truncation=%r: pass it to from_preset again.", truncation
        )


def _report_prompts_and_width(model):
    """Logs what an embedder's folder of Google or KerasHub lacks; Hugging Face's holds it."""
    preprocessor = getattr(model, "preprocessor", None)
    settings = {n: getattr(preprocessor, n, None) for n in ("prompts", "default_prompt_name")}
    settings["truncate_dim"] = getattr(model, "truncate_dim", None)
    if lost := [f"{name}={value!r}" for name, value in settings.items() if value]:
        logger.warning(
            "Not stored in this format: %s. Pass them to from_preset again, or use "
            "save_to_preset or save_to_hugging_face.",
            ", ".join(lost),
        )


def _float_weights(model):
    """Returns `{name: array}` of a model's weights, with LoRA's matrices merged into kernels."""
    weights = {variable.path: variable for variable in model.weights}
    for layer in all_layers(model, include_self=False):
        if getattr(layer, "quantization_mode", None):
            raise ValueError(
                f"{layer.path} is quantized ({layer.quantization_mode}), which other libraries "
                "can't store. Write the model from before quantize()."
            )
        if getattr(layer, "lora_enabled", False):
            name, table = lora_table(layer)
            weights[table.path] = getattr(layer, name)
            for path in [v.path for v in layer.variables if "lora" in v.path]:
                del weights[path]
    return {path: keras.ops.convert_to_numpy(weight) for path, weight in weights.items()}
