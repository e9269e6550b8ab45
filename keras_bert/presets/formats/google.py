"""Google's TF1 folders: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`."""

import re
from functools import partial
from pathlib import Path

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.messages import check_one_of, from_extra, logger
from keras_bert.presets.formats import weight_names
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    check_supported,
    explained,
    file_tensor,
    spell,
    translate,
)
from keras_bert.text.vocabulary import is_uncased, read_lines

with from_extra("tensorflow"):
    import tensorflow as tf

# The default number of segments is that of modeling.py.
_BACKBONE = {**weight_names.BACKBONE, "num_segments": ("type_vocab_size", 16)}
# modeling.py computes "gelu" by its tanh approximation.
_ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu", "tanh": "tanh", "linear": "linear"}
# Google's code has no exact GELU; its tanh approximation is closest.
_HIDDEN_ACTS = {ours: theirs for theirs, ours in _ACTIVATIONS.items()} | {"gelu": "gelu"}
_SUPPORTED = {
    "task": ("BertBackbone", "BertEmbedder", "BertPretrainer", "BertClassifier", "BertSpanLabeler"),
    "architecture": ("bert",),
    "tokenizer.family": (None,),
    "activation": tuple(_HIDDEN_ACTS),
    "layer_norm_epsilon": (1e-12,),
    "masked_lm_epsilon": (1e-12,),
    "causal": (False,),
    "tie_embeddings": (True,),
}
# Keys added to Google's config; its code ignores unknown keys.
_OWN_ACTIVATION, _OWN_CASING = "keras_bert_activation", "do_lower_case"
_SLOTS = re.compile(r"(/adam_[mv]|/Adam(_1)?|/Adafactor.*|/LAMB.*|/[mv])$|^global_step$|_power$")


def read_google(path: Path) -> Checkpoint:
    """Reads a checkpoint of google-research/bert, pre-trained, classifier or SQuAD.

    `path` is the folder, or the prefix of a checkpoint in it.
    """
    folder = path if path.is_dir() else path.parent
    prefix = _prefix(path)
    source = f"TF1 checkpoint {prefix}"
    config = JsonFields(folder / "bert_config.json")
    if "vocab_size" not in config:
        raise ValueError(
            f"{folder}/bert_config.json is missing or has no vocab_size; it describes the model "
            "and belongs in the folder of bert_model.ckpt.*."
        )
    backbone = backbone_arguments(config, _BACKBONE)
    hidden_act = config.text("hidden_act", "gelu")
    check_one_of(f"hidden_act of {source}", hidden_act, _ACTIVATIONS)
    backbone["activation"] = config.text(_OWN_ACTIVATION, _ACTIVATIONS[hidden_act])
    tensors = _tensors(prefix, source)
    task = _task(tensors)
    found = translate(tensors, backbone, partial(weight_names.google_spellings, task=task), source)
    tokenizer = {}
    if (folder / "vocab.txt").is_file():
        tokens = read_lines(folder / "vocab.txt")
        lowercase = config.boolean(_OWN_CASING, is_uncased(tokens))
        tokenizer = {"vocabulary": tokens, "lowercase": lowercase}
    return Checkpoint(
        source=source,
        backbone=backbone,
        task=task,
        task_arguments=_task_arguments(task, found["weights"], config),
        tokenizer=tokenizer,
        sequence_length=backbone["max_sequence_length"],
        **found,
    )


def write_google(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes a complete `Checkpoint` in the format of google-research/bert."""
    supported = {**_SUPPORTED, "masked_lm_activation": (checkpoint.backbone["activation"],)}
    check_supported(checkpoint, "Google's code", supported)
    if checkpoint.task == "BertEmbedder":
        logger.warning(
            "A TF1 checkpoint can't store the pooling of a BertEmbedder (pooling=%r, "
            "normalize=%r): only the encoder is written.",
            checkpoint.task_arguments["pooling"],
            checkpoint.task_arguments["normalize"],
        )
    spellings = weight_names.google_spellings(checkpoint.backbone["num_layers"], checkpoint.task)
    tensors = spell(checkpoint.weights, spellings)
    with tf.device("CPU:0"):
        tf.raw_ops.SaveV2(
            prefix=str(folder / "bert_model.ckpt"),
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=[tf.cast(tensor, tf.float32) for tensor in tensors.values()],
        )
    if checkpoint.own_tokenizer:
        checkpoint.own_tokenizer.save_vocabulary(folder / "vocab.txt")
    write_json(folder / "bert_config.json", _config(checkpoint))


def _config(checkpoint):
    backbone = checkpoint.backbone
    config = {key: backbone[ours] for ours, (key, _) in _BACKBONE.items()}
    config |= {
        "hidden_act": _HIDDEN_ACTS[backbone["activation"]],
        "initializer_range": 0.02,
        _OWN_ACTIVATION: backbone["activation"],
    }
    config |= weight_names.own_entry(checkpoint, "dropout", "label_names")
    if checkpoint.own_tokenizer:
        config[_OWN_CASING] = checkpoint.own_tokenizer.lowercase
    return config


def _prefix(path):
    if not path.is_dir():
        return path
    found = sorted(file.with_suffix("") for file in path.glob("*.index"))
    state = tf.train.get_checkpoint_state(str(path))  # perhaps with the path of another machine
    latest = [path / Path(state.model_checkpoint_path).name] if state else []
    for prefix in (*latest, path / "bert_model.ckpt"):
        if prefix in found:
            return prefix
    if len(found) != 1:
        raise ValueError(
            f"{path} must hold bert_model.ckpt.index and .data-*, or another single checkpoint; it "
            f"holds {len(found)} ({', '.join(file.name for file in found)}). Of several, pass the "
            "path of one."
        )
    return found[0]


def _tensors(prefix, source):
    advice = "It consists of an .index file and .data-* files; download them again."
    with explained(source, "is truncated or not a checkpoint", advice):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
    return {
        name: file_tensor(
            source, name, tuple(shape), dtypes[name].name, partial(reader.get_tensor, name)
        )
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
    arguments = weight_names.read_own_entry(config, task)
    if task == "BertPretrainer":
        arguments["next_sentence"] = "next_sentence/kernel" in weights
    if task == "BertClassifier":
        arguments["num_classes"] = weights["logits/kernel"].shape[-1]
    return arguments
