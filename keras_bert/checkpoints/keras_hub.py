"""KerasHub's presets, through the public API of keras-nlp (today another name of keras-hub).

KerasHub's BERT computes GELU by its tanh form, but for the masked-LM head, which has the exact form
and a LayerNorm epsilon of 1e-5. Its tokenizers aren't Google's; ours takes their vocabulary.
"""

import logging
import math
from pathlib import Path

import keras
import numpy as np

from keras_bert.checkpoints.checkpoint import Checkpoint, Spelling, Tensor, translate
from keras_bert.checkpoints.tensor_files import read_json
from keras_bert.checkpoints.vocabulary import read_vocabulary

logger = logging.getLogger("keras_bert")

_BACKBONE = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "dropout",
    "max_sequence_length",
    "num_segments",
)
_ACTIVATION, _HEAD_ACTIVATION, _HEAD_EPSILON = "gelu_approximate", "gelu", 1e-5
_TASKS = {
    "BertMaskedLM": "BertPretrainer",
    "BertTextClassifier": "BertClassifier",
    "BertTextEmbedder": "BertEmbedder",
}
# Our layer: KerasHub's.
_LAYERS = {
    "embeddings/token_embedding": ("token_embedding",),
    "embeddings/segment_embedding": ("segment_embedding",),
    "embeddings/position_embedding": ("position_embedding",),
    "embeddings/norm": ("embeddings_layer_norm",),
    "pooler": ("pooled_dense",),
    "masked_lm/dense": ("mlm_head/intermediate_dense",),
    "masked_lm/norm": ("mlm_head/intermediate_layer_norm",),
    "logits": ("logits",),
}
_BLOCK = {
    "attention/query_key_value": tuple(
        f"self_attention_layer/{part}" for part in ("query", "key", "value")
    ),
    "attention/output_dense": ("self_attention_layer/attention_output",),
    "attention_norm": ("self_attention_layer_norm",),
    "intermediate_dense": ("feedforward_intermediate_dense",),
    "output_dense": ("feedforward_output_dense",),
    "output_norm": ("feedforward_layer_norm",),
}


def has_preset(name):
    """Whether KerasHub publishes a BERT under this name."""
    import keras_nlp

    return name in keras_nlp.models.BertBackbone.presets


def read_keras_hub(source):
    """Reads a preset of KerasHub's BERT.

    Args:
        source: a folder, a preset's name, or a `kaggle://` handle.

    Returns:
        A `Checkpoint`.

    Raises:
        ValueError: if it is no BERT, is broken, or can't be downloaded.
    """
    import keras_nlp

    folder = Path(source) if Path(source).is_dir() else _download(str(source))
    task = read_json(folder / "task.json").get("class_name")
    try:
        theirs = (
            getattr(keras_nlp.models, task).from_preset(str(folder), preprocessor=None)
            if task in _TASKS
            else keras_nlp.models.BertBackbone.from_preset(str(folder))
        )
    except (ValueError, OSError, KeyError, TypeError) as error:
        raise ValueError(
            f"KerasHub can't load a BERT from {source}: {_reason(error)}. It must be a whole "
            "preset of a BertBackbone, or of a task on one."
        ) from error
    backbone = getattr(theirs, "backbone", theirs)
    _check_no_layer_is_lost(backbone, folder)
    spellings = _spellings(backbone.num_layers)
    has_head = (folder / "task.weights.h5").is_file()  # KerasHub starts another in silence
    tensors = _tensors(theirs if has_head else backbone)
    weights, left_over = translate(tensors, spellings, f"KerasHub preset {source}")
    arguments = {}
    if task == "BertMaskedLM":
        arguments = {
            "next_sentence": False,
            "masked_lm_activation": _HEAD_ACTIVATION,
            "masked_lm_epsilon": _HEAD_EPSILON,
        }
    elif task == "BertTextClassifier":
        arguments = {"num_classes": theirs.num_classes, "dropout": theirs.dropout}
        if theirs.activation is not keras.activations.linear:
            logger.warning(
                "%s ends in %s, which is left to you: a BertClassifier gives the logits before it.",
                source,
                theirs.activation.__name__,
            )
    elif task == "BertTextEmbedder":
        config = theirs.get_config()
        arguments = {"pooling": config["pooling_mode"], "normalize": config["normalize"]}
    vocabulary, tokenizer = _tokenizer(folder)
    preprocessor = read_json(folder / "preprocessor.json").get("config", {})
    longest = preprocessor.get("sequence_length") or backbone.max_sequence_length
    return Checkpoint(
        source=f"KerasHub preset {source}",
        backbone={
            **{name: getattr(backbone, name) for name in _BACKBONE},
            "activation": _ACTIVATION,
        },
        weights=weights,
        task=_TASKS.get(task),
        task_arguments=arguments,
        vocabulary=vocabulary,
        tokenizer=tokenizer,
        sequence_length=min(longest, backbone.max_sequence_length),
        spellings=spellings,
        left_over=left_over,
    )


