"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer.json`, `tokenizer_config.json`."""

import logging
from pathlib import Path
from typing import Any

from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.presets.formats.checkpoint import Checkpoint, is_uncased, read_vocabulary
from keras_bert.presets.formats.hugging_face_byte_pairs import (
    fast_byte_pairs,
    read_byte_pairs,
    write_byte_pairs,
)
from keras_bert.presets.formats.hugging_face_sentence_piece import (
    fast_sentence_piece,
    read_sentence_piece,
    sentence_piece_family,
)
from keras_bert.text.base_tokenizer import Tokenizer, tokenizer_class
from keras_bert.text.sentence_piece import FAMILIES
from keras_bert.text.vocabulary import SPECIAL_TOKENS_OF

logger = logging.getLogger("keras_bert")

_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_CLASSES = {"xlm-roberta": "XLMRobertaTokenizer", "camembert": "CamembertTokenizer"}
_CLASSES |= {"roberta": "RobertaTokenizer", "mpnet": "MPNetTokenizer"}
# Classes of transformers with BERT's algorithm, and classes defined by tokenizer.json.
_SAME_AS_BERTS = (
    *("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast"),
    *("ElectraTokenizer", "ElectraTokenizerFast", "MPNetTokenizer", "MPNetTokenizerFast"),
)
_DEFINED_BY_FILE = ("PreTrainedTokenizerFast", "TokenizersBackend")


def read_tokenizer(
    folder: Path, rows: int = 2**20, lowercases: bool = False
) -> tuple[dict[str, Any], int]:
    """Reads the tokenizer of a Hugging Face folder, for a table of `rows`, which bound the ids.

    `lowercases` says that text is lowercased before. Returns the tokenizer's arguments, none
    without a vocabulary, and the longest sequence.
    """
    settings = JsonFields(folder / "tokenizer_config.json")
    fast = JsonFields(folder / "tokenizer.json")
    longest = int(min(settings.integer("model_max_length", high=10**31) or 512, 1 << 30))
    family = sentence_piece_family(folder, settings, fast)
    read = read_sentence_piece(folder, fast) if family else read_byte_pairs(folder, settings, fast)
    if read:
        if lowercases:
            raise ValueError(f"{folder} lowercases text, but has a cased vocabulary.")
        added = _added_tokens(settings, fast, JsonFields(folder / "added_tokens.json"))
        known = {"<mask>", *(token for tokens in FAMILIES.values() for token in tokens)}
        kind = tokenizer_class(family or "roberta").__name__
        _warn_of(folder, {*added} - known, kind)
        return {"vocabulary": read, "family": family or "roberta"}, longest
    normalizer = fast.fields("normalizer")
    _check_algorithm(folder, settings, fast)
    kind = settings.text("tokenizer_class", "")
    if kind in ("", *_DEFINED_BY_FILE):  # the model decides
        kind = JsonFields(folder / "config.json").text("model_type", "")
    family = "mpnet" if kind.lower().startswith("mpnet") else None
    own = SPECIAL_TOKENS_OF[family]
    special = _special_tokens(settings, JsonFields(folder / "special_tokens_map.json"), own)
    vocabulary = _vocabulary(folder, settings, fast, special, rows)
    if not vocabulary:
        return {}, 512
    lowercase = _either("do_lower_case", settings, "lowercase", normalizer)
    if lowercase is None:
        lowercase = is_uncased(vocabulary)
    accents = _either("strip_accents", settings, "strip_accents", normalizer)
    chinese = _either("tokenize_chinese_chars", settings, "handle_chinese_chars", normalizer)
    if lowercases and not lowercase:
        raise ValueError(f"{folder} lowercases text, but has a cased vocabulary.")
    for key, value, only in (
        ("strip_accents", accents, lowercase),
        ("tokenize_chinese_chars", chinese, True),
    ):
        if value is not None and bool(value) != only:
            _refuse(folder, f"has {key}={value} with do_lower_case={lowercase}", f"{key}={only}")
    key = "max_input_chars_per_word"
    longest_word = fast.fields("model").integer(key, 100, low=1)
    longest_word = settings.integer(key, longest_word, low=1)
    known = set(vocabulary)
    renamed = {theirs: ours for theirs, ours in special.items() if ours not in known}
    vocabulary = [renamed.get(token, token) for token in vocabulary]
    arguments = {"family": family} if family else {}
    arguments |= {"lowercase": lowercase, "max_word_characters": longest_word}
    return {"vocabulary": vocabulary, **arguments}, longest


