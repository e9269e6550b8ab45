"""The table of characters."""

import unicodedata

import pytest
import tensorflow as tf

from keras_bert.graph import normalization
from keras_bert.graph.tokenizer import GraphTokenizer


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_a_character_becomes_stays(lowercase):
    changed = normalization.character_map(lowercase)
    assert not set("".join(changed.values())) - {" "} & set(changed)
    assert max(len(normal.encode()) for normal in changed.values()) < 64  # the format's limit
    assert not [c for c in changed if unicodedata.category(c) in ("Cn", "Co", "Cs")]


def test_punctuation_is_that_of_python_where_icu_has_another(special_tokens, monkeypatch):
    other = {"\u2603": " \u2603 ", "\u00a7": normalization.PLACEHOLDER + "\ue000"}
    monkeypatch.setattr(normalization, "punctuation_map", lambda: other)
    normalization.normalizer_model.cache_clear()
    try:
        graph = GraphTokenizer([*special_tokens, "a", "\u2603", "##\u00a7", "##a"], True, 200)
    finally:
        normalization.normalizer_model.cache_clear()
    parts = graph.tokenize_with_offsets(tf.constant(["a\u2603a a\u00a7a"]))
    expected = [5, 6, 5, 5, 7, 8], [0, 1, 4, 6, 7, 9], [1, 4, 5, 7, 9, 10]
    assert [part.to_list() for part in parts] == [[row] for row in expected]
