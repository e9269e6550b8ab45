"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer.json`, `tokenizer_config.json`.

A `BertTokenizer` reads a vocabulary of WordPiece if its tokens are exactly those of the folder's
tokenizer; a `FastTokenizer` reads every other `tokenizer.json`.
"""

from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.files.given import file_in
from keras_bert.files.json_files import JsonFields, write_json
from keras_bert.presets.formats.checkpoint import Checkpoint, explained
from keras_bert.text.base_tokenizer import Tokenizer
from keras_bert.text.vocabulary import (
    SPECIAL_TOKENS_OF,
    TOKENIZER_FILE,
    is_uncased,
    read_lines,
)

_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_ANY_CLASS = "PreTrainedTokenizer"  # without "Fast", which reads any tokenizer.json
_OF_ANY_KIND = ("", _ANY_CLASS, "TokenizersBackend")
_SAME_AS_BERTS = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer")
_CASING = {  # of tokenizer_config.json and of a BertNormalizer
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
_LONGEST = ("model_max_length", "max_len")  # the latter of old versions
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


class _OtherTokens(Exception):
    """Says why a `BertTokenizer` would have other tokens than a folder's tokenizer."""


def read_tokenizer(
    folder: Path, rows: int = 2**20, lowercases: bool = False
) -> tuple[dict[str, Any], int, str]:
    """Reads the tokenizer of a Hugging Face folder, for a table of `rows`, which bound the ids.

    `lowercases` says that text is lowercased before. Returns the tokenizer's arguments, none
    without a vocabulary, the longest sequence, and the truncation.
    """
    source = f"The tokenizer of {folder}"
    with explained(source, "can't be used", _ADVICE):
        files = _Files(folder)
        try:
            arguments = _wordpieces(files, rows)
        except _OtherTokens as difference:
            if not files.model:
                raise ValueError(
                    f"{source} can't be used: it {difference}, and has no {TOKENIZER_FILE}. These "
                    "lines make one, with the packages transformers, sentencepiece and protobuf:\n"
                    "    from transformers import AutoTokenizer\n"
                    f"    AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained("
                    f"{str(folder)!r})\n{_ADVICE}"
                ) from None
            arguments = _fast(files)
        if lowercases and arguments and not files.lowercases(arguments):
            raise ValueError("its model lowercases text, but has a cased vocabulary")
        lengths = [files.settings.integer(key, high=10**31) for key in _LONGEST]
        side = files.settings.text("truncation_side")
        side = side or files.fast.fields("truncation").text("direction", "")
        truncation = "tail" if side.lower() == "left" else "longest_first"
        return arguments, lengths[0] or lengths[1] or 512, truncation


class _Files:
    """What the files of a folder say of its tokenizer."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.settings = JsonFields(folder / "tokenizer_config.json")
        self.fast = JsonFields(folder / TOKENIZER_FILE)
        self.model = self.fast.fields("model")
        self.class_name = self.settings.text("tokenizer_class", "").removesuffix("Fast")
        self.added = _added_tokens(
            self.settings, self.fast, JsonFields(folder / "added_tokens.json")
        )
        steps = self.fast.fields("normalizer")
        steps = [*steps.listed_fields("normalizers")] or [steps]
        self.steps = {step.text("type", "?"): step for step in steps if step}
        self.normalizer = self.steps.pop("BertNormalizer", JsonFields(self.fast.path, {}))

    def casing(self, settings: JsonFields) -> list[bool | None]:
        """Returns the values of `_CASING` in settings, `null` too, or else in the normalizer."""
        values = []
        for key, other_key in _CASING.items():
            is_set = key in settings.values
            values.append(settings.boolean(key) if is_set else self.normalizer.boolean(other_key))
        return values

    def special_tokens(self) -> dict[str, str | None]:
        """Returns `{role: token}`, or None for one that isn't named."""
        special_map = JsonFields(self.folder / "special_tokens_map.json")
        tokens = {}
        for role in _ROLES:
            fields = special_map if role in special_map.values else self.settings
            key = role
            if isinstance(fields.value(role), dict):
                fields = fields.fields(role)
                key = "content"
            tokens[role] = fields.text(key)
        return tokens

    def lowercases(self, arguments: dict[str, Any]) -> bool:
        """Returns whether a tokenizer with these arguments lowercases text."""
        if "lowercase" in arguments:
            return arguments["lowercase"]
        return self.normalizer.boolean("lowercase", False) or "Lowercase" in self.steps


