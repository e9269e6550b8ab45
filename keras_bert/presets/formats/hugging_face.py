"""Hugging Face folders: `config.json`, `model.safetensors`, a tokenizer."""

import logging
import re
import reprlib
from collections import Counter
from difflib import get_close_matches
from pathlib import Path

from safetensors.numpy import save_file

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.messages import check_one_of, shortened
from keras_bert.presets.formats.architectures import ARCHITECTURES
from keras_bert.presets.formats.checkpoint import (
    Checkpoint,
    backbone_arguments,
    check_size,
    check_supported,
    num_values,
    spell,
    translate,
)
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer, write_tokenizer
from keras_bert.presets.formats.sentence_transformers import (
    cross_encoder_activation,
    cross_encoder_config,
    read_sentence_transformer,
    reranker_arguments,
    write_sentence_transformer,
)
from keras_bert.presets.formats.tensor_files import POOLER_FILE, read_tensors
from keras_bert.presets.formats.weight_names import (
    OUTPUT_HEADS,
    OWN_CLASSIFIER,
    OWN_SPAN_LABELER,
    own_classifier_arguments,
    read_own_arguments,
)

logger = logging.getLogger("keras_bert")

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
_FIXED = {
    "position_embedding_type": "absolute",
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": {},
}
_NO_WEIGHTS = ("position_ids", "token_type_ids")  # buffers in older files


def read_hugging_face(folder: Path) -> Checkpoint:
    """Reads a folder written by transformers or sentence-transformers."""
    sentences = read_sentence_transformer(folder)
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
    check_size(backbone, num_values(tensors), config.path)
    task = _task(config, tensors, kind)
    spellings = kind.spellings(backbone["num_layers"], task, first_position)
    tied = config.boolean("tie_word_embeddings", True)
    tensors = _without_copies(tensors, spellings, tied)
    weights, left_over = translate(tensors, spellings, source)
    arguments = _task_arguments(task, config, weights, kind, source)
    others = {}
    if task == "BertClassifier" and arguments["num_classes"] == 1:
        others["BertReranker"] = reranker_arguments(folder, config, arguments["dropout"])
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
        weights=weights,
        task=task,
        task_arguments=arguments,
        other_tasks=others,
        tokenizer=tokenizer,
        sequence_length=min(longest, backbone["max_sequence_length"]),
        spellings=spellings,
        left_over=left_over,
        refused=refused,
    )
    is_plain = cross_encoder_activation(folder, config) is None
    return checkpoint if is_plain else checkpoint.as_task("BertReranker")


