"""Tokenizers of Hugging Face folders that cut whole texts: SentencePiece models and byte pairs."""

import base64
from pathlib import Path
from typing import Any

from keras_bert.files.json_files import JsonFields, read_json, write_json
from keras_bert.files.remote import read_text
from keras_bert.files.whole import whole_file
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.sentence_piece import (
    FAMILIES,
    MODEL_FILE,
    SPECIAL_TOKENS,
    loaded,
    normalizer_table,
    unigram_model,
)
from keras_bert.text.vocabulary import BYTE_PAIRS

CLASSES = {
    "xlm-roberta": "XLMRobertaTokenizer",
    "camembert": "CamembertTokenizer",
    "roberta": "RobertaTokenizer",
}
"""`{family: class of transformers}`."""
OF_ANY_KIND = ("", "PreTrainedTokenizer", "TokenizersBackend")
"""Names, without "Fast", of classes of transformers that their files define."""


def subword_family(name: str, folder: Path, fast: JsonFields) -> str | None:
    """Returns the `family` of a folder's tokenizer of the class `name`; None for WordPiece."""
    model = fast.fields("model")
    if name not in OF_ANY_KIND:
        return {theirs: family for family, theirs in CLASSES.items()}.get(name)
    if model.text("type") == "Unigram":
        first = (model.value("vocab") or [["<s>"]])[0][0]  # without one, `read_subwords` says so
        return {tokens[0]: family for family, tokens in FAMILIES.items()}.get(first)
    if (folder / MODEL_FILE).is_file():
        return "xlm-roberta"
    if model.text("type") == "BPE":
        added = {token.text("content") for token in fast.listed_fields("added_tokens")}
        splits_bytes = fast.fields("pre_tokenizer").text("type") == "ByteLevel"
        if splits_bytes and "[MASK]" in added:
            return "modernbert"
        return "roberta" if "<mask>" in model.fields("vocab").values else None
    has_files = all((folder / name).is_file() for name in ("vocab.json", "merges.txt"))
    return "roberta" if has_files and not model else None


def read_subwords(family: str, folder: Path, settings: JsonFields, fast: JsonFields) -> Any:
    """Returns the vocabulary of a folder's tokenizer, as its class takes it."""
    if family in BYTE_PAIRS:
        return _byte_pairs(folder, settings, fast)
    if (folder / MODEL_FILE).is_file():
        return (folder / MODEL_FILE).read_bytes()
    pieces = fast.fields("model").value("vocab")
    if not pieces:
        raise ValueError(f"neither {MODEL_FILE} nor tokenizer.json holds its pieces")
    return unigram_model((p for p in pieces if p[0] not in SPECIAL_TOKENS), _characters(fast))


def num_tokens(family: str, model: bytes) -> int:
    """Returns the number of tokens of a SentencePiece model with a family's special ones."""
    return loaded(model).get_piece_size() + len(FAMILIES[family]) - 2


def write_subwords(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes the files that programs other than transformers read."""
    if tokenizer.family not in BYTE_PAIRS:
        return tokenizer.save_assets(folder)
    contents = tokenizer.contents()
    write_json(folder / "vocab.json", contents["vocab"], indent=None)
    with whole_file(folder / "merges.txt") as file:
        file.write("#version: 0.2\n")
        file.writelines(f"{first} {second}\n" for first, second in contents["merges"])


def fast_subwords(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """Returns the parts of a `tokenizer.json` that depend on the algorithm; None for WordPiece."""
    if tokenizer.family in BYTE_PAIRS:
        return _fast_byte_pairs(tokenizer)
    return _fast_sentence_piece(tokenizer) if tokenizer.family in FAMILIES else None


def _fast_byte_pairs(tokenizer):
    contents = tokenizer.contents()
    contents.pop("added_tokens", None)
    normalizer = {"type": "NFC"} if contents.pop("nfc", False) else None
    level = {"type": "ByteLevel", "add_prefix_space": contents.pop("add_prefix_space")}
    level |= {"trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "unk_token": None, "byte_fallback": False, **contents}
    return {"normalizer": normalizer, "pre_tokenizer": level, "decoder": level, "model": model}


def _fast_sentence_piece(tokenizer):
    special = FAMILIES[tokenizer.family]
    vocab = [[token, 0.0] for token in special]
    vocab += tokenizer.pieces()
    vocab.append(["<mask>", 0.0])
    normalizer = None
    table = normalizer_table(tokenizer.proto)
    if table:
        encoded = base64.b64encode(table).decode()
        normalizer = {"type": "Precompiled", "precompiled_charsmap": encoded}
    words = {"type": "WhitespaceSplit"}
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    model = {"type": "Unigram", "unk_id": special.index("<unk>"), "vocab": vocab}
    return {
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, spaces]},
        "decoder": spaces,
        "model": {**model, "byte_fallback": False},
    }


def _byte_pairs(folder, settings, fast):
    model = fast.fields("model")
    splitter = fast.fields("pre_tokenizer")
    normalization = fast.fields("normalizer").text("type")
    if model:
        split = splitter.text("type")
        if split != "ByteLevel" or normalization not in (None, "NFC"):
            raise ValueError(
                f"it splits text with {split} after {normalization}; BytePairTokenizer supports "
                "only ByteLevel, perhaps after NFC"
            )
        vocab = model.value("vocab")
        merges = model.value("merges", [])
    else:
        vocab = read_json(folder / "vocab.json")
        lines = read_text(folder / "merges.txt").splitlines()
        merges = [line for line in lines if line and not line.startswith("#version")]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges]
    key = "add_prefix_space"
    adds_space = settings.boolean(key, splitter.boolean(key, False))
    return {"vocab": vocab, "merges": pairs, key: adds_space, "nfc": normalization == "NFC"}


def _characters(fast):
    """Returns the table that normalizes characters; a ValueError if other steps do."""
    normalizer = fast.fields("normalizer")
    splitter = fast.fields("pre_tokenizer")
    steps = [*normalizer.listed_fields("normalizers")] or [normalizer]
    splits = [*splitter.listed_fields("pretokenizers")] or [splitter]
    step_names = [str(step.text("type")) for step in steps]
    split_names = [str(split.text("type")) for split in splits]
    is_known = step_names in (["Precompiled"], ["Precompiled", "Replace"])
    if not is_known or split_names[-1] != "Metaspace":
        raise ValueError(
            f"it normalizes text with {', '.join(step_names)} and splits it with "
            f"{', '.join(split_names)}; SentencePieceTokenizer supports only Precompiled and "
            "Metaspace"
        )
    return base64.b64decode(steps[0].text("precompiled_charsmap", ""), validate=True)
