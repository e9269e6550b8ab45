"""Models written as presets of KerasHub."""

import logging
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json
from keras_bert.presets.formats.checkpoint import spell
from keras_bert.presets.formats.keras_hub_names import (
    ACTIVATION,
    BACKBONE,
    HEAD_ACTIVATION,
    HEAD_EPSILON,
    OWN_LABEL_NAMES,
    TASKS,
    keras_hub_spellings,
)
from keras_bert.presets.formats.weight_names import OWN_CLASSIFIER, own_classifier_arguments

logger = logging.getLogger("keras_bert")


def write_keras_hub(checkpoint, folder):
    """Writes a `Checkpoint` as a preset of KerasHub's `BertBackbone` or of a task on it.

    What KerasHub's BERT computes a little otherwise is logged (its form of GELU, its epsilons), and
    so are weights that it has no place for.

    Args:
        checkpoint: a `Checkpoint` whose every weight is there.
        folder: a path, an existing folder.

    Raises:
        ValueError: if KerasHub's BERT is another function of these weights.
    """
    import keras_nlp

    _refuse_what_would_be_another_model(checkpoint)
    _say_what_differs(checkpoint)
    tokenizer = None
    if checkpoint.vocabulary:
        tokenizer = keras_nlp.models.BertTokenizer(
            vocabulary=checkpoint.vocabulary,
            lowercase=checkpoint.tokenizer["lowercase"],
            strip_accents=checkpoint.tokenizer["lowercase"],
        )
    model = _their_model(checkpoint, tokenizer)
    _fill(model, checkpoint)
    model.save_to_preset(str(folder))
    if tokenizer is not None and isinstance(model, keras_nlp.models.BertBackbone):
        tokenizer.save_to_preset(str(folder))
    if checkpoint.task == "BertClassifier":
        path, arguments = Path(folder) / "metadata.json", checkpoint.task_arguments
        own = {
            OWN_LABEL_NAMES: arguments["label_names"],
            OWN_CLASSIFIER: own_classifier_arguments(arguments),
        }
        write_json(path, {**read_json(path), **own})


def _their_model(checkpoint, tokenizer):
    """KerasHub's model of the same sizes, its weights random: a task where it has that one."""
    import keras_nlp

    backbone = keras_nlp.models.BertBackbone(
        **{name: checkpoint.backbone[name] for name in BACKBONE}
    )
    name = {ours: theirs for theirs, ours in TASKS.items()}.get(checkpoint.task)
    if name is None:
        return backbone
    arguments = checkpoint.task_arguments
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
    return task_class(backbone=backbone, preprocessor=preprocessor, **settings)


def _fill(model, checkpoint):
    """Gives KerasHub's model a `Checkpoint`'s weights, and logs those that it has no place for."""
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
        logger.warning("KerasHub's BERT has no place for %s: left out.", ", ".join(left_out))


def _refuse_what_would_be_another_model(checkpoint):
    settings = {**checkpoint.backbone, **checkpoint.task_arguments}
    for name in ("activation", "masked_lm_activation"):
        if settings.get(name, ACTIVATION) not in (ACTIVATION, HEAD_ACTIVATION):
            raise ValueError(
                f"This model has {name}={settings[name]!r}; KerasHub's BERT knows none but GELU."
            )
    if not settings.get("tie_embeddings", True):
        raise ValueError(
            "This model's masked-LM head has a table of its own, which KerasHub's hasn't."
        )


def _say_what_differs(checkpoint):
    ours = {**checkpoint.backbone, **checkpoint.task_arguments}
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
        logger.warning(
            "KerasHub's BERT is fixed in what this one is not: %s.", "; ".join(differing)
        )