def write_hugging_face(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes a complete `Checkpoint` as a folder for transformers."""
    backbone, kind = checkpoint.backbone, ARCHITECTURES[checkpoint.backbone["architecture"]]
    supported = {
        "masked_lm_activation": (kind.masked_lm_activation or backbone["activation"],),
        "masked_lm_epsilon": (backbone["layer_norm_epsilon"],),
        "next_sentence": (False, True) if kind.name == "bert" else (False,),
    }
    check_supported(checkpoint, "transformers", supported)
    config = write_description(checkpoint, folder)
    _write_tensors(checkpoint, config, folder)


def write_description(checkpoint: Checkpoint, folder: Path) -> dict:
    """Writes all files but the weights; returns what `config.json` has."""
    kind = ARCHITECTURES[checkpoint.backbone["architecture"]]
    supported = {
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
        write_sentence_transformer(checkpoint, folder)
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
    if checkpoint.task == "BertSpanLabeler":
        config[OWN_SPAN_LABELER] = arguments
    if "dropout" in arguments:
        config[kind.dropout(checkpoint.task)[0]] = arguments["dropout"]
    if "num_classes" in arguments:
        config |= _labels(arguments)
    if checkpoint.task == "BertReranker":
        config |= cross_encoder_config(arguments)
    if arguments.get("multi_label") or arguments.get("window_stride"):
        config[OWN_CLASSIFIER] = own_classifier_arguments(arguments)
    return config


def _write_tensors(checkpoint, config, folder):
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


def _plain_name(name, architecture):
    """Returns a tensor's name as current transformers versions write it."""
    name = re.sub(r"^((module|_orig_mod)\.)+", "", name)  # prefixes of torch's wrappers
    if re.match(r"(embeddings(_project)?|encoder|transformer|pooler)\.", name):
        name = f"{architecture}.{name}"
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def _without_copies(tensors, spellings, tied):
    """Drops the decoder's table and bias if they duplicate others.

    An untied table is kept even if its values are equal, because it may be trained separately.
    """
    tensors, pairs = {**tensors}, []
    if "masked_lm/decoder/embeddings" in spellings:
        [bias] = spellings["masked_lm/bias"].names
        pairs.append((_of_decoder(bias), bias))
        tables = ("masked_lm/decoder/embeddings", "embeddings/token_embedding/embeddings")
        pairs.append(tuple(spellings[ours].names[0] for ours in tables))
    for copy, original in pairs:
        if copy not in tensors:
            continue
        if original not in tensors:
            tensors[original] = tensors.pop(copy)
        elif (tied or copy.endswith("bias")) and _equal(tensors[copy], tensors[original]):
            del tensors[copy]
        elif copy.endswith("bias"):  # untied decoders use this bias
            tensors[original] = tensors.pop(copy)
    return tensors


def _of_decoder(bias):
    return f"{bias.removesuffix('bias')}decoder.bias"


def _equal(a, b):
    return a.shape == b.shape and bool((a.read() == b.read()).all())


def _architecture(config, source):
    """Returns the `Architecture` of a config; a ValueError if this library can't hold it."""
    if not config:
        raise ValueError(f"{source} has no config.json, which describes the model.")
    name = config.text("model_type", "bert")
    if name not in ARCHITECTURES:
        nearest = "".join(f"; {n!r} is nearest" for n in get_close_matches(name, ARCHITECTURES, 1))
        raise ValueError(
            f"{source} has model_type={reprlib.repr(name)}, which this library doesn't support; it "
            f"loads {', '.join(map(repr, ARCHITECTURES))}{nearest}."
        )
    for key, only in {**_FIXED, **ARCHITECTURES[name].required}.items():
        value = config.value(key, only)
        if value not in (None, only) and (value or only):
            raise ValueError(
                f"{source} has {key}={reprlib.repr(value)}, which this library doesn't support; it "
                f"loads models with {key}={only!r}."
            )
    key = ARCHITECTURES[name].activation
    check_one_of(f"{key} of {source}", config.text(key, "gelu"), _ACTIVATIONS)
    return ARCHITECTURES[name]


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
    if task not in OUTPUT_HEADS:
        return {}
    multi_label = config.text("problem_type") == "multi_label_classification"
    if multi_label and task != "BertClassifier":
        logger.warning(
            "%s is a multi-label model: each label's score is the sigmoid of its logit. The logits "
            "are the same here, but %s uses softmax, for exactly one label.",
            source,
            task,
        )
    key, default = kind.dropout(task)
    if default is None:
        default = config.number(*kind.backbone["dropout"], low=0, high=1)
    arguments = {"dropout": config.number(key, default, low=0, high=1)}
    if task == "BertSpanLabeler":
        return {**arguments, **read_own_arguments(config.fields(OWN_SPAN_LABELER))}
    if task in ("BertClassifier", "BertTokenClassifier"):
        num_classes = weights["logits/kernel"].shape[-1]
        names = config.fields("id2label")
        labels = [names.text(str(i), str(i)) for i in range(num_classes)]
        arguments |= {"num_classes": num_classes, "label_names": _distinct(labels, source)}
    if task == "BertClassifier":
        own = {**read_own_arguments(config.fields(OWN_CLASSIFIER)), "multi_label": multi_label}
        arguments |= {name: value for name, value in own.items() if value is not False}
    return arguments


def _distinct(labels, source):
    """Adds the class's number to each name that classes share, or names all by number."""
    repeated = [name for name, count in Counter(labels).items() if count > 1]
    if not repeated:
        return labels
    named = [f"{name}_{i}" if name in repeated else name for i, name in enumerate(labels)]
    if len(set(named)) < len(named):
        named = [*map(str, range(len(labels)))]
    logger.warning(
        "%s: id2label repeats the name %r; the classes are called %s here.",
        source,
        repeated[0],
        shortened(", ".join(named), 200),
    )
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
