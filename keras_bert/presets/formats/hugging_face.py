"""Hugging Face folders: `config.json`, `model.safetensors`, a tokenizer."""

import inspect
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.messages import logger, shortened
from keras_bert.presets.formats import sentence_transformers
from keras_bert.presets.formats.architecture import HIDDEN_ACTS
from keras_bert.presets.formats.architectures import ARCHITECTURES
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    public_class,
    spell,
    task_with_head,
    translate,
)
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer, write_tokenizer
from keras_bert.presets.formats.peft import with_adapter
from keras_bert.presets.formats.tensor_files import POOLER_FILE, full_name, read_tensors

_PRETRAINING = ("cls.", "vocab_", "generator_", "lm_head.", "decoder.")  # prefixes of weights
_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
_UNSUPPORTED = {  # keys of config.json
    "is_decoder": "causal encoders",
    "add_cross_attention": "layers of cross-attention",
    "pruned_heads": "pruned heads",
    "quantization_config": "quantized weights",
}
_TRUNCATION = "keras_bert_truncation"  # key of config.json, of a preprocessor's own
_BUFFERS = ("position_ids", "token_type_ids")  # in older files


def read_hugging_face(folder: Path, adapter: Path | None = None) -> Checkpoint:
    """Reads a folder written by transformers or sentence-transformers, with PEFT's `adapter`."""
    sentences = sentence_transformers.read_sentence_transformer(folder)
    folder = sentences.transformer
    source = f"Hugging Face folder {folder}"
    described = folder if adapter is None or not (adapter / "config.json").is_file() else adapter
    config = JsonFields(described / "config.json")
    architecture = _architecture(config, source)
    backbone_class = public_class(architecture.backbone_name)
    backbone = backbone_arguments(config, architecture.backbone)
    backbone |= architecture.read(config)
    first_position = 0  # row of the table of positions
    if architecture.skips_padding:
        first_position = config.integer("pad_token_id", 1) + 1
        backbone["max_sequence_length"] -= first_position
    tensors = _tensors(folder, architecture)
    if adapter is not None:
        tensors = with_adapter(tensors, adapter, architecture.root)
    tasks = _tasks(config, tensors, architecture)
    task = tasks[0]
    head = (task or backbone_class).published.head
    is_tied = config.boolean("tie_word_embeddings", True)
    tensors = _without_copies(tensors, architecture.spellings(0, head), is_tied)
    spellings_of = partial(architecture.spellings, first_position=first_position)
    checkpoint = translate(tensors, backbone_class, backbone, spellings_of, source, task)
    for served in tasks:
        checkpoint.tasks[served] = _task_arguments(served, config, checkpoint, architecture)
    arguments = checkpoint.task_arguments = checkpoint.tasks[task]
    if head == "ForSequenceClassification":
        checkpoint.add_reranker(
            sentence_transformers.reranker_arguments(folder, config, arguments["dropout"])
        )
    if sentences.embedder:
        checkpoint.task = public_class("BertEmbedder")
        checkpoint.task_arguments = sentences.embedder
    if head == "ForMultipleChoice":
        for key, only in architecture.summary.items():
            value = config.value(key, only)
            if value != only:  # it would choose other answers
                checkpoint.refused[task] = (
                    f"{checkpoint} summarizes choices by {key}={value!r}; this library supports "
                    f"only {only!r}. Load its BertBackbone, or another task."
                )
    if sentences.refused:
        checkpoint.refused[public_class("BertEmbedder")] = sentences.refused
    longest = 512
    truncation = "longest_first"
    try:
        checkpoint.tokenizer, longest, truncation = read_tokenizer(
            folder, backbone["vocabulary_size"], sentences.lowercases
        )
    except ValueError as error:  # the caller's preprocessor may replace it
        checkpoint.text_refused = str(error)
    longest = sentences.sequence_length or longest
    checkpoint.sequence_length = min(longest, backbone["max_sequence_length"])
    checkpoint.truncation = config.text(_TRUNCATION, truncation)
    if sentence_transformers.cross_encoder_activation(folder, config):
        return checkpoint.as_task(public_class("BertReranker"))
    return checkpoint


def _architecture(config, source):
    if not config:
        raise ValueError(f"{source} has no config.json, which describes the model.")
    architecture = ARCHITECTURES[config.one_of("model_type", ARCHITECTURES, "bert")]
    for key, feature in _UNSUPPORTED.items():
        if config.value(key):
            raise config.error(key, f"left out: {feature} aren't supported", config.value(key))
    for key, only in architecture.required.items():
        config.one_of(key, [only], only)
    return architecture


def _tensors(folder, architecture):
    tensors = {}
    for name, tensor in read_tensors(folder).items():
        if name.rsplit(".", 1)[-1] in _BUFFERS:
            continue
        name = re.sub(r"^((module|_orig_mod)\.)+", "", name)  # prefixes of torch's wrappers
        name = full_name(name, architecture.root)
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        tensors[name.replace("LayerNorm.beta", "LayerNorm.bias")] = tensor
    return tensors


