import numpy as np
import pytest
import tensorflow as tf
from keras_bert.preprocessing.text_dataset import text_dataset

from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.preprocessing.row_batches import quarters

WORDS = "a b c d e f g h i j k l m".split()
TEXTS = ["a b", "c", "d e f g h i j k l m", "", "b b b", "k l"]
SECONDS = ["m", "l k j i", "", "c", "a a", "h"]
LABELS = [3, 1, 4, 1, 5, 9]
WEIGHTS = [0.5, 1, 0, 2, 1, 1]


@pytest.fixture(scope="module")
def preprocessor():
    tokenizer = BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
    return BertPreprocessor(tokenizer, sequence_length=10)


def slices(*parts):
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0])


def joined(dataset):
    """All batches of a dataset as one, in arrays."""
    batches = list(dataset.as_numpy_iterator())
    return tf.nest.map_structure(lambda *parts: np.concatenate(parts), *batches)


def equal(found, expected):
    tf.nest.assert_same_structure(found, expected)
    pairs = zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def prepared(preprocessor, *texts):
    return {name: values.numpy() for name, values in preprocessor(*texts).items()}


SINGLES = {
    "list": TEXTS,
    "bytes": [text.encode() for text in TEXTS],
    "array": np.array(TEXTS),
    "objects": np.array(TEXTS, object),
    "column": np.array(TEXTS)[:, None],
    "tensor": tf.constant(TEXTS),
    "tuple of one": (TEXTS,),
    "dataset": slices(TEXTS),
    "batched dataset": slices(TEXTS).batch(4),
    "dataset of columns": slices(np.array(TEXTS)[:, None]).batch(4),
}
PAIRS = {
    "tuple of lists": (TEXTS, SECONDS),
    "tuple of arrays": (np.array(TEXTS), np.array(SECONDS, object)),
    "tuple of tensors": (tf.constant(TEXTS), tf.constant(SECONDS)),
    "list of tuples": list(zip(TEXTS, SECONDS, strict=True)),
    "list of lists": [list(pair) for pair in zip(TEXTS, SECONDS, strict=True)],
    "array": np.array([TEXTS, SECONDS]).T,
    "tensor": tf.transpose(tf.constant([TEXTS, SECONDS])),
    "dataset": slices(TEXTS, SECONDS),
    "batched dataset": slices(TEXTS, SECONDS).batch(4),
    "dataset of rows": slices(np.array([TEXTS, SECONDS]).T).batch(4),
}


@pytest.mark.parametrize("form", SINGLES)
def test_every_form_of_texts_gives_the_same_rows(preprocessor, form):
    found = joined(text_dataset(SINGLES[form], preprocessor=preprocessor, batch_size=4))
    assert equal(found, prepared(preprocessor, TEXTS))


@pytest.mark.parametrize("form", PAIRS)
def test_every_form_of_pairs_gives_the_same_rows(preprocessor, form):
    found = joined(text_dataset(PAIRS[form], preprocessor=preprocessor, batch_size=4))
    assert equal(found, prepared(preprocessor, TEXTS, SECONDS))


def test_a_text_or_a_pair_may_come_alone(preprocessor):
    for text in ("a b", b"a b", np.array("a b"), tf.constant("a b")):
        found = joined(text_dataset(text, preprocessor=preprocessor, batch_size=4))
        assert equal(found, prepared(preprocessor, ["a b"]))
    found = joined(text_dataset(("a b", "c d"), preprocessor=preprocessor, batch_size=4))
    assert equal(found, prepared(preprocessor, ["a b"], ["c d"]))


