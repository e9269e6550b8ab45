"""The table of characters."""

import unicodedata

import pytest

from keras_bert.text import normalization
from keras_bert.text.tokenizer import BertTokenizer


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_a_character_becomes_stays(lowercase):
    changed = normalization.character_map(lowercase)
    assert not set("".join(changed.values())) - {" "} & set(changed)


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_model_fits_the_format(lowercase):
    for normal in normalization.character_map(lowercase).values():
        assert len(normal.encode()) < 64
    assert normalization.normalizer_model(lowercase).dtype == "uint8"


def test_punctuation_is_that_of_unicode_and_ascii_symbols():
    for code_point in range(128):
        expected = 33 <= code_point < 127 and not chr(code_point).isalnum()
        assert normalization.is_punctuation(chr(code_point)) == expected
    assert normalization.is_punctuation("。") and not normalization.is_punctuation("©")


def test_normalize_is_what_the_rules_give():
    assert normalization.normalize("Ünï\u00adcode\u3000\ufffdŐ\x07 ½™", True) == "unicode o ½™"
    assert normalization.normalize("Ünï\u00adcode\u3000\ufffdŐ\x07", False) == "Ünïcode Ő"


def test_unnamed_characters_stay():
    changed = normalization.character_map(True)
    assert not [c for c in changed if unicodedata.category(c) in ("Cn", "Co", "Cs")]


def test_punctuation_is_that_of_python_where_icu_has_another(special_tokens, monkeypatch):
    other = {"\u2603": " \u2603 ", "\u00a7": normalization.PLACEHOLDER + "\ue000"}
    monkeypatch.setattr(normalization, "punctuation_map", lambda: other)
    normalization.normalizer_model.cache_clear()
    try:
        tokenizer = BertTokenizer([*special_tokens, "a", "\u2603", "##\u00a7", "##a"])
    finally:
        normalization.normalizer_model.cache_clear()
    ids, starts, ends = tokenizer.tokenize_with_offsets("a\u2603a a\u00a7a")
    assert [tokenizer.id_to_token(i) for i in ids.numpy()] == [
        *("a", "\u2603", "a"),
        *("a", "##\u00a7", "##a"),
    ]
    assert starts.numpy().tolist() == [0, 1, 4, 6, 7, 9]
    assert ends.numpy().tolist() == [1, 4, 5, 7, 9, 10]
