"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer.json`, `tokenizer_config.json`."""

from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.messages import logger
from keras_bert.presets.formats import hugging_face_subwords as subwords
from keras_bert.presets.formats.checkpoint import Checkpoint, explained
from keras_bert.text.base_tokenizer import Tokenizer, tokenizer_class
from keras_bert.text.vocabulary import (
    BYTE_PAIRS,
    SPECIAL_TOKENS_OF,
    is_uncased,
    read_lines,
)

_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_READS_ALL = "PreTrainedTokenizerFast"  # of tokenizer.json; others make their own normalizer
_CLASSES = {
    None: "BertTokenizer",
    "mpnet": "MPNetTokenizer",
    "modernbert": _READS_ALL,
    **subwords.CLASSES,
}
_SAME_AS_BERTS = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer")
_ADVICE = (
    "Pass your own preprocessor, from_preset(..., preprocessor=), or load only the encoder with "
    "BertBackbone.from_preset."
)


class _AddedToken(NamedTuple):
    """A token that is added to a vocabulary; a normalized one is found in any case."""

    content: str
    id: int
    is_normalized: bool = False
    is_plain: bool = True  # neither only a whole word, nor with the spaces around it


def read_tokenizer(
    folder: Path, rows: int = 2**20, lowercases: bool = False
) -> tuple[dict[str, Any], int]:
    """Reads the tokenizer of a Hugging Face folder, for a table of `rows`, which bound the ids.

    `lowercases` says that text is lowercased before. Returns the tokenizer's arguments, none
    without a vocabulary, and the longest sequence.
    """
    with explained(f"The tokenizer of {folder}", "can't be used", _ADVICE):
        settings = JsonFields(folder / "tokenizer_config.json")
        fast = JsonFields(folder / "tokenizer.json")
        added = _added_tokens(settings, fast, JsonFields(folder / "added_tokens.json"))
        name = settings.text("tokenizer_class", "").removesuffix("Fast")
        family = subwords.subword_family(name, folder, fast)
        if family:
            vocabulary = subwords.read_subwords(family, folder, settings, fast)
            arguments = _with_added_tokens(vocabulary, family, folder, added)
        else:
            arguments = _wordpieces(name, folder, settings, fast, added, rows)
        if lowercases and arguments and not arguments.get("lowercase"):
            raise ValueError("its model lowercases text, but has a cased vocabulary")
        return arguments, settings.integer("model_max_length", high=10**31) or 512


def _with_added_tokens(vocabulary, family, folder, added):
    """Returns the arguments of a tokenizer of subwords: byte pairs, or a SentencePiece model."""
    special = BYTE_PAIRS.get(family, subwords.SPECIAL_TOKENS)
    own = [token for token in added if token.content not in special]
    if family in BYTE_PAIRS:
        ids = {token.content: token.id for token in added}
        vocabulary["vocab"] = {**ids, **vocabulary["vocab"]}
        vocabulary["added_tokens"] = _whole(folder, own, ids, family)
        return {"vocabulary": vocabulary, "family": family}
    whole = {}
    if own:
        own.sort(key=lambda token: token.id)
        names = {token.content for token in own}
        first = subwords.num_tokens(family, vocabulary)
        follow = [token.id for token in own] == [*range(first, first + len(own))]
        whole = _whole(folder, own, names if follow else (), family)
    added_tokens = dict.fromkeys(whole, False)
    return {"vocabulary": vocabulary, "family": family, "added_tokens": added_tokens}


