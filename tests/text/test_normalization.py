"""The table of characters."""

import unicodedata

import pytest

from keras_bert.text import normalization


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
