"""Folders of sentence-transformers: an encoder, and how its vectors become one."""

import logging
from dataclasses import dataclass, field
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json

logger = logging.getLogger("keras_bert")

_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}


@dataclass
class Sentences:
    """What sentence-transformers adds to an encoder.

    Args:
        transformer: folder of the encoder.
        embedder: arguments of `BertEmbedder`; empty where nothing is added.
        sequence_length: int, or None where the tokenizer says it.
        lowercases: bool, whether text is put in lower case before it is tokenized.
        refused: `{"BertEmbedder": why}` where that can't do the same.
    """

    transformer: Path
    embedder: dict = field(default_factory=dict)
    sequence_length: int | None = None
    lowercases: bool = False
    refused: dict = field(default_factory=dict)


def read_sentence_transformer(folder):
    """What `modules.json` of sentence-transformers says.

    Args:
        folder: a path.

    Returns:
        `Sentences`.

    Raises:
        ValueError: if a file is broken.
    """
    modules = {
        module["type"].rsplit(".", 1)[-1]: folder / module["path"]
        for module in read_json(folder / "modules.json", list)
    }
    if not modules:
        return Sentences(folder)
    transformer = modules.get("Transformer", folder)
    settings = read_json(transformer / "sentence_bert_config.json")
    found = Sentences(
        transformer,
        sequence_length=settings.get("max_seq_length"),
        lowercases=bool(settings.get("do_lower_case")),
    )
    pooling = read_json(modules.get("Pooling", folder) / "config.json")
    on = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value]
    mode = pooling.get("pooling_mode", _MODES.get(on[0]) if len(on) == 1 else None)
    other = sorted(set(modules) - {"Transformer", "Pooling", "Normalize"})
    if other or mode not in _MODES.values():
        theirs = ", ".join(other or on) or mode or "no Pooling"
        found.refused["BertEmbedder"] = (
            f"The vectors of {folder} are made by {theirs}; BertEmbedder has one of "
            f"{', '.join(_MODES.values())} of the tokens alone. Say what to do in its place "
            "(from_preset(..., pooling=)), or load the encoder with BertBackbone.from_preset."
        )
        return found
    found.embedder = {"pooling": mode, "normalize": "Normalize" in modules}
    prompts = read_json(folder / "config_sentence_transformers.json")
    if prompts.get("default_prompt_name"):
        logger.warning(
            "%s: sentence-transformers puts %r before each text; do so yourself.",
            folder,
            prompts.get("prompts", {}).get(prompts["default_prompt_name"]),
        )
    return found


def write_sentence_transformer(checkpoint, folder):
    """Writes what sentence-transformers needs beside the encoder."""
    arguments = checkpoint.task_arguments
    (folder / "1_Pooling").mkdir()
    modes = {name: mode == arguments["pooling"] for name, mode in _MODES.items()}
    write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": checkpoint.backbone["hidden_dim"], **modes},
    )
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    if arguments["normalize"]:
        kinds.append(("2_Normalize", "Normalize"))
        (folder / "2_Normalize").mkdir()
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    write_json(folder / "modules.json", modules)
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": checkpoint.sequence_length, "do_lower_case": False},
    )
