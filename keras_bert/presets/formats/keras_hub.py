"""KerasHub presets, read with the public API of keras-nlp, which is now an alias of keras-hub.

Only a tokenizer's vocabulary is read, with our algorithm.
"""

import math
from os import PathLike
from pathlib import Path

import keras

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields
from keras_bert.messages import from_extra, logger
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    explained,
    file_tensor,
    public_class,
    translate,
)
from keras_bert.presets.formats.tensor_files import safe_num_bytes
from keras_bert.presets.formats.weight_names import BACKBONE, keras_hub_spellings
from keras_bert.text.vocabulary import read_lines

with from_extra("keras-hub"):
    import kagglehub
    import keras_hub

# KerasHub's encoder uses the tanh approximation of GELU; its masked-LM head uses the exact form.
_ACTIVATION = "gelu_approximate"
_HEAD = {"masked_lm_activation": "gelu", "masked_lm_epsilon": 1e-5}
# {KerasHub's class: our class}
_TASKS = {
    "BertMaskedLM": "BertPretrainer",
    "BertTextClassifier": "BertClassifier",
    "BertTextEmbedder": "BertEmbedder",
}


def read_keras_hub(source: str | PathLike) -> Checkpoint:
    """Reads a preset of KerasHub's BERT: a folder, a name, or a `kaggle://` handle."""
    folder = Path(source) if Path(source).is_dir() else _download(str(source))
    for name in ("model.weights.h5", "task.weights.h5"):
        safe_num_bytes(file_in(folder, name))
    class_name = JsonFields(folder / "task.json").text("class_name")
    name = f"KerasHub preset {source}"
    advice = "Pass a complete preset of a BertBackbone, or of a task with one."
    with explained(name, "can't be loaded as a BERT", advice):
        if class_name in _TASKS:
            their_class = getattr(keras_hub.models, class_name)
            theirs = their_class.from_preset(str(folder), preprocessor=None)
            backbone = theirs.backbone
        else:
            class_name = None
            theirs = backbone = keras_hub.models.BertBackbone.from_preset(str(folder))
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
    arguments = {"activation": _ACTIVATION}
    for argument in BACKBONE:
        if argument != "attention_dropout":  # there, `dropout` is both
            arguments[argument] = getattr(backbone, argument)
    backbone_class = public_class("BertBackbone")
    preprocessor = JsonFields(folder / "preprocessor.json").fields("config")
    longest = preprocessor.integer("sequence_length", backbone.max_sequence_length, low=1)
    task = class_name and public_class(_TASKS[class_name])
    checkpoint = translate(tensors, backbone_class, arguments, keras_hub_spellings, name, task)
    checkpoint.task_arguments = _task_arguments(theirs, class_name, source)
    checkpoint.tokenizer = _tokenizer(folder)
    checkpoint.sequence_length = min(longest, backbone.max_sequence_length)
    return checkpoint


def _task_arguments(theirs, class_name, source):
    if class_name == "BertMaskedLM":
        return {"next_sentence": False, **_HEAD}
    if class_name == "BertTextEmbedder":
        return {"pooling": theirs.pooling_mode, "normalize": theirs.normalize}
    if class_name == "BertTextClassifier":
        if theirs.activation is not keras.activations.linear:
            message = "%s ends with %s, which isn't loaded: a BertClassifier returns logits."
            logger.warning(message, source, theirs.activation.__name__)
        return {"num_classes": theirs.num_classes, "dropout": theirs.dropout}
    return {}


def _tensors(model, path):
    """Returns the weights as matrices; KerasHub uses a separate dimension for heads."""

    def tensor(variable):
        shape = tuple(variable.shape)
        if variable.path.endswith("attention_output/kernel"):  # [N, D, H]
            shape = (math.prod(shape[:-1]), shape[-1])
        elif "self_attention_layer/" in variable.path and len(shape) > 1:  # [H, N, D], [N, D]
            shape = (*shape[:-2], math.prod(shape[-2:]))

        def read():
            return keras.ops.convert_to_numpy(variable).reshape(shape)

        return file_tensor(path, variable.path, shape, variable.dtype, read)

    return {variable.path: tensor(variable) for variable in model.weights}


def _tokenizer(folder):
    config = JsonFields(folder / "tokenizer.json").fields("config")
    path = file_in(folder, "assets/tokenizer/vocabulary.txt")
    if not config or not path.is_file():
        return {}
    tokens = read_lines(path)
    lowercase = config.boolean("lowercase", False)
    return {"vocabulary": tokens, "lowercase": lowercase}


def _download(handle):
    name = handle
    if not handle.startswith("kaggle://"):
        handle = keras_hub.models.BertBackbone.presets[handle]["kaggle_handle"]
        name = f"{name} ({handle})"
    advice = "Check the handle and the connection; for a private model, also KAGGLE_API_TOKEN."
    with explained(name, "could not be downloaded from Kaggle", advice):
        return Path(kagglehub.model_download(handle.removeprefix("kaggle://")))
