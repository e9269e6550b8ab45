"""Folders of sentence-transformers: an encoder and its pooling, or a cross-encoder.

A cross-encoder is a `BertForSequenceClassification` with one label. The activation of its scores is
named in `config.json`, in version 3 of sentence-transformers under
`sbert_ce_default_activation_function` and in version 4 under `sentence_transformers`. Version 6
names it in `config_sentence_transformers.json`.
"""

from dataclasses import dataclass, field
from pathlib import Path

from keras_bert.files.json_files import JsonFields, read_json, write_json
from keras_bert.messages import logger
from keras_bert.preprocessing.prompts import KINDS, prompt_of
from keras_bert.presets.formats.checkpoint import Checkpoint

_CONFIG = "config_sentence_transformers.json"
_OWN = "keras_bert"  # settings that sentence-transformers has no name for
# Older versions named sentence_bert_config.json after the encoder.
_ENCODERS = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}

_OLD_KEY = "sbert_ce_default_activation_function"
_ACTIVATIONS = {
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
    "linear": "torch.nn.modules.linear.Identity",
}


@dataclass
class SentenceSettings:
    """Settings that sentence-transformers adds to an encoder."""

    transformer: Path  # the folder of the encoder
    embedder: dict = field(default_factory=dict)  # arguments of `BertEmbedder`, if there is pooling
    sequence_length: int | None = None  # None if the tokenizer defines it
    lowercases: bool = False  # whether text is lowercased before it is tokenized
    refused: dict = field(default_factory=dict)  # {"BertEmbedder": reason} for other pooling


def read_sentence_transformer(folder: Path) -> SentenceSettings:
    """Reads `modules.json` and the files that it names; without it, a folder is a plain encoder."""
    path = folder / "modules.json"
    listed = JsonFields(path, {"modules": read_json(path, list)}).listed_fields("modules")
    modules = {
        module.text("type", "").rsplit(".", 1)[-1]: folder / module.inner_path("path")
        for module in listed
    }
    if not modules:
        return SentenceSettings(folder)
    transformer = modules.get("Transformer", folder)
    files = (JsonFields(transformer / f"sentence_{kind}_config.json") for kind in _ENCODERS)
    settings = next(filter(None, files), JsonFields(transformer, {}))
    found = SentenceSettings(
        transformer,
        sequence_length=settings.integer("max_seq_length", low=1),
        lowercases=bool(settings.boolean("do_lower_case")),
    )
    pooling = JsonFields(modules.get("Pooling", folder) / "config.json")
    on = [n for n in pooling.values if n.startswith("pooling_mode_") and pooling.boolean(n)]
    mode = pooling.text("pooling_mode", _MODES.get(on[0]) if len(on) == 1 else None)
    other = sorted(set(modules) - {"Transformer", "Pooling", "Normalize"})
    if other or mode not in _MODES.values():
        theirs = ", ".join(other or on) or mode or "no Pooling"
        found.refused["BertEmbedder"] = (
            f"The vectors of {folder} are made by {theirs}; BertEmbedder supports only "
            f"{', '.join(_MODES.values())} pooling: choose one, from_preset(..., pooling=), or "
            "load the encoder with BertBackbone.from_preset."
        )
        return found
    config = JsonFields(folder / _CONFIG)
    prompts = config.fields("prompts")
    found.embedder = {
        "pooling": mode,
        "normalize": "Normalize" in modules,
        "prompts": {name: prompts.text(name, "") for name in prompts.values},
        "default_prompt_name": config.text("default_prompt_name"),
        "truncate_dim": config.fields(_OWN).integer("truncate_dim", low=1),
    }
    if not any(found.embedder["prompts"].values()):  # sentence-transformers writes empty ones
        found.embedder |= {"prompts": {}, "default_prompt_name": None}
    if found.embedder["prompts"] and pooling.boolean("include_prompt") is False:
        found.refused["BertEmbedder"] = (
            f"{folder} leaves the tokens of its prompts out of the mean (include_prompt false), "
            "which BertEmbedder doesn't support. Load the encoder with BertBackbone.from_preset."
        )
    return found


def write_sentence_transformer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes the files that sentence-transformers needs in addition to the encoder's."""
    arguments = checkpoint.task_arguments
    prompts, truncate_dim = arguments.get("prompts", {}), arguments.get("truncate_dim")
    if truncate_dim is not None:
        logger.warning(
            "sentence-transformers doesn't store truncate_dim: load the folder there with "
            "SentenceTransformer(folder, truncate_dim=%d). from_preset reads it.",
            truncate_dim,
        )
    (folder / "1_Pooling").mkdir()
    modes = {name: mode == arguments["pooling"] for name, mode in _MODES.items()}
    pooling = {"word_embedding_dimension": checkpoint.backbone["hidden_dim"], **modes}
    write_json(folder / "1_Pooling" / "config.json", pooling)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if arguments["normalize"]:
        kinds.append(("2_Normalize", "Normalize"))
        (folder / "2_Normalize").mkdir()
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    both = {kind: prompt_of(prompts, kind) for kind in KINDS}  # or there would be empty ones
    config = {
        "prompts": {**both, **prompts},
        "default_prompt_name": arguments.get("default_prompt_name"),
        "similarity_fn_name": "cosine",
        **({} if truncate_dim is None else {_OWN: {"truncate_dim": truncate_dim}}),
    }
    write_json(folder / _CONFIG, config)
    settings = {"max_seq_length": checkpoint.sequence_length, "do_lower_case": False}
    write_json(folder / "sentence_bert_config.json", settings)


def cross_encoder_activation(folder: Path, config: JsonFields) -> str | None:
    """Returns the activation of a folder's scores; None if it isn't of a cross-encoder."""
    files = (config.fields("sentence_transformers"), JsonFields(folder / _CONFIG))
    names = [fields.text("activation_fn") for fields in files]
    return next(filter(None, names), None) or config.text(_OLD_KEY)


def reranker_arguments(folder: Path, config: JsonFields, dropout: float) -> dict:
    """Returns the arguments of a `BertReranker` and its preprocessor for a folder with one label.

    By default, the activation is the sigmoid, as in sentence-transformers.
    """
    theirs = cross_encoder_activation(folder, config)
    kinds = {name.rsplit(".", 1)[-1]: ours for ours, name in _ACTIVATIONS.items()}
    activation = kinds.get((theirs or "Sigmoid").rsplit(".", 1)[-1])
    if activation is None:
        message = "%s: scores are %s of the logits there, their sigmoid here, in the same order."
        logger.warning(message, folder, theirs)
    return {"dropout": dropout, "activation": activation or "sigmoid"}


def cross_encoder_config(arguments: dict) -> dict:
    """Returns the entries of `config.json` for a `BertReranker`."""
    activation = _ACTIVATIONS[arguments.get("activation", "sigmoid")]
    return {
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "sentence_transformers": {"activation_fn": activation},
        _OLD_KEY: activation,
    }