def _fast(files):
    """Returns the arguments of a `FastTokenizer`."""
    vocab = files.model.value("vocab", {})
    if isinstance(vocab, list):
        vocab = dict(vocab)
    known = {token.text("content") for token in files.fast.listed_fields("added_tokens")}
    splitter = files.fast.fields("pre_tokenizer")
    spaces = splitter.boolean("add_prefix_space"), files.settings.boolean("add_prefix_space")
    faults = [token.content for token in files.added if token.content not in known | vocab.keys()]
    without_settings = files.casing(JsonFields(files.settings.path, {}))
    is_same = _effective(files.casing(files.settings)) == _effective(without_settings)
    if files.normalizer and not is_same:
        faults += list(_CASING)
    if None not in spaces and spaces[0] != spaces[1]:
        faults.append("add_prefix_space")
    if faults:
        raise ValueError(
            f"its tokenizer_config.json has {', '.join(faults)} other than {TOKENIZER_FILE}: load "
            "it with transformers' AutoTokenizer, and save it again"
        )
    special = files.special_tokens()
    arguments = {role: special[role] for role in ("pad_token", "unk_token", "mask_token")}
    return {"vocabulary": str(file_in(files.folder, TOKENIZER_FILE)), **arguments}


def _effective(casing):
    """Returns casing with the defaults of a `BertNormalizer`."""
    lowercase, accents, chinese = casing
    return lowercase, lowercase if accents is None else accents, chinese is not False


