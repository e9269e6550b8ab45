"""Iterables of raw examples train and answer as lists of them."""

import itertools
import threading

import keras
import numpy as np
import pytest

from keras_bert import (
    Batching,
    BertClassifier,
    BertMultipleChoice,
    BertMultipleChoicePreprocessor,
)
from keras_bert.data.raw_stream import _read_ahead
from tests.marks import on
from tests.pairs.examples import BatchList

TEXTS = ["a b c", "b b d", "a b a", "e c c d", "a a", "e d"]
LABELS, NUMBERS = ["good", "bad"] * 3, [1, 0] * 3
ROWS = list(zip(TEXTS, LABELS, strict=True))
NUMBERED = list(zip(TEXTS, NUMBERS, strict=True))
SETTINGS = {"batching": Batching(2, shuffle=False), "epochs": 2}


class Loader:
    """Yields the same examples in each pass, or others."""

    def __init__(self, *passes):
        self.passes = itertools.cycle(passes)

    def __iter__(self):
        return iter(next(self.passes))


@pytest.fixture(scope="module")
def make(make_classifier):
    """Gives the same classifier each time, with the weights that it started with."""
    model = make_classifier(dropout=0.0, label_names=["bad", "good"])
    model.compile(keras.optimizers.SGD(0.1))
    start = model.get_weights()

    def make():
        model.set_weights(start)
        model.optimizer.iterations.assign(0)
        return model

    return make


@pytest.fixture(scope="module")
def train(make):
    def train(*data, **options):
        return make().fit(*data, **{**SETTINGS, **options}).history["loss"]

    return train


def test_each_pass_is_read_again(train):
    other = [(text, "good") for text in TEXTS]
    found = train(Loader(other, ROWS, other))  # the first tells what there is
    assert found[0] == train(TEXTS, LABELS)[0] and found[1] != found[0]
    found = train(Loader(other[:2], ROWS[:2], other[:2]))  # of one batch
    assert found[0] == train(TEXTS[:2], LABELS[:2])[0] != found[1]


def tables(*sizes):
    """Batches of raw examples, in columns."""
    rows = iter(NUMBERED)
    batches = (zip(*itertools.islice(rows, size), strict=True) for size in sizes)
    return BatchList([tuple(map(np.array, columns)) for columns in batches])


def repeated_dataset():
    data = pytest.importorskip("tensorflow").data.Dataset.from_tensor_slices((TEXTS, NUMBERS))
    return data.batch(4).repeat(2)


def test_batches_of_different_sizes_keep_them(make):
    for batches, sizes in (
        (lambda: tables(1, 4, 1), [1, 4, 1]),
        (lambda: tables(4, 1, 1), [4, 1, 1]),
        (repeated_dataset, [4, 2, 4, 2]),
    ):
        model = make()
        made = model.batches(batches())
        assert [len(labels) for _, labels in made] == sizes and made.num_batches == len(sizes)
        model.fit(batches())
        assert int(model.optimizer.iterations) == len(sizes)
        whole = model.batches(batches(), batching=Batching(4, drop_remainder=True))
        assert {len(labels) for _, labels in whole} == {sizes[0]} and whole.num_batches is None


def test_steps_of_predict_are_batches_of_the_stream(make):
    texts = BatchList([column for column, _ in tables(2, 3, 1).batches])
    for callbacks in (None, [keras.callbacks.Callback()]):
        outputs = make().predict(texts, steps=2, callbacks=callbacks)
        assert len(outputs) == 5


def test_an_error_of_a_stream_keeps_its_type_through_its_batches(make, train):
    def rows():
        yield from ROWS * 200
        raise OSError("mine")

    batching = Batching(300)
    with pytest.raises(OSError, match="mine"):
        train(make().batches(rows(), batching=batching))
    with pytest.raises(OSError, match="mine"):
        train(TEXTS, LABELS, validation_data=make().batches(rows(), batching=batching))


def test_unlike_examples_and_missing_ones_are_refused(make, train, refused):
    refused("no examples", make().answer, BatchList([()]))
    few = make().batches(iter(ROWS), batching=Batching(9, drop_remainder=True))
    refused("fill no batch of 9", list, few)
    for examples, words in (
        ([ROWS[0], (3, "bad")], "Text 1 is 3"),
        ([ROWS[0], "text"], "Example 1.*text"),
        ([], "no examples"),
        (TEXTS, "no labels"),
        (
            [(*row, 1.0, "a name") for row in ROWS],
            "a name.*more than .* its label and its weight",
        ),
    ):
        refused(words, train, iter(examples))


@on("tensorflow", "jax")  # Keras has one step at a time on PyTorch
def test_several_steps_of_an_execution_end_with_a_pass_as_those_of_a_list(make):
    model = make()
    other = BertClassifier(model.backbone, preprocessor=model.preprocessor, dropout=0.0)
    other.compile(keras.optimizers.SGD(0.0), steps_per_execution=2)
    lists, stream = (
        other.fit(*data, **SETTINGS | {"epochs": 1}).history["loss"]
        for data in ((TEXTS, LABELS), (Loader(ROWS),))
    )
    assert lists == stream


def test_an_error_of_a_callback_is_not_that_of_reading_ahead(make):
    ended = threading.Event()

    def rows():
        yield from ROWS[:4]
        ended.set()  # the next pass is empty

    def stop(epoch, logs):
        ended.wait(10)
        raise RuntimeError("mine")

    callback = keras.callbacks.LambdaCallback(on_epoch_end=stop)
    settings = {"batch_size": 2, "steps_per_epoch": 2, "epochs": 5}
    with pytest.raises(RuntimeError, match="mine"):
        make().fit(rows(), callbacks=[callback], **settings)


def test_a_chunk_that_is_being_read_keeps_no_program_alive():
    going_on, before = threading.Event(), set(threading.enumerate())
    chunks = (going_on.wait(60) if number else "first" for number in range(2))
    assert next(_read_ahead(chunks)) == "first"
    [thread] = set(threading.enumerate()) - before
    assert thread.daemon  # Python waits for all others when it ends
    going_on.set()
    thread.join()


def test_a_stream_is_read_in_chunks_with_places_in_errors(make, monkeypatch, refused, assert_close):
    monkeypatch.setattr("keras_bert.data.raw_stream._CHUNK", 2)
    model = make()
    expected = model.predict(TEXTS)
    assert_close(model.predict(iter(TEXTS)), expected)
    batches = model.batches(Loader([*ROWS, ("a", "unknown")]), batching=Batching(2))
    for _ in range(2):  # places are those of a pass
        refused("After 6 examples of the Loader: Label 0 is 'unknown'", list, batches)


def test_questions_of_a_stream_may_have_more_choices_than_the_first(
    make_backbone, letters, monkeypatch
):
    monkeypatch.setattr("keras_bert.data.raw_stream._CHUNK", 1)
    model = BertMultipleChoice(make_backbone(), BertMultipleChoicePreprocessor(letters, 12))
    questions = [{"context": "a", "choices": list("abcde"[:count])} for count in (2, 4, 3)]
    logits = model.predict(questions)
    assert logits.shape == (3, 4)
    np.testing.assert_allclose(model.predict(iter(questions)), logits, rtol=1e-5)