def _tasks(config, tensors, architecture):
    """Returns the classes whose heads the tensors can be, the likeliest first; or [None].

    `architectures` names one; in folders that lack it, or name a class of somebody's own, the
    tensors themselves tell.
    """
    if any(name.startswith(_PRETRAINING) for name in tensors):
        return [public_class("BertPretrainer")]
    for class_name in config.texts("architectures"):
        head = class_name.removeprefix(architecture.prefix)
        task = task_with_head(head)
        if task is not None and "logits/kernel" in architecture.spellings(0, head):
            return [task if _holds(tensors, architecture, head, ["logits/kernel"]) else None]
    found = []
    for head in _HEADS:
        names = ["logits/kernel", "logits/bias"]
        names += architecture.pooler if architecture.has_pooler_under(head) else []
        if _holds(tensors, architecture, head, names):
            found.append(task_with_head(head))
    return found or [None]


def _holds(tensors, architecture, head, names):
    spellings = architecture.spellings(0, head)
    return all(theirs in tensors for name in names for theirs in spellings[name].names)


def _without_copies(tensors, spellings, is_tied):
    """Drops the decoder's table and bias if they duplicate others.

    An untied table is kept even if its values are equal, because it may be trained separately.
    """
    if "masked_lm/decoder/embeddings" not in spellings:
        return tensors
    [decoder] = spellings["masked_lm/decoder/embeddings"].names
    [table] = spellings["embeddings/token_embedding/embeddings"].names
    [bias] = spellings["masked_lm/bias"].names
    decoder_bias = _decoder_bias(bias)
    tensors = {**tensors}
    if decoder in tensors:
        if table not in tensors:
            tensors[table] = tensors.pop(decoder)
        elif is_tied and np.array_equal(tensors[decoder].read(), tensors[table].read()):
            del tensors[decoder]
    if decoder_bias in tensors:  # untied decoders use this one
        tensors[bias] = tensors.pop(decoder_bias)
    return tensors


def _decoder_bias(bias):
    return f"{bias.removesuffix('bias')}decoder.bias"


def _task_arguments(task, config, checkpoint, architecture):
    if task is None:
        return {}
    head = task.published.head
    weights = checkpoint.weights
    if head == "ForMaskedLM":
        return {
            "next_sentence": "next_sentence/kernel" in weights,
            "tie_embeddings": "masked_lm/decoder/embeddings" not in weights,
            "masked_lm_activation": architecture.masked_lm_activation,
        }
    key, default = architecture.dropout(head)
    if default is None:
        default = config.number(*architecture.backbone["dropout"], low=0, high=1)
    arguments = {"dropout": config.number(key, default, low=0, high=1)}
    if task.published.settings_key:
        for name, value in config.fields(task.published.settings_key).values.items():
            if name in task.published.settings:
                arguments[name] = value
    if "num_classes" in inspect.signature(task.__init__).parameters:
        num_classes = weights["logits/kernel"].shape[-1]
        names = config.fields("id2label").values
        if not names:
            names = {str(number): name for name, number in config.fields("label2id").values.items()}
        labels = [str(names.get(str(i), i)) for i in range(num_classes)]
        arguments["num_classes"] = num_classes
        arguments["label_names"] = _distinct(labels, checkpoint)
    if head == "ForSequenceClassification":
        problem = config.text("problem_type")
        if problem == "multi_label_classification":
            arguments["multi_label"] = True
        if problem == "regression" and num_classes > 1:
            arguments["regression"] = True
    return arguments


def _distinct(labels, source):
    """Adds the class's number to each name if classes share one."""
    if len(set(labels)) == len(labels):
        return labels
    numbered = [f"{name}_{i}" for i, name in enumerate(labels)]
    message = "%s: id2label repeats a name; the classes are called %s here."
    logger.warning(message, source, shortened(", ".join(numbered), 200))
    return numbered


