"""Folders of sentence-transformers: an encoder, and how its vectors become one."""

import json

from keras_bert.checkpoints.tensor_files import read_json, write_json


def read_sentence_transformer(folder):
    """What `modules.json` of sentence-transformers says.

    Args:
        folder: a path.

    Returns:
        `{}` where there is no such file, else a dict of `transformer`, the encoder's folder,
        `embedder`, arguments of `BertEmbedder`, and `sequence_length` if it is given.

    Raises:
        ValueError: if the vectors are pooled in a way that `BertEmbedder` can't.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return {}
    modules = {
        module["type"].rsplit(".", 1)[-1]: folder / module["path"]
        for module in json.loads(path.read_text(encoding="utf-8"))
    }
    unknown = set(modules) - {"Transformer", "Pooling", "Normalize"}
    if unknown or "Pooling" not in modules:
        return {}  # an encoder like any other
    pooling = read_json(modules["Pooling"] / "config.json")
    modes = {
        "pooling_mode_cls_token": "cls",
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_max_tokens": "max",
    }
    on = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value]
    mode = pooling.get("pooling_mode", modes.get(on[0]) if len(on) == 1 else None)
    if mode not in modes.values():
        raise ValueError(
            f"{modules['Pooling']} pools by {on or mode}; BertEmbedder pools by one of cls, mean "
            "and max. Load the encoder alone with BertBackbone.from_preset."
        )
    transformer = modules.get("Transformer", folder)
    found = {
        "transformer": transformer,
        "embedder": {"pooling": mode, "normalize": "Normalize" in modules},
    }
    longest = read_json(transformer / "sentence_bert_config.json").get("max_seq_length")
    return {**found, "sequence_length": longest} if longest else found


def write_sentence_transformer(checkpoint, folder):
    """Writes what sentence-transformers needs beside the encoder."""
    arguments = checkpoint.task_arguments
    (folder / "1_Pooling").mkdir()
    write_json(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": checkpoint.backbone["hidden_dim"],
            "pooling_mode_cls_token": arguments["pooling"] == "cls",
            "pooling_mode_mean_tokens": arguments["pooling"] == "mean",
            "pooling_mode_max_tokens": arguments["pooling"] == "max",
        },
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