def write_tokenizer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes all that programs in Python, Rust and JavaScript look for."""
    tokenizer = checkpoint.own_tokenizer
    write_tokenizer_json(tokenizer, checkpoint.sequence_length, checkpoint.truncation, folder)
    special = _own_special_tokens(tokenizer)
    write_json(folder / "special_tokens_map.json", special)
    settings = {
        "tokenizer_class": f"{_ANY_CLASS}Fast",
        "model_max_length": checkpoint.sequence_length,
        **special,
    }
    if tokenizer.asset != TOKENIZER_FILE:
        settings |= {
            "tokenizer_class": "MPNetTokenizer" if tokenizer.family else "BertTokenizer",
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": _strips_accents(tokenizer),
            "tokenize_chinese_chars": True,
            "max_input_chars_per_word": tokenizer.max_word_characters,
        }
    if tokenizer.num_separators == 2 or not checkpoint.backbone.get("num_segments"):
        settings["model_input_names"] = ["input_ids", "attention_mask"]
    write_json(folder / "tokenizer_config.json", settings)


def write_tokenizer_json(
    tokenizer: Tokenizer, sequence_length: int, truncation: str | None, folder: Path
) -> None:
    """Writes the vocabulary, and a `tokenizer.json`: that of a `FastTokenizer` is unchanged.

    Of WordPiece, it adds [CLS] and [SEP], cuts rows to `sequence_length` unless the `truncation` is
    `"head_tail"` or None, and pads a batch to its longest row. Unless it is `"longest_first"`, a
    pair of two long texts may keep one token more of the second than `SegmentPacker` keeps. A
    special token in a text is that token.
    """
    tokenizer.save_assets(folder)
    if tokenizer.asset == TOKENIZER_FILE:
        return
    from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    special = _own_special_tokens(tokenizer)
    cls = special["cls_token"]
    sep = special["sep_token"]
    fast = HuggingFaceTokenizer(
        models.WordPiece(
            {token: id for id, token in enumerate(tokenizer.get_vocabulary())},
            unk_token=special["unk_token"],
            max_input_chars_per_word=tokenizer.max_word_characters,
        )
    )
    fast.normalizer = normalizers.BertNormalizer(
        lowercase=tokenizer.lowercase, strip_accents=_strips_accents(tokenizer)
    )
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.decoder = decoders.WordPiece()
    segment = int(tokenizer.num_separators == 1)  # of a second text
    between = [sep] * tokenizer.num_separators
    fast.post_processor = processors.TemplateProcessing(
        single=[cls, "$A", sep],
        pair=[cls, "$A", *between, f"$B:{segment}", f"{sep}:{segment}"],
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)],
    )
    for token in special.values():
        takes_spaces = token == special["mask_token"] and tokenizer.family is not None
        fast.add_special_tokens([AddedToken(token, lstrip=takes_spaces, normalized=False)])
    added = tokenizer.added_tokens.items()
    fast.add_tokens([AddedToken(token, normalized=is_normalized) for token, is_normalized in added])
    fast.enable_padding(pad_id=tokenizer.pad_token_id, pad_token=special["pad_token"])
    if truncation not in ("head_tail", None):
        direction = "left" if truncation == "tail" else "right"
        fast.enable_truncation(sequence_length, direction=direction)
    fast.save(str(folder / TOKENIZER_FILE))


def _strips_accents(tokenizer):
    return None if tokenizer.strip_accents else False  # None is if it lowercases


def _own_special_tokens(tokenizer):
    """Returns `{role: token}`."""
    return {role: tokenizer.id_to_token(getattr(tokenizer, f"{role}_id")) for role in _ROLES}


def _wordpieces(files, rows):
    """Returns the arguments of a `BertTokenizer`; none without a vocabulary."""
    name = files.class_name
    _check_algorithm(files, name)
    if name in _OF_ANY_KIND:  # the model decides
        name = JsonFields(files.folder / "config.json").text("model_type", "")
    family = "mpnet" if name.lower().startswith("mpnet") else None
    vocabulary = _vocabulary(files, rows)
    if not vocabulary:
        others = [*files.folder.glob("*.model"), *files.folder.glob("vocab.json")]
        if others:  # of SentencePiece, or of byte pairs
            raise _OtherTokens(f"is in {others[0].name}")
        return {}
    lowercase, accents, chinese = files.casing(files.settings)
    if lowercase is None:
        lowercase = is_uncased(vocabulary)
    strips_accents = accents is not False
    allowed = {"NFC", "NFD"} if lowercase and strips_accents else set()
    if files.steps.keys() - allowed:
        raise _OtherTokens(f"normalizes text with {', '.join(files.steps)}")
    if accents and not lowercase:
        raise _OtherTokens("has strip_accents=True with do_lower_case=False")
    if chinese is False:
        raise _OtherTokens("has tokenize_chinese_chars=False")
    if files.normalizer.boolean("clean_text") is False:
        raise _OtherTokens("has clean_text=False")
    special = {}
    named = files.special_tokens().values()
    for theirs, ours in zip(named, SPECIAL_TOKENS_OF[family], strict=True):
        special[theirs or ours] = ours
    known = set(vocabulary)
    added_tokens = {}
    for token in files.added:
        if token.content in special:
            continue
        if not token.is_plain or not token.content.strip() or token.content not in known:
            raise _OtherTokens(f"has an added token {token.content!r} of an unknown kind")
        added_tokens[token.content] = lowercase and token.is_normalized
    renamed = {theirs: ours for theirs, ours in special.items() if ours not in known}
    key = "max_input_chars_per_word"
    longest_word = files.model.integer(key, 100, low=1)
    return {
        "vocabulary": [renamed.get(token, token) for token in vocabulary],
        "lowercase": lowercase,
        "max_word_characters": files.settings.integer(key, longest_word, low=1),
        "family": family,
        "strip_accents": strips_accents or not lowercase,
        "added_tokens": added_tokens,
        "strip_private_use": True,
    }


def _check_algorithm(files, name):
    if name not in (*_SAME_AS_BERTS, *_OF_ANY_KIND):
        raise _OtherTokens(f"is a {name}")
    if not files.model:
        return
    has_words = isinstance(files.model.value("vocab"), dict) and "merges" not in files.model
    model = files.model.text("type", "WordPiece" if has_words else "?")
    if model != "WordPiece":
        raise _OtherTokens(f"is of type {model}")
    splitter = files.fast.fields("pre_tokenizer").text("type")
    if name in _OF_ANY_KIND and (not files.normalizer or splitter != "BertPreTokenizer"):
        raise _OtherTokens(f"normalizes text with {', '.join(files.steps)} and splits it otherwise")


def _vocabulary(files, rows):
    """Returns tokens by id, from `vocab.txt` or else `tokenizer.json`, with added tokens."""
    if (files.folder / "vocab.txt").is_file():
        tokens = dict(enumerate(read_lines(file_in(files.folder, "vocab.txt"))))
    else:
        ids = files.model.fields("vocab")
        tokens = {ids.integer(token): token for token in ids.values}
        tokens.pop(None, None)
    if not tokens:
        return []
    for token in files.added:
        tokens.setdefault(token.id, token.content)
    last = max(tokens)
    if last > rows + 2**20:  # a smaller excess is compared with the table by the caller
        raise ValueError(
            f"its token {tokens[last][:80]!r} has id {last:,}, but the model's table has {rows:,} "
            "rows: they belong to different models"
        )
    return [tokens.get(index, "") for index in range(last + 1)]


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
