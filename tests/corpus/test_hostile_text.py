"""Hostile text takes time in proportion to its length.

Calls of `sentencex` are counted. The steps of a regular expression and of TensorFlow's ops can't
be. So each family of texts is also processed at a size at which a quadratic function takes hours:
it hangs until CI ends it, and the name of the family is the last that was printed.
"""

import random
import re

import pytest
import tensorflow as tf

from keras_bert.corpus import sentences
from keras_bert.corpus.learn_vocabulary import learn_vocabulary
from keras_bert.corpus.sentences import split_sentences
from keras_bert.graph.tokenizer import graph_tokenizer
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import SPECIAL_TOKENS

UNITS = [
    "他走了出去。她留下了。",
    "あ",
    "He went out. She stayed in. ",
    "“He went out. ",
    "a",
    ".",
    "。",
    "。…",
    "“" + "他。" * 9,
    '“"' + "他。" * 9,
    "``" + "他" * 18,
    "<A>! ",
    "! ",
    "Mr. ",
    '"',
    "'a ",
    "(",
    "1. ",
]
SPACES = ("a", " ", "b")
SENTENCES = [  # what comes before, what is repeated, and what comes after
    *(("", unit, "") for unit in UNITS),
    ("", "He went out. ", '"'),  # an unclosed quotation mark
    ("", "。…" * 50 + "\x1c", ""),  # full stops and ellipses between other spaces
    SPACES,
]
WORDS = [
    *(("", unit, "") for unit in ("a", "Σ", "Σ'", "'", "他", "\u00ad", " ", "word ")),
    *(("", unit, "") for unit in ("a\r", "some words \ufffd\n", "\n", "word\n")),
    ("aΣ", "'", ""),  # a sigma before apostrophes
    ("a", "\u0301", ""),  # accents
    ("a", "\u0301\u0323", ""),  # marks in the wrong order
    ("", "ä" * 150 + " ", ""),
    SPACES,
]


def text_of(family, size):
    before, unit, after = family
    return before + unit * (size // len(unit)) + after


def tokenize(text, path):
    """Tokenizes a text in Python and with ops, and learns a vocabulary from a file of it."""
    tokenizer = BertTokenizer([*SPECIAL_TOKENS, "a", "##a", "'", "σ", "##σ", "##ς"])
    tokenizer.flat_ids([text])
    tokenizer.tokenize_with_offsets(text)
    graph_tokenizer(tokenizer).tokenize_with_offsets(tf.constant([text]))
    path.write_text(f"{text}\nword word", newline="")
    learn_vocabulary(path, vocabulary_size=100, min_frequency=1, progress=False)


FUNCTIONS = {
    "sentences": (lambda text, path: split_sentences(text), SENTENCES),
    "words": (tokenize, WORDS),
}


@pytest.mark.weekly
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_ten_megabytes_of_hostile_text_take_no_hours(kind, tmp_path):
    function, families = FUNCTIONS[kind]
    for family in families:
        print(f"{kind}: {family!a}", flush=True)
        function(text_of(family, 10_000_000), tmp_path / "a.txt")


@pytest.mark.slow
def test_sentencex_reads_windows_and_few_characters_twice(monkeypatch):
    read = []
    segment = sentences.sentencex.segment

    def counted(language, text):
        read.append(text)
        return segment(language, text)

    monkeypatch.setattr(sentences.sentencex, "segment", counted)
    for family in SENTENCES:
        read.clear()
        text = text_of(family, 70_000)
        found = split_sentences(text)
        lengths = [len(window) for window in read]
        most = 20_000 if " " in text or "." in text else 2_100
        assert max(lengths, default=0) <= most and sum(lengths) <= 3 * len(text), family
        # `sentencex` goes back from each full stop to the last space or full stop of ASCII.
        steps = sum(
            len(part) * len(re.findall("[。.!]+", part))
            for window in read
            for part in re.split(r"[ \n.]", window)
        )
        assert steps <= 1_500 * len(text), family
        assert "".join("".join(found).split()) == "".join(text.split()), family


PROSE = {
    "en": [
        "Mr. A. Smith said, “Go on. I can't wait!” and left.",
        "It rained (3.5 mm).",
        "“No!”",
    ],
    "zh": [
        "他说：“走。我不等了！”她走了。",
        "天黑了（很冷）。",
        "「不！」他们回家去了。",
    ],
    "hi": ["वह बाहर चला गया।", "उसने कहा, “रुको। मैं आता हूँ।” और गया।"],
}


def test_prose_of_any_length_is_split_as_by_sentencex():
    generator = random.Random(1)
    for language, prose in PROSE.items():
        for count in (20, 100, 400, 1500):
            space = "" if language == "zh" else " "
            text = space.join(generator.choices(prose, k=count))
            expected = [piece.strip() for piece in sentences.sentencex.segment(language, text)]
            assert split_sentences(text, language) == expected, (language, count)


def test_a_long_sentence_is_cut_after_a_sentence_or_a_word():
    for text, end in {
        "He said \u201cA. B.\u201d Then 3.5 miles": "He said \u201cA. B.\u201d ",
        "他说：「走。」他": "他说：「走。」",
        "two words": "two ",
        "letters": "letters",
    }.items():
        assert text[: sentences._cut(text)] == end