class Column:
    """As a column of a table in pandas: indexed by labels that don't begin at 0."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, label):
        return self.values[{i + 7: i for i in range(len(self))}[label]]

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(object) if self.values.dtype.kind == "U" else self.values


def test_a_tables_columns_are_read_whatever_their_index(preprocessor):
    texts, seconds, labels = map(Column, (TEXTS, SECONDS, LABELS))
    found = joined(text_dataset(texts, labels, preprocessor=preprocessor, batch_size=4))
    assert equal(found, (prepared(preprocessor, TEXTS), np.array(LABELS)))
    found = joined(text_dataset((texts, seconds), preprocessor=preprocessor, batch_size=4))
    assert equal(found, prepared(preprocessor, TEXTS, SECONDS))


@pytest.mark.parametrize("texts", [(TEXTS,), (TEXTS, SECONDS)])
@pytest.mark.parametrize("rest", [(LABELS,), (LABELS, WEIGHTS)])
def test_labels_and_weights_stay_with_their_texts(preprocessor, texts, rest):
    options = {"preprocessor": preprocessor, "batch_size": 4}
    expected = (prepared(preprocessor, *texts), *map(np.array, rest))
    x = texts if len(texts) > 1 else texts[0]
    for dataset in (
        text_dataset(x, *rest, **options),
        text_dataset(slices(x, *rest), **options),
        text_dataset(slices(x, *rest).batch(5), **options),
    ):
        assert equal(joined(dataset), expected)


def test_numbers_to_be_learnt_come_as_they_were_given(preprocessor):
    scores = np.array([0.25, -1.5, 3, 1e-3, 7, 2], "float32")
    for labels in (scores, scores[:, None], scores.astype("float64")):
        _, found = joined(text_dataset(TEXTS, labels, preprocessor=preprocessor, batch_size=4))
        assert found.dtype == labels.dtype and np.array_equal(found, labels)


def test_batches_have_the_size_asked_for_unless_they_were_batched_already(preprocessor):
    def sizes(x):
        dataset = text_dataset(x, preprocessor=preprocessor, batch_size=4)
        return [len(batch["token_ids"]) for batch in dataset.as_numpy_iterator()]

    assert sizes(TEXTS) == sizes(slices(TEXTS)) == sizes((TEXTS, SECONDS)) == [4, 2]
    assert sizes(slices(TEXTS).batch(5)) == [5, 1]


def test_shapes_are_static_unless_batches_are_trimmed(preprocessor):
    options = {"preprocessor": preprocessor, "batch_size": 2}
    assert text_dataset(TEXTS, **options).element_spec["token_ids"].shape == (None, 10)
    lengths = [batch["token_ids"].shape[1] for batch in text_dataset(TEXTS, trim=True, **options)]
    assert lengths == [4, 10, 5]
    whole = list(text_dataset(TEXTS, **options).as_numpy_iterator())
    trimmed = list(text_dataset(TEXTS, trim=True, **options).as_numpy_iterator())
    for a, b in zip(whole, trimmed, strict=True):
        for name in a:
            assert np.array_equal(a[name][:, : b[name].shape[1]], b[name])
        assert a["padding_mask"].sum() == b["padding_mask"].sum()


def orders(preprocessor, epochs=2, **options):
    """For each epoch the labels in their order; asserts that texts went with them."""
    texts = [" ".join(WORDS[: i % 8 + 1]) for i in range(40)]
    dataset = text_dataset(
        texts, np.arange(40), preprocessor=preprocessor, batch_size=16, **options
    )
    expected = prepared(preprocessor, texts)["token_ids"]
    found = []
    for _ in range(epochs):
        inputs, labels = joined(dataset)
        assert np.array_equal(inputs["token_ids"], expected[labels])
        found.append(labels.tolist())
    return found


def test_texts_in_memory_are_shuffled_afresh_in_each_epoch(preprocessor):
    first, second = orders(preprocessor, shuffle=True, seed=1)
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second and first != sorted(first)
    assert [first, second] == orders(preprocessor, shuffle=True, seed=1)
    assert [first, second] != orders(preprocessor, shuffle=True, seed=2)
    far = np.abs(np.argsort(first) - np.arange(40))
    assert far.max() > 20  # all of them, not the next few


def test_without_shuffling_the_order_is_kept(preprocessor):
    assert orders(preprocessor) == 2 * [list(range(40))]


def test_a_dataset_is_not_shuffled(preprocessor):
    dataset = text_dataset(
        slices(TEXTS, LABELS), preprocessor=preprocessor, batch_size=4, shuffle=True, seed=1
    )
    assert joined(dataset)[1].tolist() == LABELS


def test_the_pipeline_runs_in_graph(preprocessor):
    dataset = text_dataset(TEXTS, LABELS, preprocessor=preprocessor, batch_size=4)
    graph = dataset._as_serialized_graph().numpy()
    assert b"ParallelMapDataset" in graph and b"PyFunc" not in graph


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "There are no texts"),
        (([], []), "There are no texts"),
        ((([], []),), "There are no texts"),
        (((),), "There are no texts"),
        ((TEXTS, LABELS[:5]), "6 texts but 5 second texts, labels or weights"),
        ((TEXTS, LABELS, WEIGHTS[:4]), "6 texts but 4"),
        (((TEXTS, SECONDS[:3]),), "6 texts but 3"),
        ((TEXTS, None, WEIGHTS), "weights but no labels"),
        ((["a", None],), "Text 1 is None, not a string.*give ''"),
        ((["a", "b", float("nan")],), "Text 2 is nan, not a string"),
        (((TEXTS, list(range(6))),), "Text 0 is 0, not a string"),
        (([("a", "b"), ("c",)],), "Some texts are in pairs and others are not"),
        (([("a", "b"), "cd"],), "Some texts are in pairs and others are not"),
        (([("a", "b", "c")],), "here they come 3 together"),
        ((("a", "b", "c"),), "here they come 3 together"),
        ((slices(TEXTS), LABELS), "brings its own labels"),
        ((slices(LABELS),), "texts, .text, label. or .text, label, weight.*int32.*dataset.map"),
        ((slices({"text": TEXTS}),), "texts, .text, label."),
        ((slices(TEXTS, SECONDS, LABELS),), r"pair .string, string.*text, text.*not strings"),
        ((slices(TEXTS, SECONDS, TEXTS),), "texts, .text, label."),
        ((slices((TEXTS, SECONDS, TEXTS), LABELS),), "texts, .text, label."),
        ((slices(np.array([TEXTS, SECONDS]).T, LABELS),), "texts, .text, label."),
        ((slices(np.array([TEXTS] * 3).T).batch(2),), "texts, .text, label."),
    ],
)
def test_what_is_no_text_is_refused(preprocessor, arguments, message):
    with pytest.raises(ValueError, match=message):
        text_dataset(*arguments, preprocessor=preprocessor, batch_size=4)


def test_batches_hold_at_least_one(preprocessor):
    with pytest.raises(ValueError, match="batch_size must be at least 1; got 0"):
        text_dataset(TEXTS, preprocessor=preprocessor, batch_size=0)


def test_the_longest_texts_come_first_in_few_lengths(preprocessor):
    options = {"preprocessor": preprocessor, "batch_size": 2, "longest_first": True}
    options["trim"] = quarters(10)
    batches = list(text_dataset(TEXTS, list(range(6)), **options).as_numpy_iterator())
    whole = prepared(preprocessor, TEXTS)
    for inputs, rows in batches:
        length = inputs["token_ids"].shape[1]
        assert all(np.array_equal(inputs[name], whole[name][rows, :length]) for name in whole)
        assert not whole["padding_mask"][rows, length:].any()
    assert [inputs["token_ids"].shape[1] for inputs, _ in batches] == [10, 5, 3]
    assert np.concatenate([rows for _, rows in batches]).tolist() == [2, 4, 0, 5, 1, 3]
    with pytest.raises(ValueError, match="can't be sorted by length.*as a list"):
        text_dataset(slices(TEXTS), **options)
    for other in ({"shuffle": True}, {"bucket_lengths": (5, 10)}):
        with pytest.raises(ValueError, match="longest_first is an order by itself"):
            text_dataset(TEXTS, **options, **other)


def test_batches_are_cut_to_lengths_that_are_given_or_left_whole(preprocessor):
    options = {"preprocessor": preprocessor, "batch_size": 1}
    lengths = [batch["token_ids"].shape[1] for batch in text_dataset(TEXTS, trim=[5], **options)]
    shortest = [batch["token_ids"].shape[1] for batch in text_dataset(TEXTS, trim=True, **options)]
    assert lengths == [5 if length <= 5 else 10 for length in shortest]
    assert set(lengths) == {5, 10}


@pytest.mark.parametrize("x", [TEXTS, slices(TEXTS)])
def test_a_last_smaller_batch_is_left_out_on_wish(preprocessor, x):
    options = {"preprocessor": preprocessor, "batch_size": 4, "drop_remainder": True}
    dataset = text_dataset(x, **options)
    assert dataset.element_spec["token_ids"].shape == (4, 10)
    [batch] = dataset.as_numpy_iterator()
    assert np.array_equal(batch["token_ids"], prepared(preprocessor, TEXTS)["token_ids"][:4])


def test_labels_of_any_rank_are_taken(preprocessor):
    def unknown(text):
        return text, tf.py_function(lambda: tf.constant([1.0, 2.0]), [], tf.float32)

    data = tf.data.Dataset.from_tensor_slices(TEXTS).map(unknown).batch(2, drop_remainder=True)
    batches = list(text_dataset(data, preprocessor=preprocessor, batch_size=2))
    assert [labels.shape for _, labels in batches] == [(2, 2)] * 3
