"""Export of models to other libraries."""

import logging
import os

import keras

from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.checkpoint import Checkpoint, Tensor
from keras_bert.presets.model_card import write_card
from keras_bert.presets.preset_arguments import OF_ONE_MODEL
from keras_bert.presets.save_preset import num_weight_bytes
from keras_bert.training.keras_internals import all_layers, lora_table

logger = logging.getLogger("keras_bert")


def save_to_hugging_face(model: keras.Model, folder: str | os.PathLike) -> None:
    """Writes a model as a folder that Hugging Face's transformers loads.

    It holds `config.json` and `model.safetensors`, and `vocab.txt` and `tokenizer_config.json` if
    the model has a preprocessor. A `BertEmbedder` becomes a sentence-transformers folder, and a
    `BertReranker` one of a `CrossEncoder`. LoRA is merged. The folder is written atomically. It has
    a model card, `README.md`, unless a person's is there; see `save_to_preset`.

    Args:
        model: a `BertBackbone` or any task with one.
        folder: a path; an earlier model there is replaced.

    Raises:
        ValueError: if transformers' BERT can't hold the model, or the folder holds something else.

    Example:
    >>> import tempfile
    >>> from keras_bert import BertBackbone, BertClassifier, save_to_hugging_face, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=2)
    >>> folder = tempfile.mkdtemp()
    >>> save_to_hugging_face(model, folder)
    >>> BertClassifier.from_preset(folder).num_classes
    2
    """
    from keras_bert.presets.formats.hugging_face import write_hugging_face

    def write(checkpoint, unfinished):
        write_hugging_face(checkpoint, unfinished)
        write_card(model, unfinished, has_hugging_face=True)

    _write(model, folder, write)


def save_to_google(model: keras.Model, folder: str | os.PathLike) -> None:
    """Writes a model as a TF1 checkpoint for google-research/bert. Needs TensorFlow.

    The folder holds `bert_config.json`, `bert_model.ckpt.*`, and `vocab.txt` if the model has a
    preprocessor. Google's code calls the tanh form of GELU "gelu". With the exact form
    (`activation="gelu"`), Google's activations therefore differ slightly, by at most 4.7e-4 each;
    here the encoder loads unchanged. So do a classifier's `label_names`, dropout and window
    settings, from a key that Google's code ignores. Of a `BertEmbedder`, only the encoder is
    written; a warning names what is lost.

    Args:
        model: a `BertBackbone`, or a `BertPretrainer`, `BertClassifier` or `BertEmbedder` with one.
        folder: a path; an earlier model there is replaced.

    Raises:
        ValueError: if Google's code can't hold the model, or the folder holds something else.

    Example:
    >>> import tempfile
    >>> from keras_bert import BertBackbone, BertPretrainer, save_to_google, sizes
    >>> model = BertPretrainer(BertBackbone(vocabulary_size=100, **sizes.tiny))
    >>> folder = tempfile.mkdtemp()
    >>> save_to_google(model, folder)
    >>> len(BertPretrainer.from_preset(folder).load_report.new)
    0
    """
    from keras_bert.presets.formats.google import write_google

    _write(model, folder, write_google)
    _report_prompts_and_width(model)


