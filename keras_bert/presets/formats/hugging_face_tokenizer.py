"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer_config.json`, `tokenizer.json`."""

import logging
from pathlib import Path

from keras_bert.files.json_files import read_json, write_json
from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.formats.vocabulary import is_uncased, read_vocabulary
from keras_bert.text.vocabulary import write_vocabulary

logger = logging.getLogger("keras_bert")

_SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# Classes of transformers with BERT's algorithm, and classes defined by tokenizer.json.
_SAME_AS_BERTS = (
    *("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast"),
    *("ElectraTokenizer", "ElectraTokenizerFast"),
)
_DEFINED_BY_FILE = ("PreTrainedTokenizerFast", "TokenizersBackend")


def read_tokenizer(folder: Path) -> tuple[list[str] | None, dict, int]:
    """Reads the tokenizer of a Hugging Face folder.

    Args:
        folder: a `Path`.

    Returns:
        `(vocabulary, arguments, longest)`: the tokens by id, or None if the folder has no
        vocabulary; the other arguments of `BertTokenizer`; and the maximum length of a sequence.

    Raises:
        ValueError: if `BertTokenizer` doesn't support the algorithm, or a file is broken.
    """
    settings = read_json(folder / "tokenizer_config.json")
    fast = read_json(folder / "tokenizer.json")
    special = _special_tokens({**settings, **read_json(folder / "special_tokens_map.json")})
    normalizer = fast.get("normalizer") or {}
    _check_algorithm(folder, settings, fast)
    vocabulary = _vocabulary(folder, settings, fast, special)
    if not vocabulary:
        return None, {}, 512
    lowercase = settings.get("do_lower_case", normalizer.get("lowercase"))
    if lowercase is None:
        lowercase = is_uncased(vocabulary)
    accents = settings.get("strip_accents", normalizer.get("strip_accents"))
    chinese = settings.get("tokenize_chinese_chars", normalizer.get("handle_chinese_chars"))
    for key, value, only in (
        ("strip_accents", accents, lowercase),
        ("tokenize_chinese_chars", chinese, True),
    ):
        if value is not None and bool(value) != only:
            _refuse(folder, f"has {key}={value} with do_lower_case={lowercase}", f"{key}={only}")
    tokenizer = {
        "lowercase": lowercase,
        "max_word_characters": settings.get(
            "max_input_chars_per_word",
            (fast.get("model") or {}).get("max_input_chars_per_word", 100),
        ),
    }
    longest = settings.get("model_max_length") or 512
    known = set(vocabulary)
    vocabulary = [
        special[token] if token in special and special[token] not in known else token
        for token in vocabulary
    ]
    return vocabulary, tokenizer, int(min(longest, 1 << 30))


def write_tokenizer(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes `vocab.txt` and `tokenizer_config.json`."""
    write_vocabulary(folder / "vocab.txt", checkpoint.vocabulary)
    settings = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": checkpoint.tokenizer["lowercase"],
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "model_max_length": checkpoint.sequence_length,
        "max_input_chars_per_word": checkpoint.tokenizer["max_word_characters"],
        **_SPECIAL_TOKENS,
    }
    write_json(folder / "tokenizer_config.json", settings)


def _check_algorithm(folder, settings, fast):
    kind = settings.get("tokenizer_class") or _SAME_AS_BERTS[0]
    if kind not in (*_SAME_AS_BERTS, *_DEFINED_BY_FILE):
        _refuse(folder, f"is a {kind}", "BERT's algorithm")
    model = (fast.get("model") or {}).get("type", "WordPiece")
    if model != "WordPiece" and not (folder / "vocab.txt").is_file():
        _refuse(folder, f"is of type {model}", "WordPiece")
    if kind in _DEFINED_BY_FILE and fast:
        steps = [(fast.get(key) or {}).get("type") for key in ("normalizer", "pre_tokenizer")]
        if steps != ["BertNormalizer", "BertPreTokenizer"]:
            _refuse(folder, f"splits text with {steps[0]} and {steps[1]}", "BERT's own two steps")


def _refuse(folder, found, supported):
    raise ValueError(
        f"the tokenizer of {folder} {found}; BertTokenizer supports only {supported}. Pass your "
        "own preprocessor, from_preset(..., preprocessor=), or load only the encoder with "
        "BertBackbone.from_preset and prepare the tokens yourself."
    )


def _vocabulary(folder, settings, fast, special):
    """Returns tokens by id, from `vocab.txt` or else `tokenizer.json`, with added tokens."""
    added = {token["content"]: token["id"] for token in fast.get("added_tokens") or ()}
    for index, token in (settings.get("added_tokens_decoder") or {}).items():
        added[token["content"]] = int(index)
    added |= read_json(folder / "added_tokens.json")
    ids = (fast.get("model") or {}).get("vocab") or {}
    tokens = {index: token for token, index in ids.items()}
    if (folder / "vocab.txt").is_file():
        tokens = dict(enumerate(read_vocabulary(folder / "vocab.txt")))
    if not tokens:
        return []
    whole = set(added) - set(tokens.values()) - set(special)
    if whole:
        logger.warning(
            "%s: %s were added to the vocabulary as unsplit tokens; BertTokenizer splits them like "
            "other text.",
            folder,
            ", ".join(sorted(whole)),
        )
    for token, index in added.items():
        tokens.setdefault(index, token)
    return [tokens.get(index, "") for index in range(max(tokens) + 1)]


def _special_tokens(special):
    """Returns `{their token: our token}` of [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    tokens = {}
    for role, ours in _SPECIAL_TOKENS.items():
        theirs = special.get(role) or ours
        tokens[theirs["content"] if isinstance(theirs, dict) else theirs] = ours
    return tokens
