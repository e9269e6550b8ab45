"""The tokenizer as ops gives the tokens and offsets of the one in Python."""

import importlib
import itertools
import sys

import pytest
import tensorflow as tf

from keras_bert.graph import normalization
from keras_bert.graph.normalization import Casing, character_map
from keras_bert.graph.tokenizer import GraphTokenizer, graph_tokenizer
from keras_bert.text.fast_tokenizer import FastTokenizer
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS
from tests import vocabularies
from tests.marks import slow

UNCASED = Casing(True, True)
# A character alone, in a word, at its ends, doubled, and next to an accent, a soft hyphen, an
# ideograph, a mark of punctuation and a sigma.
CONTEXTS = (
    "{0} a{0}b {0}a a{0} a{0}{0}b a{0}\u0301 \u0301{0} a{0}\u00ad \u4e2d{0}\u4e2d .{0}. "
    "\u0391{0}\u03a3 \u0391\u03a3{0}\u0391 \u03a3{0}"
).split()


def assert_same(tokenizer, texts):
    """Asserts that the ops and Python give the same ids and offsets in bytes."""
    ops = graph_tokenizer(tokenizer)
    expected = ops.tokenize_with_offsets(tf.constant(texts))
    found = tokenizer.tokenize_with_offsets(texts, unit="bytes")
    for theirs, ours in zip(expected, found, strict=True):
        cases = zip(texts, theirs.to_list(), ours, strict=True)
        wrong = [case for case in cases if case[1] != case[2]]
        assert not wrong, ascii(wrong[:3])
    assert ops.tokenize(tf.constant(texts)).to_list() == found[0]


def in_one_context(characters):
    """Each character alone, and its neighbors in all contexts in turn."""
    contexts = itertools.cycle(CONTEXTS)
    return [f"{c} " + next(contexts).replace("{0}", c) for c in characters]


@pytest.mark.parametrize(
    ("lowercase", "strip_accents"),
    [
        (True, True),
        slow(False, True),
        slow(True, False),
    ],
)
def test_every_kind_of_character_gives_the_tokens_of_python(
    alphabet, varied_characters, lowercase, strip_accents
):
    if strip_accents:
        words = alphabet(varied_characters, lowercase)
    else:
        words = alphabet(map(str.lower, varied_characters), lowercase=False)
    tokenizer = BertTokenizer(words, lowercase, strip_accents=strip_accents)
    assert_same(tokenizer, in_one_context(varied_characters))


def test_words_are_measured_in_characters(alphabet):
    letters = "aé字😀한Σ"
    words = [letter * n for letter in letters for n in (66, 67, 200, 201)]
    texts = [f"x {word}, y{'b' * 300} {word}.{word}" for word in words]
    for lowercase in (True, False):
        assert_same(BertTokenizer(alphabet(letters + "y", lowercase), lowercase), texts)


def test_characters_of_private_use_are_deleted_if_the_tokenizer_says_so(alphabet):
    private = "\ue000\uf8ff\U000f0000\U0010fffd"
    tokenizer = BertTokenizer(alphabet("ab", True), strip_private_use=True)
    texts = in_one_context(private)
    assert_same(tokenizer, texts)
    without = [text.translate(dict.fromkeys(map(ord, private))) for text in texts]
    assert tokenizer(texts) == tokenizer(without)


def test_a_graph_made_inside_a_function_works(special_tokens):
    @tf.function
    def tokenize(text):
        return graph_tokenizer(BertTokenizer([*special_tokens, "inside"])).tokenize(text)

    assert tokenize(tf.constant(["inside b"])).to_list() == [[5, 1]]


def test_what_has_no_ops_is_refused(special_tokens, refused):
    long = BertTokenizer([*special_tokens, "字" * 100])
    refused("token 5 of the vocabulary has 300 bytes", graph_tokenizer, long)
    other = FastTokenizer(vocabularies.unigrams(), mask_token="<num>")
    refused("no ops for a FastTokenizer", graph_tokenizer, other)


def test_accents_are_stripped_only_if_the_tokenizer_says_so():
    for casing, expected in ((UNCASED, "e"), (Casing(True, False), "é")):
        assert character_map(casing)["É"] == expected


def test_a_graph_is_built_once_for_a_vocabulary():
    words = [*SPECIAL_TOKENS, "tables", "built", "##once"]
    first, again, of_short_words, other = (
        graph_tokenizer(BertTokenizer(*arguments))
        for arguments in (
            (words,),
            (words,),
            (words, True, 3),
            ([*words[:-1], "##twice"],),
        )
    )
    assert first is again and first is not of_short_words and first is not other


def test_punctuation_is_that_of_python_where_icu_has_another(special_tokens, monkeypatch):
    python = {"\u2603": True, "\u00a7": False}
    is_punctuation = normalization.is_punctuation
    monkeypatch.setattr(normalization, "is_punctuation", lambda c: python.get(c, is_punctuation(c)))
    caches = normalization.punctuation_map, normalization.normalizer_model
    for cached in caches:
        cached.cache_clear()
    try:
        graph = GraphTokenizer([*special_tokens, "a", "\u2603", "##\u00a7", "##a"], UNCASED, 200)
    finally:
        for cached in caches:
            cached.cache_clear()
    parts = graph.tokenize_with_offsets(tf.constant(["a\u2603a a\u00a7a"]))
    expected = [5, 6, 5, 5, 7, 8], [0, 1, 4, 6, 7, 9], [1, 4, 5, 7, 9, 10]
    assert [part.to_list() for part in parts] == [[row] for row in expected]


MODULE = "keras_bert.graph.tensorflow_text"
ERRORS = ["ImportError('no module')", "tf.errors.NotFoundError(None, None, 'no symbol')"]


@pytest.mark.parametrize("error", ERRORS)
def test_an_import_that_fails_says_what_to_install(monkeypatch, tmp_path, error):
    (tmp_path / "tensorflow_text.py").write_text(f"import tensorflow as tf\nraise {error}")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("tensorflow_text", MODULE):
        monkeypatch.delitem(sys.modules, module, raising=False)
    version = ".".join(tf.__version__.split(".")[:2])
    with pytest.raises(ImportError, match=rf"failed \(no .*pip install .*text=={version}\.\*"):
        importlib.import_module(MODULE)


def test_added_tokens_are_those_of_python(special_tokens):
    added = {"<num>": True, "[USER]": False, "new york": True, "Äb": True, "日x": False}
    words = [*special_tokens, "a", "##b", "good", "é", "日", *added]
    parts = [*added, *map(str.upper, added), " ", "\u00ad", "\0", "a", "é", "日", "."]
    texts = ["", *map("".join, itertools.product(parts, repeat=2)), "".join(parts)]
    for lowercase in (True, False):
        assert_same(BertTokenizer(words, lowercase, added_tokens=added), texts)
