"""Hugging Face folders: `config.json`, `model.safetensors`, a tokenizer."""

import re
import reprlib
from functools import partial
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.messages import check_one_of, logger, shortened
from keras_bert.presets.formats import sentence_transformers, weight_names
from keras_bert.presets.formats.architectures import ARCHITECTURES
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    check_supported,
    spell,
    translate,
)
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer, write_tokenizer
from keras_bert.presets.formats.tensor_files import POOLER_FILE, read_tensors

_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
_HIDDEN_ACTS = {ours: theirs for theirs, ours in reversed(_ACTIVATIONS.items())}
_HEADS = {
    "BertClassifier": "ForSequenceClassification",
    "BertReranker": "ForSequenceClassification",
    "BertTokenClassifier": "ForTokenClassification",
    "BertSpanLabeler": "ForQuestionAnswering",
    "BertMultipleChoice": "ForMultipleChoice",
}
_TASKS = {theirs: ours for ours, theirs in _HEADS.items() if ours != "BertReranker"}
_PRETRAINING = ("cls.", "vocab_", "generator_", "lm_head.")  # prefixes of the heads' weights
_WITH_POOLER = ("BertModel", "BertForPreTraining")
_WITH_POOLER += ("XLMRobertaModel", "CamembertModel", "RobertaModel", "MPNetModel")
_POOLED = ("BertClassifier", "BertReranker", "BertMultipleChoice")  # heads on the pooled output
_CHANGES = ("add_cross_attention", "pruned_heads", "quantization_config")  # of the architecture
_NO_WEIGHTS = ("position_ids", "token_type_ids")  # buffers in older files


def read_hugging_face(folder: Path) -> Checkpoint:
    """Reads a folder written by transformers or sentence-transformers."""
    sentences = sentence_transformers.read_sentence_transformer(folder)
    folder = sentences.transformer
    source = f"Hugging Face folder {folder}"
    config = JsonFields(folder / "config.json")
    kind = _architecture(config, source)
    tensors = {
        _plain_name(name, kind.root): tensor
        for name, tensor in read_tensors(folder).items()
        if name.rsplit(".", 1)[-1] not in _NO_WEIGHTS
    }
    backbone = {
        **backbone_arguments(config, kind.backbone),
        "activation": _ACTIVATIONS[config.text(kind.activation, "gelu")],
        "causal": config.boolean("is_decoder", False),
        **kind.fixed,
    }
    first_position = 0
    if kind.skips_padding:
        first_position = config.integer("pad_token_id", 1) + 1
        backbone["max_sequence_length"] -= first_position
    task = _task(config, tensors, kind)
    tied = config.boolean("tie_word_embeddings", True)
    tensors = _without_copies(tensors, kind.spellings(0, task), tied)
    spellings_of = partial(kind.spellings, task=task, first_position=first_position)
    found = translate(tensors, backbone, spellings_of, source)
    arguments = _task_arguments(task, config, found["weights"], kind, source)
    others = {}
    if task == "BertClassifier" and arguments["num_classes"] == 1:
        others["BertReranker"] = sentence_transformers.reranker_arguments(
            folder, config, arguments["dropout"]
        )
    if sentences.embedder:
        task, arguments = "BertEmbedder", sentences.embedder
    tokenizer, longest, refused = {}, 512, {**sentences.refused}
    try:
        tokenizer, longest = read_tokenizer(
            folder, backbone["vocabulary_size"], sentences.lowercases
        )
    except ValueError as error:  # the caller's preprocessor may replace it
        refused["text"] = str(error)
    if backbone["causal"] and task in _POOLED:
        reason = (
            f"{source} is a decoder, and classifies by [CLS], which sees only itself; this library "
            "would by the last token. Load its BertBackbone, or another task."
        )
        refused |= dict.fromkeys((task, *others), reason)
    summary = {name: config.values.get(name, only) for name, only in kind.summary.items()}
    if task == "BertMultipleChoice" and summary != kind.summary:
        refused[task] = (
            f"{source} summarizes choices by {summary}; this library supports only {kind.summary}. "
            "Load its BertBackbone, or another task."
        )
    longest = sentences.sequence_length or longest
    checkpoint = Checkpoint(
        source=source,
        backbone=backbone,
        task=task,
        task_arguments=arguments,
        other_tasks=others,
        tokenizer=tokenizer,
        sequence_length=min(longest, backbone["max_sequence_length"]),
        refused=refused,
        **found,
    )
    is_plain = sentence_transformers.cross_encoder_activation(folder, config) is None
    return checkpoint if is_plain else checkpoint.as_task("BertReranker")


