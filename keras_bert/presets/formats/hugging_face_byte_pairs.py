"""Byte-level BPE tokenizers of Hugging Face folders: RoBERTa's."""

from pathlib import Path
from typing import Any

from keras_bert.files.json_files import JsonFields, read_json, write_json
from keras_bert.files.remote import read_utf8
from keras_bert.files.whole import whole_file
from keras_bert.text.base_tokenizer import Tokenizer

_BACKEND = "TokenizersBackend"


def read_byte_pairs(folder: Path, settings: JsonFields, fast: JsonFields) -> dict[str, Any] | None:
    """Returns the vocabulary of a folder's `BytePairTokenizer`; None if it has another."""
    model, kind = fast.fields("model"), settings.text("tokenizer_class", "")
    files = folder / "vocab.json", folder / "merges.txt"
    is_theirs = model.text("type") == "BPE" and "<mask>" in model.fields("vocab").values
    if not is_theirs and (model or not all(file.is_file() for file in files)):
        return None
    if kind.removesuffix("Fast") not in ("", "RobertaTokenizer", "PreTrainedTokenizer", _BACKEND):
        return None
    if model:
        steps = fast.fields("pre_tokenizer").text("type"), fast.fields("normalizer").text("type")
        if steps != ("ByteLevel", None):
            raise ValueError(
                f"{fast.path} splits text with {steps[0]} after {steps[1]}; BytePairTokenizer "
                "supports only ByteLevel without normalization. Pass your own preprocessor, "
                "from_preset(..., preprocessor=)."
            )
        vocab, merges = (model.value(name) for name in ("vocab", "merges"))
    else:
        vocab, lines = read_json(files[0]), read_utf8(files[1]).splitlines()
        merges = [line for line in lines if line and not line.startswith("#version")]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges or []]
    for token in fast.listed_fields("added_tokens"):
        vocab.setdefault(token.text("content"), token.integer("id"))
    key = "add_prefix_space"
    adds_space = settings.boolean(key, fast.fields("pre_tokenizer").boolean(key, False))
    return {"vocab": vocab, "merges": pairs, key: adds_space}


def write_byte_pairs(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the two files that programs other than transformers read."""
    contents = tokenizer.contents()
    write_json(folder / "vocab.json", contents["vocab"], indent=None)
    with whole_file(folder / "merges.txt") as file:
        file.writelines(["#version: 0.2\n", *(f"{a} {b}\n" for a, b in contents["merges"])])


def fast_byte_pairs(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the parts of a `tokenizer.json` that byte pair encoding decides on."""
    contents = tokenizer.contents()
    level = {"type": "ByteLevel", "add_prefix_space": contents.pop("add_prefix_space")}
    level |= {"trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "unk_token": None, "byte_fallback": False, **contents}
    return {"pre_tokenizer": level, "decoder": level, "model": model}
