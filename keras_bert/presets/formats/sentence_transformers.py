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
    refused: str = ""  # the reason why a `BertEmbedder` can't pool so


def read_sentence_transformer(folder: Path) -> SentenceSettings:
    """Reads `modules.json` and the files that it names; without it, a folder is a plain encoder."""
    path = folder / "modules.json"
    listed = JsonFields(path, {"modules": read_json(path, list)}).listed_fields("modules")
    modules = {}
    for module in listed:
        name = module.text("type", "").rsplit(".", 1)[-1]
        modules[name] = folder / module.inner_path("path")
    if not modules:
        return SentenceSettings(folder)
    transformer = modules.get("Transformer", folder)
    settings = JsonFields(transformer, {})
    for path in transformer.glob("sentence_*_config.json"):  # older versions name the encoder
        settings = JsonFields(path)
    sentences = SentenceSettings(
        transformer,
        sequence_length=settings.integer("max_seq_length", low=1),
        lowercases=bool(settings.boolean("do_lower_case")),
    )
    pooling = JsonFields(modules.get("Pooling", folder) / "config.json")
    modes = []
    for name in pooling.values:
        if name.startswith("pooling_mode_") and pooling.boolean(name):
            modes.append(name)
    mode = _MODES.get(modes[0]) if len(modes) == 1 else None
    mode = pooling.text("pooling_mode", mode)
    others = sorted(set(modules) - {"Transformer", "Pooling", "Normalize"})
    if others or mode not in _MODES.values():
        theirs = ", ".join(others or modes) or mode or "no Pooling"
        sentences.refused = (
            f"The vectors of {folder} are made by {theirs}; BertEmbedder supports only "
            f"{', '.join(_MODES.values())} pooling: choose one, from_preset(..., pooling=), or "
            "load the encoder with BertBackbone.from_preset."
        )
        return sentences
    config = JsonFields(folder / _CONFIG)
    prompts = config.fields("prompts")
    prompts = {name: prompts.text(name, "") for name in prompts.values}
    sentences.embedder = {
        "pooling": mode,
        "normalize": "Normalize" in modules,
        "prompts": {},
        "default_prompt_name": None,
        "truncate_dim": config.fields(_OWN).integer("truncate_dim", low=1),
        "similarity_fn_name": config.text("similarity_fn_name", None) or "cosine",
    }
    if any(prompts.values()):  # sentence-transformers writes empty ones
        sentences.embedder["prompts"] = prompts
        sentences.embedder["default_prompt_name"] = config.text("default_prompt_name")
        if pooling.boolean("include_prompt") is False:
            sentences.refused = (
                f"{folder} leaves the tokens of its prompts out of the mean (include_prompt "
                "false), which BertEmbedder doesn't support. Load the encoder with "
                "BertBackbone.from_preset."
            )
    return sentences


def write_sentence_transformer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes the files that sentence-transformers needs in addition to the encoder's."""
    arguments = checkpoint.task_arguments
    paths = {"Transformer": "", "Pooling": "1_Pooling"}
    if arguments["normalize"]:
        paths["Normalize"] = "2_Normalize"
    modules = []
    for index, (name, path) in enumerate(paths.items()):
        (folder / path).mkdir(exist_ok=True)
        their_class = f"sentence_transformers.models.{name}"
        modules.append({"idx": index, "name": str(index), "path": path, "type": their_class})
    write_json(folder / "modules.json", modules)
    modes = {name: mode == arguments["pooling"] for name, mode in _MODES.items()}
    pooling = {"word_embedding_dimension": checkpoint.backbone["hidden_dim"], **modes}
    write_json(folder / "1_Pooling" / "config.json", pooling)
    prompts = arguments.get("prompts", {})
    # Without these two, sentence-transformers adds empty ones.
    needed = {name: prompt_of(prompts, name) for name in KINDS}
    config = {
        "prompts": {**needed, **prompts},
        "default_prompt_name": arguments.get("default_prompt_name"),
        "similarity_fn_name": arguments.get("similarity_fn_name", "cosine"),
    }
    truncate_dim = arguments.get("truncate_dim")
    if truncate_dim is not None:
        config[_OWN] = {"truncate_dim": truncate_dim}
        logger.warning(
            "sentence-transformers doesn't store truncate_dim: load the folder there with "
            "SentenceTransformer(folder, truncate_dim=%d). from_preset reads it.",
            truncate_dim,
        )
    write_json(folder / _CONFIG, config)
    settings = {"max_seq_length": checkpoint.sequence_length, "do_lower_case": False}
    write_json(folder / "sentence_bert_config.json", settings)


def cross_encoder_activation(folder: Path, config: JsonFields) -> str | None:
    """Returns the activation of a folder's scores; None if it isn't of a cross-encoder."""
    newest = config.fields("sentence_transformers").text("activation_fn")
    new = JsonFields(folder / _CONFIG).text("activation_fn")
    return newest or new or config.text(_OLD_KEY)


def reranker_arguments(folder: Path, config: JsonFields, dropout: float) -> dict:
    """Returns the arguments of a `BertReranker` and its preprocessor for a folder with one label.

    By default, the activation is the sigmoid, as in sentence-transformers.
    """
    theirs = cross_encoder_activation(folder, config) or "Sigmoid"
    for activation, name in _ACTIVATIONS.items():
        if name.endswith("." + theirs.rsplit(".", 1)[-1]):
            return {"dropout": dropout, "activation": activation}
    message = "%s: scores are %s of the logits there, their sigmoid here, in the same order."
    logger.warning(message, folder, theirs)
    return {"dropout": dropout, "activation": "sigmoid"}


def cross_encoder_config(arguments: dict) -> dict:
    """Returns the entries of `config.json` for a `BertReranker`."""
    activation = _ACTIVATIONS[arguments.get("activation", "sigmoid")]
    return {
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "sentence_transformers": {"activation_fn": activation},
        _OLD_KEY: activation,
    }
