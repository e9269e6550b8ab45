"""Google's TF1 folders: `bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`."""

import glob
import re
from functools import partial
from pathlib import Path

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields
from keras_bert.messages import from_extra, logger
from keras_bert.presets.formats import weight_names
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    check_held,
    explained,
    file_tensor,
    public_class,
    translate,
)
from keras_bert.text.vocabulary import is_uncased, read_lines

with from_extra("tensorflow"):
    import tensorflow as tf

# The default number of segments is that of modeling.py.
_BACKBONE = {**weight_names.BACKBONE, "num_segments": ("type_vocab_size", 16)}
# modeling.py computes "gelu" by its tanh approximation.
_ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu", "tanh": "tanh", "linear": "linear"}
# Optimizers' variables.
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
            f"{folder}/bert_config.json is missing or has no vocab_size; it describes the model. "
            "Copy it, and vocab.txt, from the folder of the pre-trained model."
        )
    backbone = backbone_arguments(config, _BACKBONE)
    backbone["activation"] = _ACTIVATIONS[config.one_of("hidden_act", _ACTIVATIONS, "gelu")]
    tensors = _tensors(prefix, source)
    task = _task(tensors)
    backbone_class = public_class("BertBackbone")
    spellings_of = weight_names.google_spellings
    checkpoint = translate(tensors, backbone_class, backbone, spellings_of, source, task)
    if checkpoint.published.head == "ForMaskedLM":
        checkpoint.task_arguments["next_sentence"] = "next_sentence/kernel" in checkpoint.weights
    if checkpoint.published.head == "ForSequenceClassification":
        checkpoint.task_arguments["num_classes"] = checkpoint.weights["logits/kernel"].shape[-1]
        checkpoint.add_reranker({})
    if (folder / "vocab.txt").is_file():
        tokens = read_lines(file_in(folder, "vocab.txt"))
        checkpoint.tokenizer = {"vocabulary": tokens, "lowercase": is_uncased(tokens)}
        if len(tokens) < backbone["vocabulary_size"]:
            logger.warning(
                "%s/vocab.txt has %d tokens, and the model %d: is it another model's?",
                folder,
                len(tokens),
                backbone["vocabulary_size"],
            )
    else:
        logger.warning("%s has no vocab.txt, so the model takes token ids only.", folder)
    checkpoint.sequence_length = backbone["max_sequence_length"]
    return checkpoint


def _prefix(path):
    if not path.is_dir():
        return path
    prefixes = sorted(file.with_suffix("") for file in path.glob("*.index"))
    state = tf.train.get_checkpoint_state(str(path))
    if state:
        latest = path / Path(state.model_checkpoint_path).name  # of this folder, if it was moved
        if latest in prefixes:
            return latest
    if path / "bert_model.ckpt" in prefixes:
        return path / "bert_model.ckpt"
    if len(prefixes) != 1:
        names = ", ".join(prefix.name for prefix in prefixes)
        raise ValueError(
            f"{path} must hold bert_model.ckpt.index and .data-*, or another single checkpoint; it "
            f"holds {len(prefixes)} ({names}). Of several, pass the path of one."
        )
    return prefixes[0]


def _tensors(prefix, source):
    advice = "It consists of an .index file and .data-* files; download them again."
    files = prefix.parent.glob(f"{glob.escape(prefix.name)}.*")
    files = [file_in(prefix.parent, file.name) for file in files]
    with explained(source, "is truncated or not a checkpoint", advice):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()
    tensors = {}
    for name, shape in sorted(shapes.items()):
        if not _SLOTS.search(name):
            read = partial(reader.get_tensor, name)
            tensors[name] = file_tensor(source, name, tuple(shape), dtypes[name].name, read)
    check_held(tensors, files, source)
    return tensors


def _task(tensors):
    if "cls/squad/output_weights" in tensors:
        return public_class("BertSpanLabeler")
    if "output_weights" in tensors:
        return public_class("BertClassifier")
    if any(name.startswith("cls/") for name in tensors):
        return public_class("BertPretrainer")
    return None