def write_tokenizer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes all that programs in Python, Rust and JavaScript look for."""
    tokenizer = checkpoint.own_tokenizer
    if tokenizer.family == "roberta":
        write_byte_pairs(tokenizer, folder)
        more = {"add_prefix_space": tokenizer.add_prefix_space}
    else:
        tokenizer.save_assets(folder)
        more = {}
    fast = fast_tokenizer(tokenizer, checkpoint.sequence_length, checkpoint.truncation)
    special = {role: tokenizer.id_to_token(id) for role, id in _special_ids(tokenizer).items()}
    write_json(folder / "tokenizer.json", fast)
    write_json(folder / "special_tokens_map.json", special)
    settings = {
        "tokenizer_class": _CLASSES.get(tokenizer.family, "BertTokenizer"),
        "model_max_length": checkpoint.sequence_length,
        **special,
        **more,
    }
    if "lowercase" in tokenizer.settings():
        settings |= {
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": None,
            "tokenize_chinese_chars": True,
            "max_input_chars_per_word": tokenizer.max_word_characters,
        }
    if tokenizer.family or not checkpoint.backbone["num_segments"]:
        settings["model_input_names"] = ["input_ids", "attention_mask"]
    write_json(folder / "tokenizer_config.json", settings)


def fast_tokenizer(
    tokenizer: Tokenizer, sequence_length: int, truncation: str | None
) -> dict[str, Any]:
    """Describes a tokenizer in the format of Hugging Face `tokenizers`.

    It adds [CLS] and [SEP], cuts rows to `sequence_length` if the `truncation` is `"head"` or
    `"tail"`, and pads a batch to its longest row. A pair of two long texts may keep one token more
    of the second than `SegmentPacker` keeps. A special token in a text is that token.
    """
    ids = _special_ids(tokenizer)
    cls, sep, pad = (tokenizer.id_to_token(ids[f"{n}_token"]) for n in ("cls", "sep", "pad"))
    as_it_is = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    direction = {"head": "Right", "tail": "Left"}.get(truncation)
    cut = {"max_length": sequence_length, "strategy": "LongestFirst", "stride": 0}
    second = int(tokenizer.num_separators == 1)  # the segment of a second text
    row = [("SpecialToken", cls, 0), ("Sequence", "A", 0), ("SpecialToken", sep, 0)]
    pair = [("SpecialToken", sep, 0)] * (tokenizer.num_separators - 1)
    pair += [("Sequence", "B", second), ("SpecialToken", sep, second)]
    single, pair = (
        [{kind: {"id": name, "type_id": segment}} for kind, name, segment in parts]
        for parts in (row, [*row, *pair])
    )
    return {
        "version": "1.0",
        "truncation": direction and {"direction": direction, **cut},
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": tokenizer.pad_token_id,
            "pad_type_id": 0,
            "pad_token": pad,
        },
        "added_tokens": [
            {"id": id, "content": tokenizer.id_to_token(id), **as_it_is, "special": True}
            for id in sorted(ids.values())
        ],
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": {
                token: {"id": token, "ids": [tokenizer.token_to_id(token)], "tokens": [token]}
                for token in (cls, sep)
            },
        },
        **_FAST.get(tokenizer.family, fast_sentence_piece)(tokenizer),
    }


def _fast_wordpiece(tokenizer):
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": tokenizer.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": tokenizer.id_to_token(tokenizer.unk_token_id),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": tokenizer.max_word_characters,
            "vocab": {token: id for id, token in enumerate(tokenizer.get_vocabulary())},
        },
    }


_FAST = {None: _fast_wordpiece, "mpnet": _fast_wordpiece, "roberta": fast_byte_pairs}


def _special_ids(tokenizer):
    """Returns the id of each special token, by transformers' name of its role."""
    return {role: getattr(tokenizer, f"{role}_id") for role in _ROLES}


