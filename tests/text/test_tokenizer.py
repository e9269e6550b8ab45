"""BertTokenizer against a second implementation of the rules; `tests/fuzz` has random texts."""

import json
import unicodedata

import pytest
from tokenizers import BertWordPieceTokenizer

from keras_bert.text import wordpieces
from keras_bert.text.tokenizer import BertTokenizer
from tests.text.rule_by_rule import RuleByRuleTokenizer


def differences(tokenizer, reference, texts):
    """Returns [(text, ours, theirs), ...] where ids or offsets differ; also without offsets."""
    parts = tokenizer.tokenize_with_offsets(texts, unit="bytes")
    assert tokenizer(texts) == parts[0]
    ours = ([*zip(*rows, strict=True)] for rows in zip(*parts, strict=True))
    triples = zip(texts, ours, map(reference, texts), strict=True)
    return [triple for triple in triples if triple[1] != triple[2]]


@pytest.fixture(scope="module")
def both(alphabet, varied_characters):
    """{lowercase: (tokenizer, reference)} with a vocabulary of varied characters."""
    pairs = {}
    for lowercase in (True, False):
        words = alphabet(varied_characters, lowercase)
        pairs[lowercase] = (
            BertTokenizer(words, lowercase),
            RuleByRuleTokenizer(words, lowercase),
        )
    return pairs


def test_every_kind_of_character_gives_the_tokens_of_the_rules(both, varied_characters):
    points = [
        *range(0xE000, 0xE100),
        *range(0xFDD0, 0xFDF0),
        *range(0xE0FFF, 0x110000, 0x100),
    ]
    others = map(chr, [*range(0, 0xD800, 0x100), *points])
    texts = [f"a{c}b {c} x" for c in [*varied_characters, *others]]
    for pair in both.values():
        assert differences(*pair, texts) == []


@pytest.mark.slow
def test_accents_are_kept_as_by_hugging_face(alphabet, varied_characters):
    lower = [c.lower() for c in varied_characters]
    words = sorted({*alphabet(varied_characters, True), *alphabet(lower, False)})
    vocabulary = {word: index for index, word in enumerate(words)}
    texts = [f"a{c}b {c} x" for c in varied_characters]

    def differing(strip_accents):
        """Characters that Python's Unicode and that of Rust see as punctuation or not."""
        ours = BertTokenizer(words, strip_accents=strip_accents)(texts)
        theirs = BertWordPieceTokenizer(vocabulary, strip_accents=strip_accents).encode_batch(texts)
        rows = zip(varied_characters, ours, theirs, strict=True)
        return {c for c, ids, encoding in rows if ids != encoding.ids[1:-1]}

    kept = differing(False)
    assert kept <= differing(True) and len(kept) < 0.01 * len(texts)
    uncased = BertTokenizer(words, strip_accents=False)
    assert [uncased.id_to_token(i) for i in uncased("ÄRä ẞ")] == ["ä", "##r", "##ä", "ß"]


@pytest.mark.slow
def test_a_sigma_is_final_where_python_says_so(both, assigned_characters):
    texts = [
        f"Α{c}Σ ΑΣ{c} ΑΣ{c}Α {c}Σ {c}ΣΑ ΣΣ{c}ΣΣ"
        for c in assigned_characters
        if c.lower() != c.upper() or unicodedata.category(c) not in ("Lo", "So")
    ]
    assert differences(*both[True], texts) == []


def test_words_longer_than_the_limit_in_characters_are_unknown(both, special_tokens, refused):
    words = [letter * count for letter in "aéß字😀한Σ" for count in (66, 67, 199, 200, 201)]
    texts = [f"x {word}, y{'b' * 300} {word}.{word}" for word in words]
    for pair in both.values():
        assert differences(*pair, texts) == []
    short = BertTokenizer([*special_tokens, "a", "##a"], max_word_characters=3)
    assert [len(row) for row in short(["aaa", "aaaa"])] == [3, 1]
    refused("max_word_characters", BertTokenizer, special_tokens, max_word_characters=0)


def test_tokens_that_no_text_can_give_do_no_harm(special_tokens):
    odd = ["a b", "É", "Σ", "a\u200bb", "\x11", "e", "a" * 300, "##", "...", "a"]
    vocabulary = [*special_tokens, *odd]
    tokenizer = BertTokenizer(vocabulary, lowercase=True)
    texts = ["a b É Σ a\u200bb ...", "ΑΣ Σ ##", "a" * 300, "\x11e"]
    assert differences(tokenizer, RuleByRuleTokenizer(vocabulary, True), texts) == []


@pytest.mark.shared
@pytest.mark.parametrize("file", ["google-code-points", "google-multilingual-text"])
def test_tokens_are_those_of_the_original(shared_data, file):
    cases = {}
    with open(shared_data / "tokenizer" / f"{file}.jsonl") as lines:
        for line in map(json.loads, lines):
            cases.setdefault(line["vocabulary"], []).append(line)
    assert cases
    for name, expected in cases.items():
        path = shared_data / "vocab" / f"bert-base-{name}.txt"
        tokenizer = BertTokenizer(path, lowercase=name in ("uncased", "chinese"))
        texts = [c["text"].encode("utf-16", "surrogatepass").decode("utf-16") for c in expected]
        vocabulary = tokenizer.get_vocabulary()
        ours = [[vocabulary[i] for i in row] for row in tokenizer(texts)]
        assert ours == [case["tokens"] for case in expected]


def test_marks_are_sorted_and_places_reach_over_what_is_deleted(both):
    stem, dot, virama = "\U0001d165", "\U0001d16d", "\u1b44"  # no accents
    texts = [f"a{dot}{stem}", f"a{dot}\u0301{stem}\u00ad{virama}b", f"a{dot}{stem}." * 99]
    texts.append("\ufeffCafe\u00ad\u0301\u00ads 한 İ")
    assert differences(*both[True], texts) == []


def test_the_cache_is_bounded_and_long_texts_are_not_kept(special_tokens, monkeypatch):
    monkeypatch.setattr(wordpieces, "_MAX_CACHED", 10)
    letters = [chr(97 + number) for number in range(26)]
    tokenizer = BertTokenizer([*special_tokens, *letters])
    assert tokenizer([*letters, "a" * 50]) == [
        *([5 + number] for number in range(26)),
        [1],
    ]
    kept = tokenizer._cutter._ids
    assert 0 < len(kept) <= 10 and "a" * 50 not in kept
