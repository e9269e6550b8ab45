"""Models written for other libraries."""

import logging

import keras

from keras_bert.files.new_folder import new_folder
from keras_bert.presets.formats.checkpoint import Checkpoint, Tensor
from keras_bert.presets.preset_arguments import OF_ONE_MODEL
from keras_bert.training.keras_internals import all_layers, lora_table

logger = logging.getLogger("keras_bert")


def save_to_hugging_face(model, folder):
    """Writes a model as a folder that Hugging Face's transformers loads.

    `config.json`, `model.safetensors`, and, where the model has a preprocessor, `vocab.txt` and
    `tokenizer_config.json`. A `BertEmbedder` becomes a folder of sentence-transformers. LoRA is
    merged. The folder is written whole or not at all.

    Args:
        model: a `BertBackbone` or any task on one.
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

    _write(model, folder, write_hugging_face)


def save_to_google(model, folder):
    """Writes a model as google-research/bert reads it: a TF1 checkpoint. Needs TensorFlow.

    `bert_config.json`, `bert_model.ckpt.*` and, where the model has a preprocessor, `vocab.txt`.
    Google's code calls the tanh form of GELU "gelu"; an encoder with the exact one
    (`activation="gelu"`) is computed a little otherwise there (at most 4.7e-4 an activation), and
    comes back here as it was. So do a classifier's `label_names`, dropout, labels and windows, by
    a key that Google's code skips; of a `BertEmbedder` the encoder is written, and that is logged.

    Args:
        model: a `BertBackbone`, or a `BertPretrainer`, `BertClassifier` or `BertEmbedder` on one.
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


def save_to_keras_hub(model, folder):
    """Writes a model as a preset of KerasHub.

    KerasHub's BERT has the tanh form of GELU alone, and a masked-LM head of its own; what it
    computes otherwise than this model is logged. A next-sentence head has no place there; a
    classifier's `label_names`, labels and windows come back here by keys that KerasHub skips.

    Args:
        model: a `BertBackbone`, `BertPretrainer`, `BertClassifier` or `BertEmbedder`.
        folder: a path; an earlier model there is replaced.

    Raises:
        ValueError: if KerasHub's BERT would be another function of these weights (for its
            activation isn't GELU, or its masked-LM table is its own), or the folder holds
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


def checkpoint_of(model):
    """A `Checkpoint` of a model of this library."""
    backbone = getattr(model, "backbone", model)
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
    """Arguments of a task and of its preprocessor, as other libraries keep them together."""
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
            f"{config['layers']}; other libraries' embedders pool the last layer. Write its "
            "encoder alone: model.backbone in place of model."
        )


def _check_reads_text_alone(model):
    num_features = getattr(model, "num_features", 0)
    if num_features:
        raise ValueError(
            f"This {type(model).__name__} takes numbers beside texts (num_features={num_features}),"
            " for which other libraries have no place. Keep it with save_to_preset(folder), or "
            "write its encoder alone: model.backbone in place of model."
        )
    truncation = getattr(getattr(model, "preprocessor", None), "truncation", "head")
    if truncation != "head":
        logger.warning(
            "Other libraries don't keep truncation=%r: say it again to from_preset.", truncation
        )


def _write(model, folder, write):
    _check_pools_last_layer(model)
    _check_reads_text_alone(model)
    checkpoint = checkpoint_of(model)
    with new_folder(folder) as unfinished:
        write(checkpoint, unfinished)


def _float_weights(model):
    """`{name: array}` of a model's weights as another library can hold them.

    LoRA's matrices are added to the kernels that they change.

    Raises:
        ValueError: if the model is quantized.
    """
    merged, adapters = {}, set()
    for layer in all_layers(model, include_self=False):
        if getattr(layer, "quantization_mode", None):
            raise ValueError(
                f"{layer.path} is quantized ({layer.quantization_mode}); other libraries can't "
                "hold it. Write the model from before quantize()."
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
