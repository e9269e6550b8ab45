"""Spans of characters train as the words and tags that they are."""

import pytest

from keras_bert import Batching, BertBackbone, BertTokenClassifier, BertTokenClassifierPreprocessor

NAMES = ["O", "B-X", "I-X"]
TEXT, SPANS = "a bc, (d-e) f", [(0, 4, "X"), (7, 10, "X")]
WORDS = ["a", "bc", ",", "(", "d-e", ")", "f"]
TAGS = ["B-X", "I-X", "O", "O", "B-X", "O", "O"]
FORMS = [  # of doccano, Label Studio, Prodigy and spaCy
    {"label": [list(span) for span in SPANS], "id": 7},
    {"entities": [{"start_offset": s, "end_offset": e, "label": t} for s, e, t in SPANS]},
    {"label": [{"start": s, "end": e, "labels": [t], "text": TEXT[s:e]} for s, e, t in SPANS]},
    {"spans": [{"value": {"start": s, "end": e, "labels": [t]}} for s, e, t in SPANS]},
    {"spans": [{"start": s, "end": e, "label": t} for s, e, t in SPANS], "tokens": [{"id": 0}]},
]


@pytest.fixture(scope="module")
def reader(tokenizer):
    return BertTokenClassifierPreprocessor(tokenizer, 16, label_names=NAMES)


def test_each_form_trains_as_words_and_tags(reader, assert_close):
    encoder = BertBackbone(reader.tokenizer.vocabulary_size(), 1, 2, 8, 8)
    model = BertTokenClassifier(encoder, preprocessor=reader)
    batching = Batching(2, shuffle=False)
    expected = [*model.batches([WORDS] * 2, [TAGS] * 2, batching=batching)]
    rows = [{"text": TEXT, **form} for form in FORMS] + [(TEXT, {"entities": SPANS})]
    data = [([row, row],) for row in rows] + [([TEXT, TEXT], [SPANS, SPANS])]
    for each in data:
        assert_close([*model.batches(*each, batching=batching)], expected, name=each)
    assert model.answer(rows[:1]) == model.answer([TEXT])


def test_tags_have_the_scheme_of_the_names(reader):
    text, spans = "a b c d", [(0, 5, "X"), (6, 7, "X")]
    for names, expected in (
        ("O B-X I-X", "B-X I-X I-X B-X"),
        ("O I-X", "I-X I-X I-X I-X"),
        ("O B-X I-X E-X S-X", "B-X I-X E-X S-X"),
        ("O B-X I-X L-X U-X", "B-X I-X L-X U-X"),
        ("O X", "X X X X"),
    ):
        other = reader.like(reader, label_names=names.split())
        assert other.words_and_tags([text, ""], [spans, []])[1] == [expected.split(), []]


def test_spans_that_are_no_words_are_told_or_refused(reader, refused, caplog):
    [tags] = reader.words_and_tags([TEXT], [[(7, 8, "X"), (12, 13, "X")]])[1]
    assert tags[4:] == ["B-X", "O", "B-X"]
    assert "The span 'd', 7 to 8" in caplog.text and len(caplog.records) == 1
    for span, message in (
        ((2, 4, "X"), "'bc', 2 to 4 of .*, holds no word, or one of another"),
        ((99, 100, "X"), "99 to 100 of .*, holds no word"),
        ((0.5, 4, "X"), "list of spans, .start, end, type"),
        ((0, 4), "list of spans, .start, end, type"),
        ("B-X", "list of spans, .start, end, type"),
    ):
        refused(message, reader.words_and_tags, [TEXT], [[SPANS[0], span]])
    refused("1 texts but 2 lists of spans", reader.words_and_tags, [TEXT], [[], []])
