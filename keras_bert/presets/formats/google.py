"""Google's TF1 folders: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`. Needs TensorFlow."""

import logging
import re
from importlib.util import find_spec
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json
from keras_bert.presets.formats.checkpoint import Checkpoint, Tensor, spell, translate
from keras_bert.presets.formats.vocabulary import is_uncased, read_vocabulary, write_vocabulary
from keras_bert.presets.formats.weight_names import (
    OWN_CLASSIFIER,
    google_spellings,
    own_classifier_arguments,
)

logger = logging.getLogger("keras_bert")

# Argument of BertBackbone: key of bert_config.json, and what modeling.py takes where it is absent.
_BACKBONE = {
    "vocabulary_size": ("vocab_size", None),
    "num_layers": ("num_hidden_layers", 12),
    "num_heads": ("num_attention_heads", 12),
    "hidden_dim": ("hidden_size", 768),
    "intermediate_dim": ("intermediate_size", 3072),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "max_sequence_length": ("max_position_embeddings", 512),
    "num_segments": ("type_vocab_size", 16),
}
# modeling.py calls the tanh form "gelu".
_ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu", "tanh": "tanh", "linear": "linear"}
# Written beside Google's own keys: its code skips those that it doesn't know.
_OWN_ACTIVATION, _OWN_CASING = "keras_bert_activation", "do_lower_case"
_OWN_SPAN_LABELER = "keras_bert_span_labeler"  # the same
_SLOTS = re.compile(r"(/adam_[mv]|/Adam(_1)?|/Adafactor.*|/LAMB.*|/[mv])$|^global_step$|_power$")


def read_google(path):
    """Reads a checkpoint of google-research/bert: pre-trained, a classifier's, or SQuAD's.

    The activation is that of Google's code, which computes "gelu" by its tanh form.

    Args:
        path: the folder, or the prefix of the checkpoint in it.

    Returns:
        A `Checkpoint`.

    Raises:
        ValueError: if a file is missing or broken, or TensorFlow isn't installed.
    """
    path = Path(path)
    folder = path if path.is_dir() else path.parent
    prefix = _prefix(path)
    source = f"TF1 checkpoint {prefix}"
    if find_spec("tensorflow") is None:
        raise ValueError(f"{source} can be read by TensorFlow alone: pip install tensorflow.")
    config = read_json(folder / "bert_config.json")
    if "vocab_size" not in config:
        raise ValueError(
            f"{folder}/bert_config.json is missing or names no vocab_size; it describes the model "
            "and belongs beside bert_model.ckpt.*."
        )
    backbone = {ours: config.get(*key) for ours, key in _BACKBONE.items()}
    backbone["activation"] = _activation(config, source)
    tensors = _tensors(prefix, source)
    task = _task(tensors)
    spellings = google_spellings(backbone["num_layers"], task)
    weights, left_over = translate(tensors, spellings, source)
    vocabulary, tokenizer = None, {}
    if (folder / "vocab.txt").is_file():
        vocabulary = read_vocabulary(folder / "vocab.txt")
        tokenizer = {"lowercase": _casing(folder, config, vocabulary)}
    return Checkpoint(
        source=source,
        backbone=backbone,
        weights=weights,
        task=task,
        task_arguments=_task_arguments(task, weights, config),
        vocabulary=vocabulary,
        tokenizer=tokenizer,
        sequence_length=backbone["max_sequence_length"],
        spellings=spellings,
        left_over=left_over,
    )


def write_google(checkpoint, folder):
    """Writes a `Checkpoint` as Google's code reads it: `bert_model.ckpt` and its companions.

    Args:
        checkpoint: a `Checkpoint` whose every weight is there.
        folder: a path, an existing folder.

    Raises:
        ValueError: if Google's code can't hold the model, or TensorFlow isn't installed.
    """
    if find_spec("tensorflow") is None:
        raise ValueError("A TF1 checkpoint is written by TensorFlow: pip install tensorflow.")
    import tensorflow as tf

    backbone = checkpoint.backbone
    names = {ours: theirs for theirs, ours in _ACTIVATIONS.items()} | {"gelu": "gelu"}
    arguments = checkpoint.task_arguments
    epsilons = {backbone["layer_norm_epsilon"], arguments.get("masked_lm_epsilon", 1e-12)}
    activations = {backbone["activation"], arguments.get("masked_lm_activation")} - {None}
    for what, wrong in (
        (f"a LayerNorm epsilon of {max(epsilons)}", epsilons != {1e-12}),
        (f"the activation {backbone['activation']!r}", backbone["activation"] not in names),
        ("another activation in its masked-LM head", len(activations) > 1),
        ("a masked-LM table of its own", not arguments.get("tie_embeddings", True)),
    ):
        if wrong:
            raise ValueError(f"This model has {what}, which Google's code doesn't have.")
    if checkpoint.task == "BertEmbedder":
        logger.warning(
            "A TF1 checkpoint has no place for how a BertEmbedder makes one vector (pooling=%r, "
            "normalize=%r): the encoder alone is written.",
            arguments["pooling"],
            arguments["normalize"],
        )
    config = {key: backbone[ours] for ours, (key, _) in _BACKBONE.items()}
    config |= {
        "hidden_act": names[backbone["activation"]],
        "initializer_range": 0.02,
        _OWN_ACTIVATION: backbone["activation"],
    }
    if checkpoint.task == "BertSpanLabeler":
        config[_OWN_SPAN_LABELER] = arguments
    if checkpoint.task == "BertClassifier":
        told = {name: arguments[name] for name in ("dropout", "label_names")}
        config[OWN_CLASSIFIER] = {**told, **own_classifier_arguments(arguments)}
    spellings = google_spellings(backbone["num_layers"], checkpoint.task)
    tensors = spell(checkpoint.weights, spellings)
    with tf.device("CPU:0"):
        tf.raw_ops.SaveV2(
            prefix=str(Path(folder) / "bert_model.ckpt"),
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=list(tensors.values()),
        )
    if checkpoint.vocabulary:
        config[_OWN_CASING] = checkpoint.tokenizer["lowercase"]
        write_vocabulary(checkpoint.vocabulary, Path(folder) / "vocab.txt")
    write_json(Path(folder) / "bert_config.json", config)