def write_tokenizer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes all that programs in Python, Rust and JavaScript look for."""
    tokenizer = checkpoint.own_tokenizer
    subwords.write_subwords(tokenizer, folder)
    fast = fast_tokenizer(tokenizer, checkpoint.sequence_length, checkpoint.truncation)
    write_json(folder / "tokenizer.json", fast)
    special = _own_special_tokens(tokenizer)
    write_json(folder / "special_tokens_map.json", special)
    settings = {
        "tokenizer_class": _CLASSES[tokenizer.family],
        "model_max_length": checkpoint.sequence_length,
        **special,
    }
    if tokenizer.family in BYTE_PAIRS:
        settings["add_prefix_space"] = tokenizer.add_prefix_space
    if "lowercase" in tokenizer.settings():
        settings |= {
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": _strips_accents(tokenizer),
            "tokenize_chinese_chars": True,
            "max_input_chars_per_word": tokenizer.max_word_characters,
        }
    if tokenizer.settings().get("nfc"):
        settings["tokenizer_class"] = _READS_ALL
    if tokenizer.family or not checkpoint.backbone.get("num_segments"):
        settings["model_input_names"] = ["input_ids", "attention_mask"]
    write_json(folder / "tokenizer_config.json", settings)


def fast_tokenizer(
    tokenizer: Tokenizer, sequence_length: int, truncation: str | None
) -> dict[str, Any]:
    """Describes a tokenizer in the format of Hugging Face `tokenizers`.

    It adds [CLS] and [SEP], cuts rows to `sequence_length` unless the `truncation` is
    `"head_tail"` or None, and pads a batch to its longest row. Unless it is `"longest_first"`, a
    pair of two long texts may keep one token more of the second than `SegmentPacker` keeps. A
    special token in a text is that token.
    """
    special = _own_special_tokens(tokenizer)
    cls = special["cls_token"]
    sep = special["sep_token"]
    single = [_template(cls), _template("A"), _template(sep)]
    segment = int(tokenizer.num_separators == 1)  # of a second text
    pair = single + [_template(sep)] * (tokenizer.num_separators - 1)
    pair += [_template("B", segment), _template(sep, segment)]
    added_tokens = []
    for token in (*special.values(), *tokenizer.added_tokens):
        includes_spaces = token == special["mask_token"] and tokenizer.family is not None
        added_tokens.append(
            {
                "id": tokenizer.token_to_id(token),
                "content": token,
                "single_word": False,
                "lstrip": includes_spaces,
                "rstrip": False,
                "normalized": tokenizer.added_tokens.get(token, False),
                "special": token not in tokenizer.added_tokens,
            }
        )
    cut = None
    if truncation not in ("head_tail", None):
        cut = {
            "direction": "Left" if truncation == "tail" else "Right",
            "max_length": sequence_length,
            "strategy": "LongestFirst",
            "stride": 0,
        }
    return {
        "version": "1.0",
        "truncation": cut,
        "padding": {
            "strategy": "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": tokenizer.pad_token_id,
            "pad_type_id": 0,
            "pad_token": special["pad_token"],
        },
        "added_tokens": sorted(added_tokens, key=lambda token: token["id"]),
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": {
                token: {"id": token, "ids": [tokenizer.token_to_id(token)], "tokens": [token]}
                for token in (cls, sep)
            },
        },
        **(subwords.fast_subwords(tokenizer) or _fast_wordpiece(tokenizer)),
    }


def _strips_accents(tokenizer):
    return None if tokenizer.strip_accents else False  # None is if it lowercases


def _fast_wordpiece(tokenizer):
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": _strips_accents(tokenizer),
        "lowercase": tokenizer.lowercase,
    }
    if tokenizer.nfc:
        normalizer = {"type": "Sequence", "normalizers": [{"type": "NFC"}, normalizer]}
    return {
        "normalizer": normalizer,
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


def _template(name, segment=0):
    """Returns a step of a row's template: a special token, or the text "A" or "B"."""
    step = "Sequence" if name in ("A", "B") else "SpecialToken"
    return {step: {"id": name, "type_id": segment}}


def _own_special_tokens(tokenizer):
    """Returns `{role: token}`."""
    return {role: tokenizer.id_to_token(getattr(tokenizer, f"{role}_id")) for role in _ROLES}


def _wordpieces(name, folder, settings, fast, added, rows):
    normalizer, steps = _normalizer(fast)
    _check_algorithm(name, folder, fast, normalizer)
    if name in subwords.OF_ANY_KIND:  # the model decides
        name = JsonFields(folder / "config.json").text("model_type", "")
    family = "mpnet" if name.lower().startswith("mpnet") else None
    special_map = JsonFields(folder / "special_tokens_map.json")
    special = _special_tokens(settings, special_map, SPECIAL_TOKENS_OF[family])
    vocabulary = _vocabulary(folder, fast, added, rows)
    if not vocabulary:
        return {}
    lowercase = _either("do_lower_case", settings, "lowercase", normalizer)
    if lowercase is None:
        lowercase = is_uncased(vocabulary)
    accents = _either("strip_accents", settings, "strip_accents", normalizer)
    chinese = _either("tokenize_chinese_chars", settings, "handle_chinese_chars", normalizer)
    strips_accents = accents is not False
    keeps_accents = not (lowercase and strips_accents)
    if steps - ({"NFC"} if keeps_accents else {"NFC", "NFD"}):
        _refuse(f"normalizes text with {', '.join(sorted(steps))}", "NFC and BertNormalizer")
    if accents and not lowercase:
        _refuse("has strip_accents=True with do_lower_case=False", "False")
    if chinese is False:
        _refuse("has tokenize_chinese_chars=False", "True")
    key = "max_input_chars_per_word"
    longest_word = fast.fields("model").integer(key, 100, low=1)
    known = set(vocabulary)
    renamed = {theirs: ours for theirs, ours in special.items() if ours not in known}
    others = [token for token in added if token.content not in special]
    whole = _whole(folder, others, known, family)
    return {
        "vocabulary": [renamed.get(token, token) for token in vocabulary],
        "lowercase": lowercase,
        "max_word_characters": settings.integer(key, longest_word, low=1),
        "family": family,
        "strip_accents": strips_accents or not lowercase,
        "added_tokens": {token: lowercase and in_any_case for token, in_any_case in whole.items()},
        "nfc": bool(steps) and keeps_accents,
    }


