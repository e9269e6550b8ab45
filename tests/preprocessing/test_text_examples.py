import numpy as np
import pytest
import tensorflow as tf

pd = pytest.importorskip("pandas", reason='pip install ".[dev]"')

from keras_bert.preprocessing.forms import is_raw
from keras_bert.preprocessing.texts import text_examples

TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]


def texts_of(x):
    """The columns of texts in any form, as lists."""
    return list(text_examples(x).columns)


def pairs(*columns):
    return list(zip(*columns, strict=True))


def series(values):
    """A Series whose labels don't begin at 0."""
    return pd.Series(values, index=range(7, 7 + len(values)))


FORMS = {  # of one or two columns
    "tuple": lambda *columns: columns,
    "object arrays": lambda *columns: tuple(np.array(texts, object) for texts in columns),
    "tensors": lambda *columns: tuple(map(tf.constant, columns)),
    "series": lambda *columns: tuple(map(series, columns)),
    "tuples": pairs,
    "array": lambda *columns: np.array(pairs(*columns)),
    "tensor": lambda *columns: tf.constant(pairs(*columns)),
    "dict of a frame": lambda *columns: {"text": pd.DataFrame(pairs(*columns))},
    "examples": lambda *columns: text_examples(columns),
}
FORMS_OF_ONE = [TEXTS, np.array(TEXTS), tf.constant(TEXTS), series(TEXTS)]
FORMS_OF_ONE.append([text.encode() for text in TEXTS])


def test_every_form_of_texts_and_pairs_is_read():
    for name, form in FORMS.items():
        for columns in ((TEXTS,), (TEXTS, SECONDS)):
            x = form(*columns)
            assert texts_of(x) == list(columns) and is_raw(x), name
    for texts in FORMS_OF_ONE:
        assert texts_of(texts) == [TEXTS] and is_raw(texts)


def test_two_lists_of_two_texts_are_two_pairs(refused):
    rows = [["a", "b"], ["c", "d"]]
    for form in (rows, [*map(np.array, rows)], {"text": rows}, list(map(tuple, rows))):
        assert texts_of(form) == [["a", "c"], ["b", "d"]]
    assert texts_of(tuple(rows)) == [["a", "b"], ["c", "d"]]
    triples = [["a", "b", "c"], ["d", "e", "f"]]
    refused("got 3 together.*a tuple of two columns", text_examples, triples)


def test_a_single_string_is_one_text():
    for text in ("a b", b"a b", np.array("a b"), tf.constant("a b")):
        assert texts_of(text) == [["a b"]]


def test_extra_inputs_stay_with_their_texts(refused):
    numbers = np.arange(12.0).reshape(6, 2)
    part = text_examples({"text": TEXTS, "features": numbers.tolist()})[2:5]
    assert part.columns == (TEXTS[2:5],)
    assert np.array_equal(part.extra_inputs["features"], numbers[2:5])
    short = {"text": TEXTS, "features": numbers[:5]}
    refused("6 texts but 5 rows of features", text_examples, short)
    renamed = {"texts": TEXTS, "numbers": numbers}
    refused("columns texts, numbers don't say.*call them 'text'", text_examples, renamed)


def test_examples_that_are_not_texts_are_refused(refused):
    for x, message in (
        (([], []), "There are no texts"),
        ((TEXTS, SECONDS[:3]), "6 texts but 3 second texts"),
        ((TEXTS, list(range(6))), "Text 0 is 0, not a string"),
        ([["a"], [[]]], r"Text 1 is \[\], not a string"),
        ([("a", "b"), "cd"], "Some texts are pairs and others are not"),
        ((float("nan"), "no"), "Texts must be a list .*, or a tuple of two; got nan"),
        ({"text": tf.data.Dataset.from_tensors("a")}, "make one dataset of all"),
        ({"text": ["a"], "segment_ids": [[0, 1]]}, "makes segment_ids from the texts"),
    ):
        refused(message, text_examples, x)