def save_to_keras_hub(model: keras.Model, folder: str | os.PathLike) -> None:
    """Writes a model as a KerasHub preset.

    KerasHub's BERT has only the tanh form of GELU, and its own masked-LM head. Settings that make
    its outputs differ from this model's are logged. A next-sentence head is not written. A
    classifier's `label_names` and window settings load here again, from keys that KerasHub ignores.
    An embedder's prompts and `truncate_dim` are not written, with a warning.

    Args:
        model: a `BertBackbone`, `BertPretrainer`, `BertClassifier` or `BertEmbedder`.
        folder: a path; an earlier model there is replaced.

    Raises:
        ValueError: if KerasHub's BERT would compute a different function of these weights (the
            activation isn't GELU, or the masked-LM table isn't tied), or the folder holds
            something else.

    Example:
    >>> import tempfile
    >>> from keras_bert import BertBackbone, BertEmbedder, save_to_keras_hub, sizes
    >>> backbone = BertBackbone(vocabulary_size=100, activation="gelu_approximate", **sizes.tiny)
    >>> folder = tempfile.mkdtemp()
    >>> save_to_keras_hub(BertEmbedder(backbone, pooling="max"), folder)
    >>> BertEmbedder.from_preset(folder).pooling
    'max'
    """
    from keras_bert.presets.formats.write_keras_hub import write_keras_hub

    _write(model, folder, write_keras_hub)
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
    left_out = (*OF_ONE_MODEL, "backbone", "preprocessor")
    arguments = {name: value for name, value in model.get_config().items() if name not in left_out}
    if preprocessor is None:
        if "num_classes" in arguments:
            arguments["label_names"] = [*map(str, range(arguments["num_classes"]))]
        return arguments
    text = ("tokenizer", "sequence_length", "truncation")
    settings = {n: v for n, v in preprocessor.get_config().items() if n not in text}
    return {**arguments, **settings}


def _check_pools_last_layer(model):
    config = model.get_config()
    if config.get("layers") is not None or config.get("pooling", "mean") is None:
        raise ValueError(
            f"This {type(model).__name__} has pooling={config['pooling']!r}, layers="
            f"{config['layers']}; other libraries' embedders pool the last layer. Write only its "
            "encoder: pass model.backbone in place of model."
        )


def _check_reads_text_alone(model):
    num_features = getattr(model, "num_features", 0)
    if num_features:
        raise ValueError(
            f"This {type(model).__name__} takes numbers alongside texts (num_features="
            f"{num_features}), which other libraries don't support. Save it with "
            "save_to_preset(folder), or write only its encoder: pass model.backbone in place of "
            "model."
        )
    truncation = getattr(getattr(model, "preprocessor", None), "truncation", "head")
    if truncation != "head":
        logger.warning(
            "Other libraries don't store truncation=%r: pass it to from_preset again.", truncation
        )


def _report_prompts_and_width(model):
    """Logs what an embedder's folder of Google or KerasHub lacks; Hugging Face's holds it."""
    reader = getattr(model, "preprocessor", None)
    settings = {
        "prompts": getattr(reader, "prompts", None),
        "default_prompt_name": getattr(reader, "default_prompt_name", None),
        "truncate_dim": getattr(model, "truncate_dim", None),
    }
    lost = [f"{name}={value!r}" for name, value in settings.items() if value]
    if lost:
        logger.warning(
            "Not stored in this format: %s. Pass them to from_preset again, or use "
            "save_to_preset or save_to_hugging_face.",
            ", ".join(lost),
        )


def _write(model, folder, write):
    _check_pools_last_layer(model)
    _check_reads_text_alone(model)
    checkpoint = checkpoint_of(model)
    with new_folder(folder, num_weight_bytes(model)) as unfinished:
        write(checkpoint, unfinished)


def _float_weights(model):
    """Returns `{name: array}` of a model's weights, with LoRA's matrices merged into kernels."""
    merged, adapters = {}, set()
    for layer in all_layers(model, include_self=False):
        if getattr(layer, "quantization_mode", None):
            raise ValueError(
                f"{layer.path} is quantized ({layer.quantization_mode}), which other libraries "
                "can't store. Write the model from before quantize()."
            )
        if getattr(layer, "lora_enabled", False):
            name, table = lora_table(layer)
            merged[table.path] = keras.ops.convert_to_numpy(getattr(layer, name))
            adapters |= {v.path for v in layer.variables if "lora" in v.path}
    return {
        variable.path: (
            merged[variable.path]
            if variable.path in merged
            else keras.ops.convert_to_numpy(variable)
        )
        for variable in model.weights
        if variable.path not in adapters
    }