def _check_algorithm(name, folder, fast, normalizer):
    if name not in (*_SAME_AS_BERTS, *subwords.OF_ANY_KIND):
        _refuse(f"is a {name}", "BERT's algorithm")
    model = fast.fields("model").text("type", "WordPiece")
    if model != "WordPiece" and not (folder / "vocab.txt").is_file():
        _refuse(f"is of type {model}", "WordPiece")
    if name not in ("", *_SAME_AS_BERTS) and fast:
        first, second = [fast.fields(key).text("type") for key in ("normalizer", "pre_tokenizer")]
        if not normalizer or second != "BertPreTokenizer":
            _refuse(f"splits text with {first} and {second}", "BERT's own two steps")


def _normalizer(fast):
    """Returns the `BertNormalizer` of a `tokenizer.json`, and the types of the steps beside it."""
    normalizer = fast.fields("normalizer")
    steps = [*normalizer.listed_fields("normalizers")] or [normalizer]
    types = {step.text("type", "?"): step for step in steps if step}
    return types.pop("BertNormalizer", JsonFields(fast.path, {})), types.keys()


def _refuse(fault, supported):
    raise ValueError(f"it {fault}; BertTokenizer supports only {supported}")


def _either(key, settings, other_key, normalizer):
    """Returns a setting of either file; `null` in the first counts as a value, as it means None."""
    return settings.boolean(key) if key in settings.values else normalizer.boolean(other_key)


def _vocabulary(folder, fast, added, rows):
    """Returns tokens by id, from `vocab.txt` or else `tokenizer.json`, with added tokens."""
    if (folder / "vocab.txt").is_file():
        tokens = dict(enumerate(read_lines(file_in(folder, "vocab.txt"))))
    else:
        ids = fast.fields("model").fields("vocab")
        tokens = {ids.integer(token): token for token in ids.values}
        tokens.pop(None, None)
    if not tokens:
        return []
    for token in added:
        tokens.setdefault(token.id, token.content)
    last = max(tokens)
    if last > rows + 2**20:  # a smaller excess is compared with the table by the caller
        raise ValueError(
            f"its token {tokens[last][:80]!r} has id {last:,}, but the model's table has {rows:,} "
            "rows: they belong to different models"
        )
    return [tokens.get(index, "") for index in range(last + 1)]


def _whole(folder, added, known, family):
    """Returns the added tokens that can stay whole, and warns of those that will be split."""
    whole = {}
    split = []
    for token in added:
        has_text = token.content.strip() or family in BYTE_PAIRS  # to which spaces are text
        if token.is_plain and token.content in known and has_text:
            whole[token.content] = token.is_normalized
        else:
            split.append(token.content)
    if split:
        name = tokenizer_class(family).__name__
        message = "%s: %s were added to the vocabulary as unsplit tokens; %s splits them."
        logger.warning(message, folder, ", ".join(sorted(split)), name)
    return whole


def _added_tokens(settings, fast, file):
    decoder = settings.fields("added_tokens_decoder")
    listed = [(fields.integer("id"), fields) for fields in fast.listed_fields("added_tokens")]
    listed += [(int(index), decoder.fields(index)) for index in decoder.values]
    added = {token: _AddedToken(token, file.integer(token)) for token in file.values}
    for index, fields in listed:
        token = fields.text("content")
        flags = ("single_word", "lstrip", "rstrip")
        is_plain = not any(fields.boolean(flag, False) for flag in flags)
        added[token] = _AddedToken(token, index, fields.boolean("normalized", False), is_plain)
    return [token for token in added.values() if None not in (token.content, token.id)]


def _special_tokens(settings, special_map, own):
    """Returns `{their token: our token}` of [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    tokens = {}
    for role, ours in zip(_ROLES, own, strict=True):
        fields = special_map if role in special_map.values else settings
        if isinstance(fields.value(role), dict):
            fields = fields.fields(role)
            role = "content"
        tokens[fields.text(role) or ours] = ours
    return tokens
