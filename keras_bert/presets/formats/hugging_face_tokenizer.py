"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer_config.json`, `tokenizer.json`."""

import logging

from keras_bert.files.json_files import read_json, write_json
from keras_bert.presets.formats.vocabulary import is_uncased, read_vocabulary, write_vocabulary

logger = logging.getLogger("keras_bert")

_SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# Classes of transformers that cut text as BERT does, and those that do what tokenizer.json says.
_SAME_AS_BERTS = (
    *("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast"),
    *("ElectraTokenizer", "ElectraTokenizerFast"),
)
_WHAT_THE_FILE_SAYS = ("PreTrainedTokenizerFast", "TokenizersBackend")


def read_tokenizer(folder):
    """What a Hugging Face folder says of its tokenizer.

    Args:
        folder: a path.

    Returns:
        `(vocabulary, arguments, longest)`: tokens by id, or None where the folder has none; the
        other arguments of `BertTokenizer`; and how many tokens a sequence may have.

    Raises:
        ValueError: if it cuts text in a way that `BertTokenizer` can't, or a file is broken.
    """
    settings = read_json(folder / "tokenizer_config.json")
    fast = read_json(folder / "tokenizer.json")
    special = _of_roles({**settings, **read_json(folder / "special_tokens_map.json")})
    normalizer = fast.get("normalizer") or {}
    _refuse_other_algorithms(folder, settings, fast)
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


def write_tokenizer(checkpoint, folder):
    """Writes `vocab.txt` and `tokenizer_config.json`."""
    write_vocabulary(checkpoint.vocabulary, folder / "vocab.txt")
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


def _refuse_other_algorithms(folder, settings, fast):
    kind = settings.get("tokenizer_class") or _SAME_AS_BERTS[0]
    if kind not in (*_SAME_AS_BERTS, *_WHAT_THE_FILE_SAYS):
        _refuse(folder, f"is a {kind}", "the algorithm of BERT")
    model = (fast.get("model") or {}).get("type", "WordPiece")
    if model != "WordPiece" and not (folder / "vocab.txt").is_file():
        _refuse(folder, f"is of type {model}", "WordPiece")
    if kind in _WHAT_THE_FILE_SAYS and fast:
        steps = [(fast.get(key) or {}).get("type") for key in ("normalizer", "pre_tokenizer")]
        if steps != ["BertNormalizer", "BertPreTokenizer"]:
            _refuse(folder, f"cuts text by {steps[0]} and {steps[1]}", "BERT's own two steps")


def _refuse(folder, what, ours):
    raise ValueError(
        f"the tokenizer of {folder} {what}; BertTokenizer has {ours} there. Give one that suits, "
        "from_preset(..., preprocessor=), or load the encoder alone with BertBackbone.from_preset "
        "and prepare the tokens yourself."
    )


def _vocabulary(folder, settings, fast, special):
    """Tokens by id: of `vocab.txt` or else `tokenizer.json`, and those that were added to it."""
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
            "%s: %s were added to the vocabulary, to be kept whole; BertTokenizer cuts them like "
            "other text.",
            folder,
            ", ".join(sorted(whole)),
        )
    for token, index in added.items():
        tokens.setdefault(index, token)
    return [tokens.get(index, "") for index in range(max(tokens) + 1)]


def _of_roles(special):
    """`{token: our token}` of those that play the parts of [PAD], [UNK], [CLS], [SEP], [MASK]."""
    tokens = {}
    for role, ours in _SPECIAL_TOKENS.items():
        theirs = special.get(role) or ours
        tokens[theirs["content"] if isinstance(theirs, dict) else theirs] = ours
    return tokens
