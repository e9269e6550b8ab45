import numpy as np
import pytest
import tensorflow as tf

pd = pytest.importorskip("pandas", reason='pip install ".[dev]"')

from keras_bert.preprocessing.raw import text_examples
from keras_bert.preprocessing.text_streams import arrays_of, text_batches

TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]
LABELS = [3, 1, 4, 1, 5, 9]
WEIGHTS = [0.5, 1, 0, 2, 1, 1]
PAIRS = list(zip(TEXTS, SECONDS, strict=True))


def slices(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


def strings(columns):
    return [[text.decode() for text in column.numpy()] for column in columns]


def texts_of(x):
    """The columns of texts in any form, as lists."""
    if not isinstance(x, tf.data.Dataset):
        return list(text_examples(x).columns)
    batches = [strings(columns) for columns, _, _ in text_batches(x, 4, with_labels=False)]
    return [sum(column, []) for column in zip(*batches, strict=True)]


def column(values):
    """A column whose labels don't begin at 0."""
    return pd.Series(values, index=range(7, 7 + len(values)))


@pytest.mark.parametrize(
    "form",
    [
        TEXTS,
        [text.encode() for text in TEXTS],
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS)[:, None],
        tf.constant(TEXTS),
        (TEXTS,),
        column(TEXTS),
        {"text": TEXTS},
        text_examples(TEXTS),
        slices(TEXTS),
        slices(TEXTS).batch(4),
        slices(np.array(TEXTS)[:, None]).batch(4),
        slices({"text": TEXTS}),
    ],
)
def test_every_form_of_texts_is_read(form):
    assert texts_of(form) == [TEXTS]


@pytest.mark.parametrize(
    "form",
    [
        (TEXTS, SECONDS),
        (np.array(TEXTS), np.array(SECONDS, object)),
        (tf.constant(TEXTS), tf.constant(SECONDS)),
        (column(TEXTS), column(SECONDS)),
        pd.DataFrame(PAIRS),
        {"text": pd.DataFrame(PAIRS)},
        PAIRS,
        [list(pair) for pair in PAIRS],
        np.array(PAIRS),
        tf.constant(PAIRS),
        {"text": (TEXTS, SECONDS)},
        {"text": PAIRS},
        slices(TEXTS, SECONDS),
        slices(TEXTS, SECONDS).batch(4),
        slices(np.array(PAIRS)).batch(4),
    ],
)
def test_every_form_of_pairs_is_read(form):
    assert texts_of(form) == [TEXTS, SECONDS]


def test_two_lists_of_two_texts_are_two_pairs_with_a_warning():
    rows = [["a", "b"], ["c", "d"]]
    for form in (rows, [np.array(row) for row in rows], {"text": rows}):
        with pytest.warns(UserWarning, match=r"two pairs.*\[\('a', 'b'\), \('c', 'd'\)\].*a tuple"):
            assert texts_of(form) == [["a", "c"], ["b", "d"]]
    # Tuples and arrays [n, 2] are clear, and so is any other number of rows.
    for form in (list(map(tuple, rows)), np.array(rows), tf.constant(rows)):
        assert texts_of(form) == [["a", "c"], ["b", "d"]]
    assert texts_of(tuple(rows)) == [["a", "b"], ["c", "d"]]
    assert texts_of([*rows, ["e", "f"]]) == [["a", "c", "e"], ["b", "d", "f"]]
    with pytest.raises(ValueError, match=r"got 3 together.*a tuple of two columns"):
        text_examples([["a", "b", "c"], ["d", "e", "f"]])


def test_a_text_alone_is_one_and_not_its_letters():
    for text in ("a b", b"a b", np.array("a b"), tf.constant("a b")):
        assert texts_of(text) == [["a b"]]
    assert texts_of(("a b", "c d")) == [["a b"], ["c d"]]


def test_extra_inputs_stay_with_their_texts():
    numbers = np.arange(12.0).reshape(6, 2)
    examples = text_examples({"text": TEXTS, "features": numbers.tolist()})
    part = examples[2:5]
    assert part.columns == (TEXTS[2:5],) and len(part) == 3
    assert np.array_equal(part.extra_inputs["features"], numbers[2:5])
    with pytest.raises(ValueError, match="6 texts but 5 rows of features"):
        text_examples({"text": TEXTS, "features": numbers[:5]})
    with pytest.raises(ValueError, match="have its texts as 'text'.*this one has .'texts', 'numb"):
        text_examples({"texts": TEXTS, "numbers": numbers})