def _check_algorithm(folder, settings, fast):
    kind = settings.text("tokenizer_class") or _SAME_AS_BERTS[0]
    if kind not in (*_SAME_AS_BERTS, *_DEFINED_BY_FILE):
        _refuse(folder, f"is a {kind}", "BERT's algorithm")
    model = fast.fields("model").text("type", "WordPiece")
    if model != "WordPiece" and not (folder / "vocab.txt").is_file():
        _refuse(folder, f"is of type {model}", "WordPiece")
    if kind in _DEFINED_BY_FILE and fast:
        steps = [fast.fields(key).text("type") for key in ("normalizer", "pre_tokenizer")]
        if steps != ["BertNormalizer", "BertPreTokenizer"]:
            _refuse(folder, f"splits text with {steps[0]} and {steps[1]}", "BERT's own two steps")


def _refuse(folder, found, supported):
    raise ValueError(
        f"the tokenizer of {folder} {found}; BertTokenizer supports only {supported}. Pass your "
        "own preprocessor, from_preset(..., preprocessor=), or load only the encoder with "
        "BertBackbone.from_preset."
    )


def _either(key, settings, other_key, normalizer):
    """Returns a setting of either file; `null` in the first counts as a value, as it means None."""
    return settings.boolean(key) if key in settings.values else normalizer.boolean(other_key)


def _vocabulary(folder, settings, fast, special, rows):
    """Returns tokens by id, from `vocab.txt` or else `tokenizer.json`, with added tokens."""
    added = _added_tokens(settings, fast, JsonFields(folder / "added_tokens.json"))
    if (folder / "vocab.txt").is_file():
        tokens = dict(enumerate(read_vocabulary(folder / "vocab.txt")))
    else:
        ids = fast.fields("model").fields("vocab")
        tokens = {ids.integer(token): token for token in ids.values}
        tokens.pop(None, None)
    if not tokens:
        return []
    _warn_of(folder, set(added) - set(tokens.values()) - set(special), "BertTokenizer")
    for token, index in added.items():
        tokens.setdefault(index, token)
    last = max(tokens)
    if last > rows + 2**20:  # a smaller excess is compared with the table by the caller
        raise ValueError(
            f"{folder}: the token {tokens[last][:80]!r} has id {last:,}, but the model's table has "
            f"{rows:,} rows: they belong to different models."
        )
    return [tokens.get(index, "") for index in range(last + 1)]


def _warn_of(folder, whole, kind):
    """Warns of tokens that are never split there, and are here."""
    if whole:
        message = "%s: %s were added to the vocabulary as unsplit tokens; %s splits them."
        logger.warning(message, folder, ", ".join(sorted(whole)), kind)


def _added_tokens(settings, fast, file):
    added = {}
    for token in fast.listed_fields("added_tokens"):
        added[token.text("content")] = token.integer("id")
    decoder = settings.fields("added_tokens_decoder")
    for index in decoder.values:
        if not (index.isdecimal() and len(index) < 10):
            raise decoder.error(index, "named by an id", index)
        added[decoder.fields(index).text("content")] = int(index)
    added |= {token: file.integer(token) for token in file.values}
    return {token: index for token, index in added.items() if None not in (token, index)}


def _special_tokens(settings, special_map, own):
    """Returns `{their token: our token}` of [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    tokens = {}
    for role, ours in zip(_ROLES, own, strict=True):
        fields = special_map if role in special_map.values else settings
        if isinstance(fields.value(role), dict):
            role, fields = "content", fields.fields(role)
        tokens[fields.text(role) or ours] = ours
    return tokens
