"""Writes models as KerasHub presets."""

import logging
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json
from keras_bert.presets.formats.checkpoint import Checkpoint, check_supported, spell
from keras_bert.presets.formats.read_keras_hub import (
    ACTIVATION,
    BACKBONE,
    HEAD_ACTIVATION,
    HEAD_EPSILON,
    OWN_LABEL_NAMES,
    TASKS,
    keras_hub,
)
from keras_bert.presets.formats.weight_names import (
    OWN_CLASSIFIER,
    keras_hub_spellings,
    own_classifier_arguments,
)

logger = logging.getLogger("keras_bert")

_GELUS = (ACTIVATION, HEAD_ACTIVATION)
_SUPPORTED = {"activation": _GELUS, "masked_lm_activation": _GELUS}
_SUPPORTED |= {"causal": (False,), "tie_embeddings": (True,)}


def write_keras_hub(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes a complete `Checkpoint` as a preset of KerasHub's `BertBackbone` or of a task on it.

    Small differences of KerasHub's BERT (its form of GELU, its epsilons) are logged, and so are
    weights that it doesn't have.
    """
    check_supported(checkpoint, "KerasHub's BERT", _SUPPORTED)
    _log_differences(checkpoint)
    tokenizer = None
    if checkpoint.vocabulary:
        tokenizer = keras_hub.models.BertTokenizer(
            vocabulary=checkpoint.vocabulary,
            lowercase=checkpoint.tokenizer["lowercase"],
            strip_accents=checkpoint.tokenizer["lowercase"],
        )
    model = _their_model(checkpoint, tokenizer)
    _fill(model, checkpoint)
    model.save_to_preset(str(folder))
    if tokenizer is not None and isinstance(model, keras_hub.models.BertBackbone):
        tokenizer.save_to_preset(str(folder))
    if checkpoint.task == "BertClassifier":
        path, arguments = folder / "metadata.json", checkpoint.task_arguments
        own = {
            OWN_LABEL_NAMES: arguments["label_names"],
            OWN_CLASSIFIER: own_classifier_arguments(arguments),
        }
        write_json(path, {**read_json(path), **own})


def _their_model(checkpoint, tokenizer):
    backbone = keras_hub.models.BertBackbone(
        **{name: checkpoint.backbone[name] for name in BACKBONE}
    )
    name = {ours: theirs for theirs, ours in TASKS.items()}.get(checkpoint.task)
    if name is None:
        return backbone
    names = {  # {their argument: ours}
        "BertMaskedLM": {},
        "BertTextClassifier": {"num_classes": "num_classes", "dropout": "dropout"},
        "BertTextEmbedder": {"pooling_mode": "pooling", "normalize": "normalize"},
    }[name]
    settings = {theirs: checkpoint.task_arguments[ours] for theirs, ours in names.items()}
    task_class = getattr(keras_hub.models, name)
    preprocessor = tokenizer and task_class.preprocessor_cls(
        tokenizer, sequence_length=checkpoint.sequence_length
    )
    return task_class(backbone=backbone, preprocessor=preprocessor, **settings)


def _fill(model, checkpoint):
    """Assigns a `Checkpoint`'s weights to KerasHub's model, and logs those that it doesn't have."""
    variables = {variable.path: variable for variable in model.weights}
    spellings = {
        ours: spelling
        for ours, spelling in keras_hub_spellings(checkpoint.backbone["num_layers"]).items()
        if spelling.names[0] in variables
    }
    placed = {name: weight for name, weight in checkpoint.weights.items() if name in spellings}
    for path, array in spell(placed, spellings).items():
        variables[path].assign(array.reshape(variables[path].shape))
    left_out = [name for name in checkpoint.weights if name not in placed]
    if left_out:
        logger.warning("KerasHub's BERT doesn't have %s: left out.", ", ".join(left_out))


def _log_differences(checkpoint):
    ours = {**checkpoint.task_arguments, **checkpoint.backbone}
    theirs = {
        "activation": ACTIVATION,
        "layer_norm_epsilon": 1e-12,
        "attention_dropout": checkpoint.backbone["dropout"],
        "masked_lm_activation": HEAD_ACTIVATION,
        "masked_lm_epsilon": HEAD_EPSILON,
    }
    differing = [
        f"{name}={ours[name]!r} here, {value!r} there"
        for name, value in theirs.items()
        if name in ours and ours[name] != value
    ]
    if differing:
        logger.warning("Some settings are fixed in KerasHub's BERT: %s.", "; ".join(differing))
