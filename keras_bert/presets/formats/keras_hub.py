"""KerasHub presets, read with the public API of keras-nlp, which is now an alias of keras-hub.

Only a tokenizer's vocabulary is read, with our algorithm.
"""

import math
from os import PathLike
from pathlib import Path

import keras

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import from_extra, logger
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    check_size,
    explained,
    file_tensor,
    translate,
)
from keras_bert.presets.formats.tensor_files import safe_num_bytes
from keras_bert.presets.formats.weight_names import keras_hub_spellings
from keras_bert.text.vocabulary import read_lines

with from_extra("keras-hub"):
    import kagglehub
    import keras_hub

# Arguments of a backbone with the same name in both libraries.
_BACKBONE_SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim")
_BACKBONE_SIZES += ("max_sequence_length", "num_segments")
_BACKBONE = (*_BACKBONE_SIZES, "dropout")
# KerasHub's encoder uses the tanh approximation of GELU; its masked-LM head uses the exact form.
_ACTIVATION = "gelu_approximate"
_HEAD = {"masked_lm_activation": "gelu", "masked_lm_epsilon": 1e-5}
# {KerasHub's class: our class}
_TASKS = {
    "BertMaskedLM": "BertPretrainer",
    "BertTextClassifier": "BertClassifier",
    "BertTextEmbedder": "BertEmbedder",
}
# {KerasHub's class: {its argument: ours}}
_ARGUMENTS = {
    "BertTextClassifier": {"num_classes": "num_classes", "dropout": "dropout"},
    "BertTextEmbedder": {"pooling_mode": "pooling", "normalize": "normalize"},
}


def read_keras_hub(source: str | PathLike) -> Checkpoint:
    """Reads a preset of KerasHub's BERT: a folder, a name, or a `kaggle://` handle."""
    folder = Path(source) if Path(source).is_dir() else _download(str(source))
    _check_config(folder)
    task = JsonFields(folder / "task.json").text("class_name")
    advice = "Pass a complete preset of a BertBackbone, or of a task with one."
    with explained(f"KerasHub preset {source}", "can't be loaded as a BERT", advice):
        theirs = (
            getattr(keras_hub.models, task).from_preset(str(folder), preprocessor=None)
            if task in _TASKS
            else keras_hub.models.BertBackbone.from_preset(str(folder))
        )
    backbone = getattr(theirs, "backbone", theirs)
    num_weights = JsonFields(folder / "metadata.json").integer("parameter_count", high=2**63)
    if num_weights not in (None, backbone.count_params()):  # KerasHub drops layers silently
        raise ValueError(
            f"{folder} holds a BERT with {num_weights} weights according to metadata.json, but "
            f"config.json describes {backbone.count_params()}: they belong to different models."
        )
    # Without this file, KerasHub silently initializes a new head.
    head = folder / "task.weights.h5"
    tensors = _tensors(theirs, head) if head.is_file() else {}
    tensors |= _tensors(backbone, folder / "model.weights.h5")
    arguments = {name: getattr(backbone, name) for name in _BACKBONE}
    preprocessor = JsonFields(folder / "preprocessor.json").fields("config")
    longest = preprocessor.integer("sequence_length", backbone.max_sequence_length, low=1)
    return Checkpoint(
        source=f"KerasHub preset {source}",
        backbone={"activation": _ACTIVATION, **arguments},
        task=_TASKS.get(task),
        task_arguments=_task_arguments(theirs, task, source),
        tokenizer=_tokenizer(folder),
        sequence_length=min(longest, backbone.max_sequence_length),
        **translate(tensors, arguments, keras_hub_spellings, f"KerasHub preset {source}"),
    )


def _check_config(folder):
    config = JsonFields(folder / "config.json")
    if config.text("registered_name", "").rpartition(">")[2] != "BertBackbone":
        return  # KerasHub refuses it by its name
    num_bytes = safe_num_bytes(folder / "model.weights.h5")
    safe_num_bytes(folder / "task.weights.h5")
    if num_bytes is None:
        return
    task = JsonFields(folder / "task.json").fields("config")
    task.integer("num_classes", low=1, high=num_bytes)
    for backbone in (config.fields("config"), task.fields("backbone").fields("config")):
        sizes = {name: backbone.integer(name, 1, low=1) for name in _BACKBONE_SIZES}
        check_size(sizes, num_bytes, backbone.path)


def _task_arguments(theirs, task, source):
    if task == "BertMaskedLM":
        return {"next_sentence": False, **_HEAD}
    config = theirs.get_config()
    arguments = {ours: config[name] for name, ours in _ARGUMENTS.get(task, {}).items()}
    if task == "BertTextClassifier":
        if theirs.activation is not keras.activations.linear:
            message = "%s ends with %s, which isn't loaded: a BertClassifier returns logits."
            logger.warning(message, source, theirs.activation.__name__)
    return arguments


def _tensors(model, path):
    """Returns the weights as matrices; KerasHub uses a separate dimension for heads."""

    def tensor(variable):
        shape = tuple(variable.shape)
        if variable.path.endswith("attention_output/kernel"):  # [N, D, H]
            shape = (math.prod(shape[:-1]), shape[-1])
        elif "self_attention_layer/" in variable.path:  # [H, N, D], [N, D]
            shape = (*shape[:-2], math.prod(shape[-2:])) if len(shape) > 1 else shape

        def read():
            return keras.ops.convert_to_numpy(variable).reshape(shape)

        return file_tensor(path, variable.path, shape, variable.dtype, read)

    return {variable.path: tensor(variable) for variable in model.weights}


def _tokenizer(folder):
    config = JsonFields(folder / "tokenizer.json").fields("config")
    path = folder / "assets" / "tokenizer" / "vocabulary.txt"
    if not config or not path.is_file():
        return {}
    tokens, lowercase = read_lines(path), config.boolean("lowercase", False)
    return {"vocabulary": tokens, "lowercase": lowercase}


def _download(handle):
    name = handle
    if not handle.startswith("kaggle://"):
        handle = keras_hub.models.BertBackbone.presets[handle]["kaggle_handle"]
        name = f"{name} ({handle})"
    advice = "Check the handle and the connection; for a private model, also KAGGLE_API_TOKEN."
    with explained(name, "could not be downloaded from Kaggle", advice):
        return Path(kagglehub.model_download(handle.removeprefix("kaggle://")))
