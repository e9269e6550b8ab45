"""Tokenizers of Hugging Face folders: `vocab.txt`, `tokenizer_config.json`, `tokenizer.json`."""

import re

from keras_bert.checkpoints.tensor_files import read_json, write_json

_SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def read_tokenizer(folder):
    """What a Hugging Face folder says of its tokenizer.

    Args:
        folder: a path.

    Returns:
        `(vocabulary, arguments, longest)`: tokens by id, or None where the folder has none; the
        other arguments of `BertTokenizer`; and how many tokens a sequence may have.

    Raises:
        ValueError: if it cuts text in a way that `BertTokenizer` can't.
    """
    settings = read_json(folder / "tokenizer_config.json")
    fast = read_json(folder / "tokenizer.json")
    special = {**settings, **read_json(folder / "special_tokens_map.json")}
    normalizer = fast.get("normalizer") or {}
    model = fast.get("model") or {}
    if (folder / "vocab.txt").is_file():
        text = (folder / "vocab.txt").read_text(encoding="utf-8")
        vocabulary = [line.strip() for line in text.removesuffix("\n").split("\n")]
    elif model.get("type", "WordPiece") == "WordPiece" and isinstance(model.get("vocab"), dict):
        vocabulary = _by_id(model["vocab"], folder)
    else:
        return None, {}, 512
    lowercase = settings.get("do_lower_case", normalizer.get("lowercase"))
    if lowercase is None:
        lowercase = not any(
            token != token.lower() for token in vocabulary if not re.match(r"\[.*\]$", token)
        )
    accents = settings.get("strip_accents", normalizer.get("strip_accents"))
    chinese = settings.get("tokenize_chinese_chars", normalizer.get("handle_chinese_chars"))
    for key, value, only in (
        ("strip_accents", accents, lowercase),
        ("tokenize_chinese_chars", chinese, True),
    ):
        if value is not None and bool(value) != only:
            raise ValueError(
                f"the tokenizer of {folder} has {key}={value} with do_lower_case={lowercase}; "
                f"BertTokenizer has {key}={only} there. Give from_preset(..., preprocessor=) one "
                "that suits, or prepare the tokens yourself."
            )
    tokenizer = {
        "lowercase": lowercase,
        "max_word_characters": settings.get(
            "max_input_chars_per_word", model.get("max_input_chars_per_word", 100)
        ),
    }
    longest = settings.get("model_max_length") or 512
    return _with_our_special_tokens(vocabulary, special), tokenizer, int(min(longest, 1 << 30))


def _by_id(ids, folder):
    vocabulary = [""] * (max(ids.values(), default=-1) + 1)
    for token, index in ids.items():
        vocabulary[index] = token
    if len(ids) != len(vocabulary):
        raise ValueError(f"{folder}/tokenizer.json has {len(ids)} tokens with ids that leave gaps.")
    return vocabulary


def _with_our_special_tokens(vocabulary, special):
    """Tokens that play the parts of [PAD], [UNK], [CLS], [SEP] and [MASK] get these names."""
    for role, ours in _SPECIAL_TOKENS.items():
        theirs = special.get(role, ours)
        theirs = theirs.get("content") if isinstance(theirs, dict) else theirs
        if theirs != ours and theirs in vocabulary and ours not in vocabulary:
            vocabulary[vocabulary.index(theirs)] = ours
    return vocabulary


def write_tokenizer(checkpoint, folder):
    """Writes `vocab.txt` and `tokenizer_config.json`."""
    text = "".join(f"{token}\n" for token in checkpoint.vocabulary)
    (folder / "vocab.txt").write_bytes(text.encode("utf-8"))
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
