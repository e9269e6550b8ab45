"""Vocabularies and characters, for the tests of the tokenizer in Python and as ops."""

import unicodedata

import pytest

from tests.text.rule_by_rule import SPECIAL


@pytest.fixture(scope="session")
def special_tokens():
    return list(SPECIAL)


@pytest.fixture(scope="session")
def assigned_characters():
    """All characters that Unicode has given a meaning."""
    characters = (chr(code_point) for code_point in range(0x110000))
    return [c for c in characters if unicodedata.category(c) not in ("Cn", "Co", "Cs")]


@pytest.fixture(scope="session")
def varied_characters(assigned_characters):
    """The assigned characters, but every 16th of the letters without case or decomposition.

    These are all alike; the slow tests look at the others.
    """
    return [
        c
        for index, c in enumerate(assigned_characters)
        if index % 16 == 0 or unicodedata.category(c) != "Lo" or unicodedata.decomposition(c)
    ]


@pytest.fixture(scope="session")
def alphabet():
    """Makes a vocabulary in which any character that can come out is a piece of its own."""

    def make(characters, lowercase):
        letters = set("abx\u03c2\u03c3")
        for character in characters:
            if lowercase:
                letters.update(unicodedata.normalize("NFD", character.lower()))
            else:
                letters.add(character)
        letters = sorted(letter for letter in letters if letter.strip())
        return SPECIAL + letters + ["##" + letter for letter in letters]

    return make


@pytest.fixture(scope="session")
def small(special_tokens):
    """A tokenizer of a few tokens."""
    from keras_bert.text.tokenizer import BertTokenizer

    return BertTokenizer([*special_tokens, "a", "##b", "c", "!", "mask", "[", "]"])
