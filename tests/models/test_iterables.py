"""Iterables of raw examples train and answer as lists of them."""

import functools
import itertools
import threading

import keras
import numpy as np
import pytest

from keras_bert import (
    Batching,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertEmbedderPreprocessor,
    BertMultipleChoice,
    BertMultipleChoicePreprocessor,
    FineTuning,
    finetune,
)
from keras_bert.preprocessing.raw_stream import _read_ahead

TEXTS = ["a b c", "b b d", "a b a", "e c c d", "a a", "e d"]
LABELS, NUMBERS = ["good", "bad"] * 3, [1, 0] * 3
ROWS = list(zip(TEXTS, LABELS, strict=True))
NUMBERED = list(zip(TEXTS, NUMBERS, strict=True))
SETTINGS = {"batching": Batching(2, shuffle=False), "epochs": 2, "verbose": 0}


class Loader:
    """Yields the same examples in each pass, or others."""

    def __init__(self, *passes):
        self.passes = itertools.cycle(passes)

    def __iter__(self):
        return iter(next(self.passes))


class Unsized(Loader):
    """Can be indexed, but has no length."""

    def __getitem__(self, index):
        return ROWS[index]


def columns_of(rows):
    return tuple(map(list, zip(*rows, strict=True)))


def columns_by_name(rows):
    return dict(zip(("text", "label"), columns_of(rows), strict=True))


def forms_of_python():
    return [Unsized(ROWS)]


def forms_of_grain():
    source = pytest.importorskip("grain", reason="grain is not installed").MapDataset
    source = source.source(NUMBERED)
    stream = source.to_iter_dataset()
    return [source.batch(4), stream.batch(4), iter(stream)]


def forms_of_torch():
    loading = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed")

    class Stream(loading.IterableDataset):
        def __iter__(self):
            return iter(NUMBERED)

    loader = loading.DataLoader
    nameless = functools.partial(list)
    collated = [
        loader(ROWS, batch_size=4, collate_fn=collate)
        for collate in (nameless, columns_of, columns_by_name)
    ]
    sampled = loader(NUMBERED, batch_sampler=[[0, 1, 2], [3, 4, 5]])
    return [*collated, sampled, loader(Stream(), batch_size=4), loader(ROWS, batch_size=None)]


@pytest.fixture(scope="module")
def make(make_backbone, letters):
    """Gives the same classifier each time, with the weights that it started with."""
    keras.utils.set_random_seed(1)
    reader = BertClassifierPreprocessor(letters, 12, label_names=["bad", "good"])
    model = BertClassifier(make_backbone(dropout=0.0), preprocessor=reader, dropout=0.0)
    model.compile(keras.optimizers.SGD(0.1))
    start = model.get_weights()

    def make():
        model.set_weights(start)
        return model

    return make


@pytest.fixture(scope="module")
def train(make):
    def train(*data, **options):
        return make().fit(*data, **{**SETTINGS, **options}).history["loss"]

    return train


@pytest.fixture(scope="module")
def expected(train):
    return train(TEXTS, LABELS)


@pytest.mark.parametrize("forms", [forms_of_python, forms_of_grain, forms_of_torch])
def test_an_iterable_trains_like_lists(forms, train, expected):
    for form in forms():
        assert train(form) == expected
    assert train(iter(TEXTS), LABELS) == expected


def test_each_pass_is_read_again(train, expected):
    other = [(text, "good") for text in TEXTS]
    found = train(Loader(other, ROWS, other))  # the first tells what there is
    assert found[0] == expected[0] and found[1] != expected[1]
    found = train(Loader(other[:2], ROWS[:2], other[:2]))  # of one batch
    assert found[0] == train(TEXTS[:2], LABELS[:2])[0] != found[1]


class Tables(keras.utils.PyDataset):
    """Batches of raw examples, in columns."""

    def __init__(self, *sizes):
        super().__init__()
        rows = iter(NUMBERED)
        self.batches = []
        for size in sizes:
            columns = zip(*itertools.islice(rows, size), strict=True)
            self.batches.append(tuple(map(np.array, columns)))

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def repeated_dataset():
    data = pytest.importorskip("tensorflow").data.Dataset.from_tensor_slices((TEXTS, NUMBERS))
    return data.batch(4).repeat(2)


class Steps(keras.callbacks.Callback):
    """Counts steps."""

    def __init__(self):
        super().__init__()
        self.taken = 0

    def on_train_batch_end(self, batch, logs=None):
        self.taken += 1


def test_batches_of_different_sizes_keep_them(make):
    for batches, sizes in (
        (lambda: Tables(1, 4, 1), [1, 4, 1]),
        (lambda: Tables(4, 1, 1), [4, 1, 1]),
        (repeated_dataset, [4, 2, 4, 2]),
    ):
        made = make().batches(batches())
        assert [len(labels) for _, labels in made] == sizes and made.num_batches == len(sizes)
        steps = Steps()
        make().fit(batches(), callbacks=[steps], verbose=0)
        assert steps.taken == len(sizes)
        whole = make().batches(batches(), batching=Batching(4, drop_remainder=True))
        assert {len(labels) for _, labels in whole} == {sizes[0]} and whole.num_batches is None


