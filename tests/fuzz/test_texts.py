"""Texts of any kind: equal to a second implementation, and nothing lost.

`make fuzz` runs these properties for longer, with new examples.
"""

import unicodedata

import pytest

pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")

import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_bert import BertTokenizer
from keras_bert.corpus.documents import Settings
from keras_bert.corpus.sentences import split_sentences
from keras_bert.corpus.text_files import TextSpan
from keras_bert.graph.tokenizer import graph_tokenizer
from keras_bert.reports import Reports
from tests.text.rule_by_rule import SPECIAL, RuleByRuleTokenizer

PIECES = [*"abcé.字Σσς'#", "ab", "bc", "abc", "ᄒ", "ᅡ", "ᆫ", "ß", "ss", "."]
WORDS = [
    *SPECIAL,
    *dict.fromkeys([*PIECES, *(f"##{piece}" for piece in PIECES)]),
]

characters = st.characters(exclude_categories=["Cs"])
common = st.sampled_from([*"aAbBcÉéßΣσ字 .'#-\t\n\u00ad\u0301\u200b\ufffd\0", "한", "[MASK]", "𝒜"])
letters = st.sampled_from([*"abcé字Σ한 .'#"])
texts = st.lists(common | common | characters, max_size=40).map("".join)
ordered = texts.filter(lambda text: not any(unicodedata.category(c) == "Mc" for c in text))


@pytest.fixture(scope="module")
def pairs():
    """A tokenizer and its reference, for lowercase and cased text."""
    kinds = (True, False)
    return [(BertTokenizer(WORDS, kind), RuleByRuleTokenizer(WORDS, kind)) for kind in kinds]


def tokenized(tokenizer, texts):
    parts = tokenizer.tokenize_with_offsets(texts, unit="bytes")
    return [list(zip(*row, strict=True)) for row in zip(*parts, strict=True)]


long = st.lists(texts | st.just("a" * 201)).map(" ".join)


@given(batch=st.lists(texts | long, min_size=1) | st.lists(st.binary(max_size=30), min_size=1))
def test_tokens_and_offsets_are_those_of_the_rules_and_bytes_decoded_as_python_does(pairs, batch):
    for tokenizer, reference in pairs:
        assert tokenized(tokenizer, batch) == [reference(text) for text in batch]


@given(text=st.text(letters, max_size=40))
def test_detokenized_tokens_are_the_same_tokens(pairs, text):
    for tokenizer, _ in pairs:
        ids = tokenizer(text)
        if tokenizer.unk_token_id not in ids:
            assert tokenizer(tokenizer.detokenize(ids)) == ids


@given(batch=st.lists(ordered | st.binary(max_size=30), min_size=1))
def test_ops_give_the_same_tokens(pairs, batch):
    for tokenizer, _ in pairs:
        ops = graph_tokenizer(tokenizer).tokenize_with_offsets(tf.constant(batch, tf.string))
        found = tokenizer.tokenize_with_offsets(batch, unit="bytes")
        assert tuple(part.to_list() for part in ops) == found


lines = st.sampled_from(["", "A b. C d.", "\ufeffa", "  ", "é" * 9, "Mr. A", "\0", "***"]) | texts


@given(
    lines=st.lists(lines),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    settings=st.sampled_from([{"text_format": "sentences"}, {"document_separator": r"^\*\*\*"}]),
    cuts=st.lists(st.integers(0, 300), max_size=3),
)
def test_cuts_of_a_file_change_no_documents(tmp_path_factory, lines, newline, settings, cuts):
    path = tmp_path_factory.getbasetemp() / "cut.txt"
    path.write_text(newline.join(lines), "utf-8", newline="")
    size = path.stat().st_size
    ends = sorted({0, size, *(min(cut, size) for cut in cuts)})

    def documents(ends):
        found = {}
        for start, stop in zip(ends[:-1], ends[1:], strict=True):
            span = TextSpan(str(path), start, stop, size)
            for number, rule, texts in span.passages(Settings(**settings), Reports()):
                split = [split_sentences(text, rule) if rule else [text] for text in texts]
                sentences = [sentence for part in split for sentence in part]
                found.setdefault((start, number), []).extend(filter(None, sentences))
        return [document for document in found.values() if document]

    try:
        whole = documents([0, size])
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert documents(ends) == whole
