"""SentencePiece tokenizers of Hugging Face folders, as a model or as a `tokenizer.json`."""

import base64
import binascii
from pathlib import Path
from typing import Any

from keras_bert.files.json_files import JsonFields
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.sentence_piece import FAMILIES, MODEL_FILE, unigram_model


def sentence_piece_family(folder: Path, settings: JsonFields, fast: JsonFields) -> str | None:
    """Returns the `family` of a folder's `SentencePieceTokenizer`; None if it has another."""
    kind = settings.text("tokenizer_class", "").removesuffix("Fast")
    names = {"XLMRobertaTokenizer": "xlm-roberta", "CamembertTokenizer": "camembert"}
    if kind in names:
        return names[kind]
    is_unigram = fast.fields("model").text("type") == "Unigram"
    if kind not in ("", "PreTrainedTokenizer", "TokenizersBackend") or not (
        is_unigram or (folder / MODEL_FILE).is_file()
    ):
        return None
    families = {tokens[0]: family for family, tokens in FAMILIES.items()}
    return families.get(_pieces(fast)[0][0] if is_unigram else "<s>")


def read_sentence_piece(folder: Path, fast: JsonFields) -> bytes:
    """Returns the SentencePiece model of a folder, made from its `tokenizer.json` if need be."""
    if (folder / MODEL_FILE).is_file():
        return (folder / MODEL_FILE).read_bytes()
    special = {"<mask>", *(token for tokens in FAMILIES.values() for token in tokens)}
    return unigram_model((p for p in _pieces(fast) if p[0] not in special), _characters(fast))


def fast_sentence_piece(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns the parts of a `tokenizer.json` that a SentencePiece model decides on."""
    special = FAMILIES[tokenizer.family]
    words = {"type": "WhitespaceSplit"}
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    characters = base64.b64encode(tokenizer.characters()).decode() or None
    return {
        "normalizer": characters and {"type": "Precompiled", "precompiled_charsmap": characters},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [words, spaces],
        },
        "decoder": spaces,
        "model": {
            "type": "Unigram",
            "unk_id": special.index("<unk>"),
            "vocab": [*([token, 0.0] for token in special), *tokenizer.pieces(), ["<mask>", 0.0]],
            "byte_fallback": False,
        },
    }


def _pieces(fast):
    """Returns the `[token, score]` of a `tokenizer.json`, by id."""
    pieces = fast.fields("model").value("vocab")
    are_right = isinstance(pieces, list) and all(
        isinstance(piece, list) and [*map(type, piece)] in ([str, float], [str, int])
        for piece in pieces
    )
    if not are_right or not pieces:
        raise ValueError(f"{fast.path} has no list of pieces with their scores.")
    return pieces


def _characters(fast):
    """Returns the table that normalizes characters; a ValueError if other steps do."""
    normalizer, splitter = fast.fields("normalizer"), fast.fields("pre_tokenizer")
    steps = [*normalizer.listed_fields("normalizers")] or [normalizer]
    splits = [*splitter.listed_fields("pretokenizers")] or [splitter]
    kinds = [[step.text("type") for step in each] for each in (steps, splits)]
    known = (["Precompiled"], ["Precompiled", "Replace"])
    if kinds[0] not in known or kinds[1][-1] != "Metaspace":
        raise ValueError(
            f"{fast.path} normalizes text with {', '.join(map(str, kinds[0]))} and splits it with "
            f"{', '.join(map(str, kinds[1]))}; SentencePieceTokenizer supports only Precompiled "
            "and Metaspace. Pass your own preprocessor, from_preset(..., preprocessor=), or load "
            "only the encoder with BertBackbone.from_preset."
        )
    try:
        return base64.b64decode(steps[0].text("precompiled_charsmap", ""), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{fast.path} has a damaged precompiled_charsmap: {error}.") from error