@pytest.mark.parametrize("x", [TEXTS, (TEXTS, SECONDS), {"text": TEXTS, "features": LABELS}])
@pytest.mark.parametrize("rest", [(LABELS,), (LABELS, WEIGHTS)])
def test_datasets_keep_labels_and_weights_with_their_texts(x, rest):
    expected = text_examples(x)
    for dataset in (slices(x, *rest), slices(x, *rest).batch(5)):
        batches = list(text_batches(dataset, 4, with_labels=True))
        columns, extra, found = tf.nest.map_structure(lambda *p: tf.concat(p, 0), *batches)
        assert strings(columns) == list(expected.columns)
        tf.nest.map_structure(np.testing.assert_array_equal, extra, expected.extra_inputs)
        assert [values.numpy().tolist() for values in found] == list(map(list, rest))


def test_two_strings_are_a_pair_or_a_text_with_its_label():
    [(columns, _, rest)] = text_batches(slices(TEXTS, SECONDS), 6, with_labels=True)
    assert strings(columns) == [TEXTS] and strings(rest) == [SECONDS]


def test_only_datasets_without_batches_are_batched():
    for dataset, sizes in ((slices(TEXTS), [4, 2]), (slices(TEXTS).batch(5), [5, 1])):
        found = text_batches(dataset, 4, with_labels=False)
        assert [len(columns[0]) for columns, _, _ in found] == sizes


@pytest.mark.parametrize("size", [None, 4])
def test_a_dataset_is_read_whole(size):
    def read(*parts):
        dataset = slices(*parts)
        return arrays_of(dataset if size is None else dataset.batch(size))

    def texts(column):
        return [text.decode() for text in column]

    x, y, weights = read(TEXTS)
    assert (texts(x), y, weights) == (TEXTS, None, None)
    (first, second), y, weights = read((TEXTS, SECONDS), LABELS, WEIGHTS)
    assert (texts(first), texts(second)) == (TEXTS, SECONDS)
    assert (y.tolist(), weights.tolist()) == (LABELS, WEIGHTS)
    x, y, _ = read({"text": TEXTS, "features": LABELS}, SECONDS)
    assert texts(x["text"]) == TEXTS and x["features"].tolist() == LABELS and texts(y) == SECONDS
    with pytest.raises(ValueError, match="There are no examples"):
        arrays_of(slices(TEXTS).take(0))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (([], []), "There are no texts"),
        ((), "There are no texts"),
        ((TEXTS, SECONDS[:3]), "6 texts but 3 second texts"),
        (["a", None], "Text 1 is None, not a string.*give ''"),
        (["a", "b", float("nan")], "Text 2 is nan, not a string"),
        ((TEXTS, list(range(6))), "Text 0 is 0, not a string"),
        ([["a"], [[]]], r"Text 1 is \[\], not a string"),
        ([[((),)], [1]], r"Text 0 is \(\(\),\), not a string"),
        ([("a", "b"), ("c",)], "Some texts are pairs and others are not"),
        ([("a", "b"), "cd"], "Some texts are pairs and others are not"),
        ((float("nan"), "no"), "A tuple must hold two lists or arrays of texts"),
        ([("a", "b", "c")], "got 3 together"),
        (("a", "b", "c"), "got 3 together"),
        ((slices(["a", "b"]), ["c", "d"]), "A tf.data.Dataset can't be part of the examples"),
        ([slices(["a", "b"]), ["c", "d"]], "A tf.data.Dataset can't be part of the examples"),
        ({"text": slices(["a"])}, "A tf.data.Dataset can't be part of the examples"),
        ({"text": ["a"], "segment_ids": [[0, 1]]}, "makes segment_ids from the texts"),
    ],
)
def test_examples_that_are_no_texts_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        text_examples(x)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (slices(LABELS), "a text, .text, label. or .text, label, weight.*int32"),
        (slices({"texts": TEXTS}), "must have its texts as 'text'"),
        (slices(TEXTS, SECONDS, TEXTS), r"pair .string, string.*got"),
        (slices((TEXTS, SECONDS, TEXTS), LABELS), "a text, .text, label."),
        (slices(np.array(PAIRS), LABELS), "a text, .text, label."),
        (slices(np.array([TEXTS] * 3).T).batch(2), "a text, .text, label."),
        (slices(TEXTS, LABELS, WEIGHTS, WEIGHTS), "a text, .text, label."),
    ],
)
def test_datasets_that_are_no_texts_are_refused(dataset, message):
    with pytest.raises(ValueError, match=message):
        text_batches(dataset, 4, with_labels=True)