def write_hugging_face(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes a complete `Checkpoint` as a folder for transformers."""
    config = write_description(checkpoint, folder)
    architecture = ARCHITECTURES[config["model_type"]]
    first_position = config["pad_token_id"] + 1 if architecture.skips_padding else 0
    num_layers = checkpoint.backbone["num_layers"]
    spellings = architecture.spellings(num_layers, checkpoint.published.head, first_position)
    tensors = spell(checkpoint.weights, spellings)
    has_decoder_bias = architecture.root in ("bert", "roberta", "mpnet")
    if has_decoder_bias and not config["tie_word_embeddings"]:
        [bias] = spellings["masked_lm/bias"].names
        tensors[_decoder_bias(bias)] = tensors[bias]
    head = config["architectures"][0].removeprefix(architecture.prefix)
    if not architecture.has_pooler_under(head):
        names = [name for weight in architecture.pooler for name in spellings[weight].names]
        pooler = {name: tensors.pop(name) for name in names}
        _save(pooler, folder / POOLER_FILE)
    if checkpoint.published.head == "Model":  # whose names have no prefix
        prefix = f"{architecture.root}."
        tensors = {name.removeprefix(prefix): array for name, array in tensors.items()}
    _save(tensors, folder / "model.safetensors")


def _save(tensors, path):
    save_file(tensors, path, metadata={"format": "pt"})
    shutil.copymode(path.with_name("config.json"), path)  # others may read it, too


def check_supported(checkpoint: Checkpoint) -> None:
    """Raises a ValueError unless transformers, or sentence-transformers, can hold a model."""
    backbone = checkpoint.backbone
    architecture = ARCHITECTURES[checkpoint.architecture]
    supported = {  # {argument: possible values}
        "pooling": ["cls", "mean", "max"],
        "layers": [None],
        "num_features": [0],
        "masked_lm_activation": [architecture.masked_lm_activation or backbone["activation"]],
        "masked_lm_epsilon": [backbone["layer_norm_epsilon"]],
        "next_sentence": [False, True] if architecture.name == "bert" else [False],
        "activation": list(HIDDEN_ACTS),
        "num_segments": [backbone.get("num_segments") or 2],
    }
    if "embedding_dim" not in architecture.backbone:
        supported["embedding_dim"] = [None, backbone["hidden_dim"]]
    for name, only in architecture.fixed.items():
        supported[name] = [only]
    for name, only in architecture.required.items():
        supported[f"tokenizer.{name}"] = [only]
    arguments = {**checkpoint.task_arguments, **backbone}
    if checkpoint.own_tokenizer:
        arguments["tokenizer.pad_token_id"] = checkpoint.own_tokenizer.pad_token_id
    for name, values in supported.items():
        if name in arguments and arguments[name] not in values:
            advice = ", or write model.backbone instead"
            if name in backbone:
                advice = f", or make the encoder with another {name}"
            raise ValueError(
                f"This {checkpoint.model_class.__name__} has {name}={arguments[name]!r}; for "
                f"transformers' {architecture.name} it must be {' or '.join(map(repr, values))}. "
                f"Save the model with save_to_preset(folder){advice}."
            )


def write_config(checkpoint: Checkpoint, folder: Path) -> dict:
    """Writes `config.json`; returns what it has."""
    architecture = ARCHITECTURES[checkpoint.architecture]
    backbone = {**checkpoint.backbone}
    backbone["embedding_dim"] = backbone.get("embedding_dim") or backbone["hidden_dim"]
    arguments = checkpoint.task_arguments
    config = {
        "architectures": [_class_name(checkpoint, architecture)],
        "model_type": architecture.name,
        **{key: backbone[name] for name, (key, _) in architecture.backbone.items()},
        architecture.activation: HIDDEN_ACTS[backbone["activation"]],
        "initializer_range": 0.02,
        **architecture.written(checkpoint),
        "tie_word_embeddings": arguments.get("tie_embeddings", True),
    }
    if checkpoint.own_tokenizer:
        config["pad_token_id"] = checkpoint.own_tokenizer.pad_token_id
    if architecture.skips_padding:
        config["max_position_embeddings"] += config.setdefault("pad_token_id", 1) + 1
    if arguments.get("truncation", "longest_first") != "longest_first":
        config[_TRUNCATION] = arguments["truncation"]
    if "dropout" in arguments:
        key, _ = architecture.dropout(checkpoint.published.head)
        config[key] = arguments["dropout"]
    if "num_classes" in arguments:
        config |= _labels(arguments)
    if checkpoint.published.wrapper == "CrossEncoder":
        config |= sentence_transformers.cross_encoder_config(arguments)
    settings = _own_settings(checkpoint)
    if settings:
        config[checkpoint.published.settings_key] = settings
    write_json(folder / "config.json", config)
    return config


def write_description(checkpoint: Checkpoint, folder: Path) -> dict:
    """Writes all files but the weights; returns what `config.json` has."""
    config = write_config(checkpoint, folder)
    if checkpoint.own_tokenizer:
        write_tokenizer(checkpoint, folder)
    if checkpoint.published.wrapper == "SentenceTransformer":
        sentence_transformers.write_sentence_transformer(checkpoint, folder)
    return config


def _own_settings(checkpoint):
    """Returns the settings that transformers has no keys for, if they aren't the defaults."""
    if checkpoint.task is None:
        return {}
    preprocessor_class, arguments = checkpoint.settings
    settings = {}
    for name in checkpoint.published.settings:
        if name in arguments and arguments[name] != getattr(preprocessor_class, name):
            settings[name] = arguments[name]
    return settings


def _labels(arguments):
    names = arguments.get("label_names") or map(str, range(arguments["num_classes"]))
    id2label = {str(i): name for i, name in enumerate(names)}
    labels = {"id2label": id2label, "label2id": {name: int(i) for i, name in id2label.items()}}
    if arguments.get("multi_label"):
        labels["problem_type"] = "multi_label_classification"
    elif arguments.get("regression") or arguments["num_classes"] == 1:
        labels["problem_type"] = "regression"
    return labels


def _class_name(checkpoint, architecture):
    head = checkpoint.published.head
    if head == "ForMaskedLM" and checkpoint.task_arguments["next_sentence"]:
        head = "ForPreTraining"
    return architecture.prefix + head
