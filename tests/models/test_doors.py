"""What tasks are given is checked at their doors: wrong values are errors, not other numbers."""

from unittest import mock

import keras
import numpy as np
import pytest

from keras_bert import (
    Batching,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTokenClassifier,
)
from keras_bert.data.data_of import data_of, validation_data_of
from tests.pairs.examples import BatchList

IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])
NAN = float("nan")


@pytest.fixture(scope="module")
def model(make_classifier, eager):
    """A classifier that no step changes."""
    model = make_classifier(dropout=0.0, label_names=["no", "yes"])
    return eager(model, optimizer=keras.optimizers.SGD(0.0))


RANGE = "token_ids must be integers from 0 to 29"
WRONG_ARRAYS = [
    ({"token_ids": IDS + 0.5}, "token_ids must be integers", ""),
    ({"token_ids": IDS[:0]}, r"no tokens: token_ids has shape \(0, 4\)", ""),
    (
        {"token_ids": IDS, "padding_mask": IDS * 0 + 2},
        "padding_mask must .* 0 to 1.*got 2",
        "",
    ),
    (
        {"token_ids": IDS, "padding_mask": IDS[:1]},
        r"\(1, 4\) but token_ids .* \(2, 4",
        "",
    ),
]
WRONG_INPUTS = [  # with what datasets say, too, and what arrays add
    ({"token_ids": IDS - 3}, RANGE, r".*got -1 at \[0, 0\]"),
    ({"token_ids": IDS + 25}, RANGE, r".*got 30 at \[0, 1\]"),
    ({"token_ids": np.tile(IDS, 5)}, "are longer than the position table of 16 rows", ""),
    ({"token_ids": IDS[0]}, r"token_ids must have the shape \[B, S\]", r"; got \(4,\)"),
    (
        {"token_ids": IDS, "segment_ids": IDS},
        "segment_ids must be integers from 0 to 1",
        "",
    ),
    (
        {"token_ids": IDS, "padding_mask": IDS * NAN},
        "padding_mask must be .* from 0 to 1",
        ".*nan",
    ),
    (
        {"token_ids": IDS, "attention_mask": IDS},
        "no input 'attention_mask'; .*padding_mask",
        "",
    ),
    ({"input_ids": IDS}, "no input 'input_ids'; it takes a dict of token_ids", ""),
]


def test_prepared_inputs_of_wrong_values_are_refused(model, refused):
    for x, message, more in WRONG_INPUTS + WRONG_ARRAYS:
        refused(message + more, data_of(model, x).checked)
    for called in (model, model.backbone):
        refused(
            "has no input 'attention_mask'",
            called,
            {"token_ids": IDS, "attention_mask": IDS},
        )


def test_every_verb_uses_the_door_and_looks_at_the_size_of_batches(model, refused):
    right, wrong = {"token_ids": IDS}, {"token_ids": IDS + 25}
    for verb in (model.fit, model.evaluate, model.scores):
        refused(RANGE, verb, wrong, [0, 1])
        refused("batch_size must be", verb, right, [0, 1], batch_size=0)
    for verb in (model.predict, model.answer):
        refused(RANGE, verb, wrong)
        refused("batch_size must be", verb, right, batch_size=0)
    refused(RANGE, model.batches, wrong)
    refused(RANGE, model.predict, (batch for batch in [wrong]))
    refused(RANGE, model.fit, right, [0, 1], validation_data=(wrong, [0, 1]))


def test_datasets_of_wrong_values_are_refused_in_the_graph_too(model, tf, refused):
    labels = np.array([0, 1])
    for x, message, _ in WRONG_INPUTS:
        specs = {name: tf.TensorSpec([None] * np.ndim(v), v.dtype) for name, v in x.items()}
        of_any_shape = tf.data.Dataset.from_generator(
            lambda x=x: iter([(x, labels)]),
            output_signature=(specs, tf.TensorSpec([None], tf.int64)),
        )
        for data in (tf.data.Dataset.from_tensors((x, labels)), of_any_shape):
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
                list(model.batches(data))
    ragged = tf.data.Dataset.from_tensors({"token_ids": tf.ragged.constant([[2, 5, 3], [2, 3]])})
    refused("rows of different lengths: pad", data_of(model, ragged).checked_inputs)