def write_hugging_face(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes a complete `Checkpoint` as a folder for transformers."""
    config = write_description(checkpoint, folder)
    kind = ARCHITECTURES[config["model_type"]]
    first = config["pad_token_id"] + 1 if kind.skips_padding else 0
    spellings = kind.spellings(checkpoint.backbone["num_layers"], checkpoint.task, first)
    tensors = spell(checkpoint.weights, spellings)
    if not config["tie_word_embeddings"] and kind.root in ("bert", "roberta", "mpnet"):
        [bias] = spellings["masked_lm/bias"].names
        tensors[_of_decoder(bias)] = tensors[bias]
    if checkpoint.task not in _POOLED and config["architectures"][0] not in _WITH_POOLER:
        names = [*spellings["pooler/bias"].names, *spellings["pooler/kernel"].names]
        pooler = {name: tensors.pop(name) for name in names}
        save_file(pooler, folder / POOLER_FILE, metadata={"format": "pt"})
    if checkpoint.task in (None, "BertEmbedder"):  # a plain encoder has no prefix
        tensors = {name.removeprefix(f"{kind.root}."): array for name, array in tensors.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_description(checkpoint: Checkpoint, folder: Path) -> dict:
    """Writes all files but the weights; returns what `config.json` has."""
    backbone, kind = checkpoint.backbone, ARCHITECTURES[checkpoint.backbone["architecture"]]
    supported = {
        "masked_lm_activation": (kind.masked_lm_activation or backbone["activation"],),
        "masked_lm_epsilon": (backbone["layer_norm_epsilon"],),
        "next_sentence": (False, True) if kind.name == "bert" else (False,),
        "activation": tuple(_HIDDEN_ACTS),
        "causal": (False,) if checkpoint.task in _POOLED else (False, True),
        **{name: (value,) for name, value in kind.fixed.items()},
        **{f"tokenizer.{name}": (value,) for name, value in kind.required.items()},
    }
    check_supported(checkpoint, "transformers", supported)
    config = _config(checkpoint, kind)
    write_json(folder / "config.json", config)
    if checkpoint.own_tokenizer:
        write_tokenizer(checkpoint, folder)
    if checkpoint.task == "BertEmbedder":
        sentence_transformers.write_sentence_transformer(checkpoint, folder)
    return config


def _config(checkpoint, kind):
    backbone, arguments = {**checkpoint.backbone}, checkpoint.task_arguments
    backbone["embedding_dim"] = backbone["embedding_dim"] or backbone["hidden_dim"]
    config = {
        "architectures": [_class_name(checkpoint, kind)],
        "model_type": kind.name,
        **{key: backbone[ours] for ours, (key, _) in kind.backbone.items()},
        kind.activation: _HIDDEN_ACTS[backbone["activation"]],
        "initializer_range": 0.02,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": arguments.get("tie_embeddings", True),
    }
    if backbone["causal"]:
        config["is_decoder"] = True
    if checkpoint.own_tokenizer:
        config["pad_token_id"] = checkpoint.own_tokenizer.pad_token_id
    if kind.skips_padding:
        config["max_position_embeddings"] += config.setdefault("pad_token_id", 1) + 1
    if "dropout" in arguments:
        config[kind.dropout(checkpoint.task)[0]] = arguments["dropout"]
    if "num_classes" in arguments:
        config |= _labels(arguments)
    if checkpoint.task == "BertReranker":
        config |= sentence_transformers.cross_encoder_config(arguments)
    has_own = arguments.get("multi_label") or arguments.get("window_stride")
    has_own = has_own or arguments.get("threshold", 0.5) != 0.5
    if has_own or checkpoint.task == "BertSpanLabeler":
        config |= weight_names.own_entry(checkpoint)
    return config


def _plain_name(name, architecture):
    name = re.sub(r"^((module|_orig_mod)\.)+", "", name)  # prefixes of torch's wrappers
    if re.match(r"(embeddings(_project)?|encoder|transformer|pooler)\.", name):
        name = f"{architecture}.{name}"
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def _without_copies(tensors, spellings, tied):
    """Drops the decoder's table and bias if they duplicate others.

    An untied table is kept even if its values are equal, because it may be trained separately.
    """
    if "masked_lm/decoder/embeddings" not in spellings:
        return tensors
    tables = ("masked_lm/decoder/embeddings", "embeddings/token_embedding/embeddings")
    [decoder], [table], [bias] = (spellings[ours].names for ours in (*tables, "masked_lm/bias"))
    tensors = {**tensors}
    for copy, original, is_tied in ((decoder, table, tied), (_of_decoder(bias), bias, True)):
        if copy not in tensors:
            continue
        if original not in tensors:
            tensors[original] = tensors.pop(copy)
        elif is_tied and np.array_equal(tensors[copy].read(), tensors[original].read()):
            del tensors[copy]
        elif original == bias:  # untied decoders use that of the decoder
            tensors[original] = tensors.pop(copy)
    return tensors


def _of_decoder(bias):
    return f"{bias.removesuffix('bias')}decoder.bias"


def _architecture(config, source):
    if not config:
        raise ValueError(f"{source} has no config.json, which describes the model.")
    name = config.text("model_type", "bert")
    check_one_of(f"model_type of {source}", name, ARCHITECTURES)
    kind = ARCHITECTURES[name]
    for key in _CHANGES:
        if config.value(key) not in (None, False, {}, []):
            raise ValueError(
                f"{source} has {key}={reprlib.repr(config.value(key))}, which this library doesn't "
                "support."
            )
    choices = {"position_embedding_type": ("absolute", ["absolute"])}
    choices |= {key: (only, [only]) for key, only in kind.required.items()}
    choices[kind.activation] = ("gelu", _ACTIVATIONS)
    for key, (default, supported) in choices.items():
        check_one_of(f"{key} of {source}", config.value(key, default), supported)
    return kind


def _task(config, tensors, kind):
    """Returns the name of the class whose head the tensors hold, or None."""
    if any(name.startswith(_PRETRAINING) for name in tensors):
        return "BertPretrainer"
    for architecture in config.texts("architectures"):
        if task := _TASKS.get(architecture.removeprefix(kind.prefix)):
            [name] = kind.spellings(0, task)["logits/kernel"].names
            return task if name in tensors else None
    return None


def _task_arguments(task, config, weights, kind, source):
    if task == "BertPretrainer":
        return {
            "next_sentence": "next_sentence/kernel" in weights,
            "tie_embeddings": "masked_lm/decoder/embeddings" not in weights,
            "masked_lm_activation": kind.masked_lm_activation,
        }
    if task not in weight_names.OUTPUT_HEADS:
        return {}
    key, default = kind.dropout(task)
    if default is None:
        default = config.number(*kind.backbone["dropout"], low=0, high=1)
    arguments = {"dropout": config.number(key, default, low=0, high=1)}
    arguments |= weight_names.read_own_entry(config, task)
    if task in ("BertClassifier", "BertTokenClassifier"):
        num_classes = weights["logits/kernel"].shape[-1]
        names = config.fields("id2label")
        labels = [names.text(str(i), str(i)) for i in range(num_classes)]
        arguments |= {"num_classes": num_classes, "label_names": _distinct(labels, source)}
    if task == "BertClassifier":
        arguments["multi_label"] = config.text("problem_type") == "multi_label_classification"
    return {name: value for name, value in arguments.items() if value is not False}


def _distinct(labels, source):
    """Adds the class's number to each name if classes share one."""
    if len(set(labels)) == len(labels):
        return labels
    named = [f"{name}_{i}" for i, name in enumerate(labels)]
    message = "%s: id2label repeats a name; the classes are called %s here."
    logger.warning(message, source, shortened(", ".join(named), 200))
    return named


def _labels(arguments):
    names = arguments.get("label_names") or map(str, range(arguments["num_classes"]))
    labels = {"id2label": {str(i): name for i, name in enumerate(names)}}
    labels["label2id"] = {name: int(i) for i, name in labels["id2label"].items()}
    if arguments.get("multi_label"):
        labels["problem_type"] = "multi_label_classification"
    elif arguments["num_classes"] == 1:
        labels["problem_type"] = "regression"
    return labels


def _class_name(checkpoint, kind):
    name = _HEADS.get(checkpoint.task, "Model")
    if checkpoint.task == "BertPretrainer":
        causal = "LMHeadModel" if kind.name == "bert" else "ForCausalLM"
        name = causal if checkpoint.backbone["causal"] else "ForMaskedLM"
        name = "ForPreTraining" if checkpoint.task_arguments["next_sentence"] else name
    return kind.prefix + name
