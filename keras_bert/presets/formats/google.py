"""Google's TF1 folders: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`."""

import re
from functools import partial
from pathlib import Path

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_one_of, from_extra
from keras_bert.presets.formats import weight_names
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    explained,
    file_tensor,
    translate,
)
from keras_bert.text.vocabulary import is_uncased, read_lines

with from_extra("tensorflow"):
    import tensorflow as tf

# The default number of segments is that of modeling.py.
_BACKBONE = {**weight_names.BACKBONE, "num_segments": ("type_vocab_size", 16)}
# modeling.py computes "gelu" by its tanh approximation.
_ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu", "tanh": "tanh", "linear": "linear"}
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
    backbone["activation"] = _ACTIVATIONS[hidden_act]
    tensors = _tensors(prefix, source)
    task = _task(tensors)
    found = translate(tensors, backbone, partial(weight_names.google_spellings, task=task), source)
    tokenizer = {}
    if (folder / "vocab.txt").is_file():
        tokens = read_lines(folder / "vocab.txt")
        tokenizer = {"vocabulary": tokens, "lowercase": is_uncased(tokens)}
    return Checkpoint(
        source=source,
        backbone=backbone,
        task=task,
        task_arguments=_task_arguments(task, found["weights"]),
        tokenizer=tokenizer,
        sequence_length=backbone["max_sequence_length"],
        **found,
    )


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


def _task_arguments(task, weights):
    if task == "BertPretrainer":
        return {"next_sentence": "next_sentence/kernel" in weights}
    if task == "BertClassifier":
        return {"num_classes": weights["logits/kernel"].shape[-1]}
    return {}