def _check_no_layer_is_lost(backbone, folder):
    """KerasHub says nothing where a file holds more layers than its config has."""
    saved = read_json(folder / "metadata.json").get("parameter_count")
    if saved not in (None, backbone.count_params()):
        raise ValueError(
            f"{folder} holds a BERT of {saved} weights by its metadata.json, and its config "
            f"describes one of {backbone.count_params()}: they belong to different models."
        )


def write_keras_hub(checkpoint, folder):
    """Writes a `Checkpoint` as a preset of KerasHub's `BertBackbone` or of a task on it.

    What KerasHub's BERT computes a little otherwise is logged: its form of GELU and its epsilons.

    Args:
        checkpoint: a `Checkpoint` whose every weight is there.
        folder: a path, an existing folder.

    Raises:
        ValueError: if KerasHub's BERT is another function of these weights.
    """
    import keras_nlp

    arguments = checkpoint.task_arguments
    _refuse_what_would_be_another_model(checkpoint)
    _say_what_differs(checkpoint)
    backbone = keras_nlp.models.BertBackbone(
        **{name: checkpoint.backbone[name] for name in _BACKBONE}
    )
    tokenizer = None
    if checkpoint.vocabulary:
        tokenizer = keras_nlp.models.BertTokenizer(
            vocabulary=checkpoint.vocabulary,
            lowercase=checkpoint.tokenizer["lowercase"],
            strip_accents=checkpoint.tokenizer["lowercase"],
        )
    name = {ours: theirs for theirs, ours in _TASKS.items()}.get(checkpoint.task)
    if name is None:
        model = backbone
    else:
        settings = {
            "BertMaskedLM": {},
            "BertTextClassifier": {k: arguments.get(k) for k in ("num_classes", "dropout")},
            "BertTextEmbedder": {
                "pooling_mode": arguments.get("pooling"),
                "normalize": arguments.get("normalize"),
            },
        }[name]
        task_class = getattr(keras_nlp.models, name)
        preprocessor = tokenizer and task_class.preprocessor_cls(
            tokenizer, sequence_length=checkpoint.sequence_length
        )
        model = task_class(backbone=backbone, preprocessor=preprocessor, **settings)
    spellings = _spellings(backbone.num_layers)
    variables = {variable.path: variable for variable in model.weights}
    for ours, weight in checkpoint.weights.items():
        spelling = spellings.get(ours)
        if spelling is None or spelling.names[0] not in variables:
            continue  # said above
        parts = np.split(weight.read(), len(spelling.names), axis=-1)
        for path, part in zip(spelling.names, parts, strict=True):
            variables[path].assign(part.reshape(variables[path].shape))
    model.save_to_preset(str(folder))
    if tokenizer is not None and name is None:
        tokenizer.save_to_preset(str(folder))