def test_steps_of_predict_are_batches_of_the_stream(make):
    texts = Tables(2, 3, 1)
    texts.batches = [column for column, _ in texts.batches]
    for callbacks in (None, [keras.callbacks.Callback()]):
        outputs = make().predict(texts, steps=2, verbose=0, callbacks=callbacks)
        assert len(outputs) == 5


def test_a_dataset_without_end_is_sorted_by_length_with_steps(make, refused):
    data = pytest.importorskip("tensorflow").data.Dataset.from_tensor_slices((TEXTS, NUMBERS))
    steps = Steps()
    batching = Batching(2, bucket_lengths=(6, 12))
    settings = {"batching": batching, "callbacks": [steps], "verbose": 0}
    make().fit(data.repeat(), steps_per_epoch=2, epochs=2, **settings)
    assert steps.taken == 4
    for verb in (make().answer, make().scores):
        refused("no end", verb, data.repeat())


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
    nothing = Tables()
    nothing.batches = [()]
    refused("no examples", make().answer, nothing)
    for examples, words in (
        ([ROWS[0], (3, "bad")], "Text 1 is 3"),
        ([ROWS[0], "text"], "Example 1.*text"),
        ([], "no examples"),
        (TEXTS, "no labels"),
        ([(*row, 1.0, "a name") for row in ROWS], "a name.*more than .* its label and its weight"),
    ):
        refused(words, train, iter(examples))


@pytest.fixture
def bare(make, eager_compile):
    """Another model of the same settings, not compiled, and its weights."""
    model, start = BertClassifier.from_config(make().get_config()), make().get_weights()
    model.set_weights(start)
    return model, start


def test_an_iterable_is_finetuned_like_a_list(bare, tmp_path):
    model, start = bare
    model.compile()
    options = {"settings": FineTuning(epochs=1), "batching": Batching(2)}
    with_lists = finetune(model, (TEXTS, LABELS), (TEXTS, LABELS), tmp_path / "lists", **options)
    model.set_weights(start)
    assert finetune(model, iter(ROWS), iter(ROWS), tmp_path / "rows", **options) == with_lists


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="Keras has it one step at a time")
def test_several_steps_of_an_execution_end_with_a_pass_as_those_of_a_list(bare):
    model, start = bare
    model.compile(keras.optimizers.SGD(0.0), steps_per_execution=2)
    losses = []
    for data in ((TEXTS, LABELS), (Loader(ROWS),)):
        model.set_weights(start)
        losses.append(model.fit(*data, **SETTINGS | {"epochs": 1}).history["loss"])
    assert losses[0] == losses[1]


def test_texts_with_classes_of_a_stream_are_not_paired(make_backbone, letters, refused):
    model = BertEmbedder(make_backbone(), preprocessor=BertEmbedderPreprocessor(letters, 12))
    for epochs in (1, 2):
        refused("paired at random: give", model.fit, iter(NUMBERED), epochs=epochs, verbose=0)


def test_an_error_of_a_callback_is_not_that_of_reading_ahead(make):
    ended = threading.Event()

    def rows():
        yield from ROWS[:4]
        ended.set()  # the next pass is empty

    def stop(epoch, logs):
        ended.wait(10)
        raise RuntimeError("mine")

    callback = keras.callbacks.LambdaCallback(on_epoch_end=stop)
    settings = {"batch_size": 2, "steps_per_epoch": 2, "epochs": 5, "verbose": 0}
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
    monkeypatch.setattr("keras_bert.preprocessing.raw_stream._CHUNK", 2)
    model = make()
    expected = model.predict(TEXTS, verbose=0)
    assert_close(model.predict(iter(TEXTS), verbose=0), expected)
    batches = model.batches(Loader([*ROWS, ("a", "unknown")]), batching=Batching(2))
    for _ in range(2):  # places are those of a pass
        refused("After 6 examples of the Loader: Label 0 is 'unknown'", list, batches)


def test_questions_of_a_stream_may_have_more_choices_than_the_first(
    make_backbone, letters, monkeypatch
):
    monkeypatch.setattr("keras_bert.preprocessing.raw_stream._CHUNK", 1)
    model = BertMultipleChoice(make_backbone(), BertMultipleChoicePreprocessor(letters, 12))
    questions = [{"context": "a", "choices": list("abcde"[:count])} for count in (2, 4, 3)]
    logits = model.predict(questions, verbose=0)
    assert logits.shape == (3, 4)
    np.testing.assert_allclose(model.predict(iter(questions), verbose=0), logits, rtol=1e-5)