def test_right_inputs_pass_in_every_form(model, assert_close, tf):
    x = {"token_ids": IDS, "padding_mask": IDS != 0}
    expected = model.predict(x)
    as_lists = {name: values.tolist() for name, values in x.items()}
    data = tf.data.Dataset.from_tensor_slices(x).batch(2)
    generators = [(batch for batch in [batch]) for batch in (x, (x,), (x, None, np.ones(2)))]
    for form in (as_lists, {**x, "segment_ids": None}, data, *generators):
        assert_close(model.predict(form), expected)
    labeled = tf.data.Dataset.from_tensors((x, [0, 1]))
    assert model.batches(labeled).element_spec == labeled.element_spec


def test_a_table_is_read_by_the_names_of_its_columns(model, caplog, refused):
    pandas = pytest.importorskip("pandas", reason='pip install ".[recipes]"')
    table = pandas.DataFrame({"sentence": ["a", "b"], 7: ["x", "y"], "question": ["c", "d"]})
    for rows in (table, iter(table.to_dict("records"))):
        assert list(data_of(model, rows).in_memory().x) == [("c", "a"), ("d", "b")]
        [record] = caplog.records
        assert record.getMessage() == "Texts are read from question and sentence; nothing reads 7."
        caplog.clear()
    assert model.answer({"text": "a", "text_pair": "b", "id": "7"}) == model.answer(("a", "b"))
    assert "nothing reads id" in caplog.text
    unknown = table.rename(columns={"sentence": "review", 7: "id"})[["id", "review"]]
    for rows in (unknown, dict(unknown), unknown.to_dict("records")):
        refused(r"columns id, review don't say.*give table\['review'\]", model.predict, rows)
        refused("columns id, review don't say", model.preprocessor.batches, rows)
    assert list(data_of(model, unknown[["review"]]).x) == ["a", "b"]


def test_other_tasks_check_their_own_inputs(
    make_backbone, preprocessor, pretraining_batch, refused
):
    encoder, x = make_backbone(), pretraining_batch[0]
    pretrainer = BertPretrainer(encoder)
    choices = BertMultipleChoice(encoder, preprocessor)
    tagger = BertTokenClassifier(encoder, 2, preprocessor)
    labeler = BertSpanLabeler(encoder)
    far = {**x, "mask_positions": x["mask_positions"] + 10}
    refused("mask_positions must be integers from 0 to 11", pretrainer.predict, far)
    refused("BertPretrainer takes mask_positions", pretrainer.predict, {"token_ids": IDS})
    refused(r"must have the shape \[B, C, S\]", choices.predict, {"token_ids": IDS})
    refused(RANGE, choices.predict, {"token_ids": IDS[None] + 40})
    halved = [["a"], ["b", "c\udc00"]]
    refused("word .* of sentence 1 has half a character", tagger.predict, halved)
    one_column = BatchList([({"token_ids": IDS}, np.array([0, 1]))])
    refused("takes a dict of labels: start, end", labeler.fit, one_column)


def test_a_batching_stands_in_place_of_a_size(refused):
    for given in (({}, None), (Batching(3), 3)):
        refused(
            "batching must be a Batching, in place of batch_size; got",
            Batching.of,
            *given,
        )


def test_weights_and_labels_are_numbers_that_can_be_meant(model, make_classifier, eager, refused):
    weights = [[NAN, 1], [None, 1], [1, -1], [1j, 1], ["1", "1"], 1, [[1.0], [1.0, 2.0]]]
    weights.append(np.zeros(2, [("a", "f4")]))
    count = "There are 2 (examples|rows) but"
    wrong = [(model, [0, 1], column, "sample_weight must ") for column in weights]
    for y in (1, {"no"}, iter([0, 1])):
        wrong.append((model, y, None, "y must have a value for each example"))
    wrong.append(
        (eager(make_classifier(1)), np.zeros((2, 0)), None, r"a number for each.*shape \(2, 0\)")
    )
    wrong += [(model, [], None, f"{count} 0 "), (model, [0], None, f"{count} 1 ")]
    wrong.append((model, [0, 1], [1.0], f"{count} 1 "))
    for x in (["a", "b"], {"token_ids": IDS}):
        for task, y, sample_weight, message in wrong:
            refused(message, task.batches, x, y, sample_weight)
        in_order = Batching(2, shuffle=False)
        [(_, y, sample_weight)] = model.batches(x, [0.0, 1.0], [0, 1], batching=in_order)
        assert (y.tolist(), sample_weight.tolist()) == ([0, 1], [0, 1])
    refused("0 rows but 2 labels", model.scores, {"token_ids": None}, [0, 1])