def _refuse_what_would_be_another_model(checkpoint):
    settings = {**checkpoint.backbone, **checkpoint.task_arguments}
    for name in ("activation", "masked_lm_activation"):
        if settings.get(name, _ACTIVATION) not in (_ACTIVATION, _HEAD_ACTIVATION):
            raise ValueError(
                f"This model has {name}={settings[name]!r}; KerasHub's BERT knows none but GELU."
            )
    if not settings.get("tie_embeddings", True):
        raise ValueError(
            "This model's masked-LM head has a table of its own, which KerasHub's hasn't."
        )


def _say_what_differs(checkpoint):
    backbone, arguments = checkpoint.backbone, checkpoint.task_arguments
    head = {
        "masked_lm_activation": _HEAD_ACTIVATION,
        "masked_lm_epsilon": _HEAD_EPSILON,
        "next_sentence": False,
    }
    theirs = {
        "activation": _ACTIVATION,
        "layer_norm_epsilon": 1e-12,
        "attention_dropout": backbone["dropout"],
        **head,
    }
    ours = {**backbone, **arguments}
    differing = [
        f"{name}={ours[name]!r} here, {value!r} there"
        for name, value in theirs.items()
        if name in ours and ours[name] != value
    ]
    if differing:
        logger.warning(
            "KerasHub's BERT is fixed in what this one is not: %s.", "; ".join(differing)
        )


def _spellings(num_layers):
    layers = {**_LAYERS}
    for i in range(num_layers):
        layers |= {
            f"block_{i}/{ours}": tuple(f"transformer_layer_{i}/{name}" for name in theirs)
            for ours, theirs in _BLOCK.items()
        }
    spellings = {}
    for ours, theirs in layers.items():
        variables = ("kernel", "bias")
        if ours.endswith("_embedding"):
            variables = ("embeddings",)
        elif ours.endswith("norm"):
            variables = ("gamma", "beta")
        for variable in variables:
            names = tuple(f"{layer}/{variable}" for layer in theirs)
            spellings[f"{ours}/{variable}"] = Spelling(names)
    return {**spellings, "masked_lm/bias": Spelling(("mlm_head/output_bias",))}


def _tensors(model):
    """The model's weights as matrices: KerasHub keeps heads apart, in a third dimension."""

    def tensor(variable):
        shape = tuple(variable.shape)
        if variable.path.endswith("attention_output/kernel"):  # [N, D, H]
            shape = (math.prod(shape[:-1]), shape[-1])
        elif "self_attention_layer/" in variable.path:  # [H, N, D], [N, D]
            shape = (*shape[:-2], math.prod(shape[-2:])) if len(shape) > 1 else shape
        return Tensor(shape, lambda: keras.ops.convert_to_numpy(variable).reshape(shape))

    return {variable.path: tensor(variable) for variable in model.weights}


def _tokenizer(folder):
    """`(vocabulary, arguments of BertTokenizer)`."""
    config = read_json(folder / "tokenizer.json").get("config")
    path = folder / "assets" / "tokenizer" / "vocabulary.txt"
    if config is None or not path.is_file():
        return None, {}
    return read_vocabulary(path), {"lowercase": bool(config.get("lowercase"))}


def _download(handle):
    """The folder of a preset's name or a `kaggle://` handle."""
    import kagglehub
    import keras_nlp

    name = handle
    if not handle.startswith("kaggle://"):
        handle = keras_nlp.models.BertBackbone.presets[handle]["kaggle_handle"]
        name = f"{name} ({handle})"
    try:
        return Path(kagglehub.model_download(handle.removeprefix("kaggle://")))
    except Exception as error:  # kagglehub raises what its HTTP client does
        raise ValueError(
            f"{name} could not be fetched from Kaggle: {_reason(error)}. Check the handle and the "
            "connection, and, for a private model, KAGGLE_API_TOKEN."
        ) from error


def _reason(error):
    """The beginning of what an error says, on one line."""
    return " ".join(str(error).split())[:300].rstrip(".")