def _prefix(path):
    """The prefix of the checkpoint that a folder holds, or that a path is."""
    if not path.is_dir():
        return path
    latest = path / "checkpoint"
    if latest.is_file():
        named = re.search(r'^model_checkpoint_path: "(.*)"$', latest.read_text(), re.MULTILINE)
        if named and (path / f"{Path(named[1]).name}.index").is_file():
            return path / Path(named[1]).name
    found = sorted(file.with_suffix("") for file in path.glob("*.index"))
    standard = path / "bert_model.ckpt"
    if standard in found:
        return standard
    if len(found) == 1:
        return found[0]
    raise ValueError(
        f"{path} holds {len(found)} checkpoints"
        + (
            f" ({', '.join(file.name for file in found)}): name one of them."
            if found
            else ": bert_model.ckpt.index and bert_model.ckpt.data-* are missing."
        )
    )


def _activation(config, source):
    own = config.get(_OWN_ACTIVATION)
    if own is not None:
        return own
    name = config.get("hidden_act", "gelu")
    if name not in _ACTIVATIONS:
        raise ValueError(
            f"{source} has hidden_act={name!r}; Google's code has {', '.join(_ACTIVATIONS)}."
        )
    return _ACTIVATIONS[name]


def _tensors(prefix, source):
    import tensorflow as tf

    broken = (tf.errors.OpError, ValueError, RuntimeError, IndexError)
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
    except broken as error:
        raise ValueError(
            f"{source} is cut off or is no checkpoint: {str(error).splitlines()[0]}. It is two or "
            "more files, .index and .data-*; fetch them again."
        ) from error

    def read(name):
        try:
            return reader.get_tensor(name)
        except broken as error:
            raise ValueError(
                f"{source} is broken at {name}: {str(error).splitlines()[0]}. Fetch it again."
            ) from error

    return {
        name: Tensor(tuple(shape), lambda name=name: read(name))
        for name, shape in sorted(shapes.items())
        if not _SLOTS.search(name)
    }


def _task(tensors):
    if "cls/squad/output_weights" in tensors:
        return "BertSpanLabeler"
    if "output_weights" in tensors:
        return "BertClassifier"
    if any(name.startswith("cls/") for name in tensors):
        return "BertPretrainer"
    return None


def _task_arguments(task, weights, config):
    if task == "BertPretrainer":
        return {"next_sentence": "next_sentence/kernel" in weights}
    if task == "BertClassifier":
        own = config.get(OWN_CLASSIFIER, {})
        return {"num_classes": weights["logits/kernel"].shape[-1], **own}
    if task == "BertSpanLabeler":
        return config.get(_OWN_SPAN_LABELER, {})
    return {}


def _casing(folder, config, tokens):
    """Whether text is lower-cased: as the config says, or the folder's name, or the vocabulary."""
    if isinstance(config.get(_OWN_CASING), bool):
        return config[_OWN_CASING]
    by_vocabulary = is_uncased(tokens)
    named = re.search(r"(?:^|[_-])(uncased|cased|chinese)(?:[_-]|$)", folder.name.lower())
    by_name = None if named is None else named[1] != "cased"
    if by_name is not None and by_name != by_vocabulary and named[1] != "chinese":
        logger.warning(
            "%s is named as a model of %s text, but its vocabulary is one of %s text. Its name is "
            "followed; from_preset(..., lowercase=%s) says otherwise.",
            folder,
            named[1],
            "uncased" if by_vocabulary else "cased",
            by_vocabulary,
        )
    return by_vocabulary if by_name is None else by_name