def test_datasets_of_such_weights_and_labels_end_in_an_error(model, make_classifier, eager, tf):
    several = eager(make_classifier(label_names=["no", "yes"], multi_label=True))
    slices = tf.data.Dataset.from_tensor_slices
    texts = ["a", "b"]
    prepared = {"token_ids": IDS}
    errors = (ValueError, tf.errors.InvalidArgumentError)
    for task, parts, message in (
        (model, (texts, [0, 1], [1.0, NAN]), "must be .*numbers"),
        (model, (texts, np.eye(2)), "Labels are one-hot"),
        (several, (prepared, [["yes"], ["no"]]), "from 0 to 1; the dataset yields strings"),
        (several, (prepared, np.ones((2, 3))), r"0 and 1, \[n, 2\]; got shape \((2|None), 3\)"),
        (several, (prepared, [0, 1]), r"0 and 1, \[n, 2\]; got shape \((2|None),\)"),
    ):
        for is_static in (False, True):
            data = slices(parts).batch(2, drop_remainder=is_static)
            with pytest.raises(errors, match=message):
                list(task.batches(data))
    data = slices((prepared, [0, 1])).batch(2, drop_remainder=True)
    assert len(list(model.batches(data))) == 1  # two labels for two classes, but not one-hot
    of_any_rank = tf.data.Dataset.from_generator(
        lambda: iter([(prepared, np.ones(2))]),
        output_signature=({"token_ids": tf.TensorSpec([2, 4])}, tf.TensorSpec(None)),
    )
    with pytest.raises(ValueError, match=r"known number of axes: .* tf.ensure_shape\(labels"):
        model.batches(of_any_rank)
    right = of_any_rank.map(lambda x, labels: (x, tf.ensure_shape(labels, [None])))
    assert len(list(model.batches(right))) == 1


def test_a_split_leaves_examples_to_train_on(model, refused):
    refused("of 2 examples leaves none", data_of(model, ["a", "b"], [0, 1]).split, 0.99)
    for split in (1, 2, -0.5, NAN, "0.2"):
        refused("validation_split", model.fit, ["a", "b"], [0, 1], validation_split=split)


def test_validation_data_is_a_tuple_or_a_data_set(model, refused):
    texts, labels, rows = ["a", "b"], [0, 1], [("a", 0), ("b", 1)]
    for data in ((texts, labels), (texts, labels, [1, 1]), rows, [*rows, ("c", 1)]):
        found = validation_data_of(model, data)
        assert list(found.x)[:2] == texts and list(found.y)[:2] == labels
    for wrong in ([texts, labels], (texts,), (texts, labels, labels, labels)):
        refused("validation_data must be", validation_data_of, model, wrong)


def test_other_sources_of_texts_say_what_to_give_instead(model, refused):
    for x in (None, 3, [1, 2], IDS, [IDS, IDS], map(int, "12"), object()):
        refused("BertClassifier takes raw examples, or token_ids", model.predict, x)
    halved = np.array(["a", "b\ud800"])
    refused(r"Text 1 has half a character.*'\\ud800' at 1", model.predict, halved)
    wrong = (part for part in [({"token_ids": IDS}, np.array([0, 2]))])
    refused("Labels must be in 0 to 1", model.fit, wrong)


def test_more_parts_than_rows_train_eagerly_too(model):
    """A part without rows has no loss; its mean would be NaN, and 10**9 of them would never end."""
    for parts in (3, 10**9):
        history = model.fit(["a"], ["yes"], accumulation_steps=parts).history
        assert np.isfinite(history["loss"]).all() and np.isfinite(history["accuracy"]).all()


def test_fit_keeps_the_order_if_batching_says_so(model):
    def given(*data, **arguments):
        with mock.patch.object(keras.Model, "fit") as fit:
            model.fit(*data, **arguments)
        return fit.call_args

    def order(**arguments):
        call = given(list("abcdefghijklmnop"), ["no", "yes"] * 8, **arguments)
        assert call.kwargs["shuffle"] is False, "Keras shuffles what is shuffled already"
        return [int(row) for x, _ in call.args[0] for row in x["token_ids"][:, 1]]

    in_order, shuffled = Batching(8, shuffle=False), Batching(8, shuffle=True)
    kept = order(batching=in_order)
    assert kept == sorted(kept) and len(kept) == 16
    assert kept == order(shuffle=False) == order(shuffle=False, batching=shuffled)
    assert sorted(order()) == kept != order()
    for arguments, shuffles in (
        ({"batching": in_order}, False),
        ({"batch_size": 8}, True),
    ):
        options = given({"token_ids": np.tile(IDS, (8, 1))}, [0, 1] * 8, **arguments).kwargs
        assert (options["shuffle"], options["batch_size"]) == (shuffles, 8)
