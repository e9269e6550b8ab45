"""Iterables of raw examples, such as generators and loaders, read into memory pass by pass."""

import dataclasses
import itertools
import numbers
import threading
from concurrent.futures import Future
from typing import Any

import keras

from keras_bert.messages import is_missing, shown
from keras_bert.preprocessing.batches import Batches, alone
from keras_bert.preprocessing.data import Data, RawExamples, on_backend, unpacked
from keras_bert.preprocessing.forms import (
    first_element,
    in_numpy,
    is_frame,
    is_raw,
    is_single,
    map_values,
    rows_of,
)
from keras_bert.preprocessing.task_checks import extra_shapes

_MOST = 10_000_000  # examples of an iterable without steps_per_epoch, which must end
_TEXTS = (  # names of the texts of a row, here and in Hugging Face's data sets
    ("text",),
    ("sentence",),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("tokens",),
)
_LABELS = ("label", "labels", "gold_label", "score", "ner_tags")


class RawPasses(Data):
    """Raw examples of an iterable, read into memory in passes.

    The iterable is a generator, a loader, or columns of a data set, and holds examples or batches
    of them. An example is what a list may hold, `(example, label)` or `(example, label, weight)`.
    It may also be a row, a dict with `text`, `label` and extra inputs by name; Hugging Face's names
    of texts and labels are known, and other columns are dropped. With labels, two bare strings are
    a text and its label; without, a pair.

    A loader is streamed: `fit` reads it again for each epoch. So is an iterator of which `most`
    examples are needed at once, the most of a pass. Other iterables are read as a whole.
    """

    is_raw = True

    def __init__(self, *given: Any, with_labels: bool, most: int | None):
        super().__init__(*given)
        self.with_labels = with_labels
        self.extra_names = list(extra_shapes(self.task))
        is_apart = self.y is not None or self.sample_weight is not None
        is_read_once = hasattr(self.x, "__next__")
        is_sized = hasattr(self.x, "__getitem__") and hasattr(self.x, "__len__")
        has_rows = is_sized and len(self.x) <= _MOST
        if is_apart and not (is_read_once or has_rows):
            raise ValueError(
                f"A {type(self.x).__name__} may change its order: make it yield (text, label) or "
                "(text, label, weight), and leave y and sample_weight out."
            )
        self.is_streamed = not (has_rows or is_apart or is_read_once and most is None)
        self.most = most if self.is_streamed and most else _MOST + 1
        self.elements = self._elements()

    def in_memory(self, most=None):
        """Reads a pass, with its labels and weights or those given apart from it."""
        x, y, sample_weight = self.read()
        y = _only_one("their labels: leave y", y, self.y)
        sample_weight = _only_one(
            "their weights: leave sample_weight", sample_weight, self.sample_weight
        )
        return RawExamples(self.task, x, y, sample_weight)

    def for_epochs(self, batching, arguments):
        if not self.is_streamed:
            return self.for_keras(batching)
        passes = max(1, arguments["epochs"] - arguments.get("initial_epoch", 0))

        def read(index):
            seed = None if batching.seed is None else batching.seed + index
            try:
                examples = RawExamples(self.task, *self.read())
                return examples.labelled_batches(dataclasses.replace(batching, seed=seed))
            except Exception as error:
                self.error = error
                raise

        batches = _PassBatches(read, passes, arguments.get("steps_per_epoch"))
        if passes > 1:
            arguments["steps_per_epoch"] = batches.steps
            self.task.check_whole_executions(arguments)
        return on_backend(batches, self.task), None, None

    def read(self) -> tuple[Any, list | None, list | None]:
        """Reads the next pass as `(x, y, sample_weight)`, in the forms of data in memory."""
        name = type(self.x).__name__
        elements = list(itertools.islice(self.elements, self.most))
        if not elements:  # the end of a loader's pass
            self.elements = self._elements()
            elements = list(itertools.islice(self.elements, self.most))
        if len(elements) > _MOST:
            raise ValueError(
                f"The {name} has no end after {_MOST:,} examples: give steps_per_epoch."
            )
        examples = list(map(self._example, elements))
        for index, example in enumerate(examples):
            first = examples[0]
            if len(example) != len(first) or _names(example[0]) != _names(first[0]):
                raise ValueError(
                    f"Example {index} of the {name} is {shown(elements[index])}, unlike the first: "
                    f"{shown(alone(first))}."
                )
        if not examples:
            raise ValueError(f"There are no examples: the {name} is empty, or has no more.")
        if len(examples[0]) > 3:
            raise ValueError(
                f"Example 0 of the {name} is {shown(examples[0])}: more than an example, its label "
                "and its weight."
            )
        columns = list(map(list, zip(*examples, strict=True)))
        x, y, sample_weight = unpacked(columns)
        if _names(x[0]) is not None:
            x = {name: [example[name] for example in x] for name in x[0]}
        return x, y, sample_weight

    def _example(self, element):
        """Converts an element to `(x,)`, `(x, label)` or `(x, label, weight)`."""
        names = _names_of_texts(element)
        if names is not None:
            return self._example_of_row(element, names)
        is_unlabelled = not self.with_labels and is_single(element)
        if is_unlabelled or not isinstance(element, tuple):
            return (element,)
        x, *targets = element
        if self.task.takes_columns and is_single(element[:2]) and len(targets) == 2:
            x = element[:2]  # a pair and its score
            del targets[0]
        return x, *map(_plain, targets)

    def _example_of_row(self, row, names):
        x = alone(tuple(row[name] for name in names))
        extra_inputs = {name: row[name] for name in self.extra_names if name in row}
        if extra_inputs:
            x = {"text": x, **extra_inputs}
        for name in _LABELS:
            if name in row:
                return x, _plain(row[name])
        return (x,)

    def _elements(self):
        """Yields the iterable's examples, those of a batch one by one."""
        collate = getattr(self.x, "collate_fn", None)  # of a PyTorch loader
        makes_batches = collate is not None and self.x.batch_size is not None
        makes_columns = makes_batches and getattr(collate, "__name__", "") == "default_collate"
        makes_columns |= type(self.x).__name__ == "BatchIterDataset"  # of grain
        for element in self.x:
            if makes_columns or _is_batch(element):
                yield from _examples_of(element)
            elif makes_batches:
                yield from element
            elif collate is not None and isinstance(element, list):
                yield tuple(element)  # PyTorch makes lists of tuples
            else:
                yield element


def _only_one(problem, of_examples, given):
    """Returns the labels or weights in the examples, or those given apart from them."""
    if of_examples is None:
        return given
    if given is not None:
        raise ValueError(f"The examples hold {problem} out.")
    return of_examples


class _PassBatches(Batches):
    """Batches of several passes, one after the other: `steps` for each of some epochs.

    `read` reads the pass of an index, and makes its `Batches`. Without `steps`, an epoch has as
    many as the first pass has batches. While a model trains on a pass, a thread reads the next.
    """

    def __init__(self, read, epochs, steps):
        self._reading = _read_ahead(read, epochs)
        self._now = next(self._reading)
        self._start = 0  # the number of the first batch of this pass
        self.steps = steps or len(self._now)
        numbers = range(self.steps * epochs)
        super().__init__(lambda generator: numbers, self._batch, self._now.batching)

    def _batch(self, number):
        while number - self._start >= len(self._now):
            self._start += len(self._now)
            self._now = next(self._reading)
        now = self._now
        return now._make(now._numbers[number - self._start])


def _read_ahead(read, epochs):
    """Yields what is read of each pass; those of later epochs are read in a thread."""
    following = None
    for index in itertools.count():
        batches = following.result() if following else read(index)
        following = _in_background(read, index + 1) if index + 1 < epochs else None
        yield batches


def _in_background(read, index):
    """Reads a pass in a daemon thread, which doesn't keep an ending program alive."""
    future = Future()

    def run():
        try:
            future.set_result(read(index))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def in_python(x: Any) -> Any:
    """Converts Arrow's columns and tables to lists, and tables of texts and labels to rows."""
    if isinstance(x, tuple):
        return tuple(map(in_python, x))
    if hasattr(x, "to_pylist"):
        return x.to_pylist()
    if type(x).__name__ == "DatasetDict":
        raise ValueError(f"These are several data sets, {', '.join(x)}: give one of them.")
    if isinstance(x, dict):
        return _dict_in_python(x)
    if not is_frame(x):
        return x
    columns = dict.fromkeys(x.columns)
    if _names_of_texts(columns) is None or columns.keys().isdisjoint(_LABELS):
        return x
    if hasattr(x, "to_dicts"):  # Polars
        return x.to_dicts()
    return x.to_dict("records")


def _dict_in_python(x):
    """Converts a dict of columns with labels to rows, and drops the label of a single example."""
    x = map_values(in_python, x)
    has_label = "label" in x and _names_of_texts(x) is not None
    if has_label and not is_single(x):
        return rows_of(x)
    if has_label:
        del x["label"]
    return x


def with_first(x: Any) -> tuple[Any, Any]:
    """Returns an iterable with its first example or batch, `()` if it is empty.

    An iterator is returned as a generator that begins with the element that was read from it.
    """
    first = first_element(x)
    if first is None:
        start = list(itertools.islice(x, 1))
        first = start[0] if start else ()
        if hasattr(x, "__next__"):
            x = (element for element in itertools.chain(start, x))  # Keras takes no other iterators
    return x, first


def are_rows(x: Any) -> bool:
    """Returns whether a list holds dicts with `text`, or tuples with a label, a number."""
    first = x[0] if isinstance(x, list) and x else None
    if not isinstance(first, tuple):
        return _names_of_texts(first) is not None
    return any(isinstance(value, numbers.Real) and not is_missing(value) for value in first)


def _names_of_texts(row):
    """Returns the names of the one or two texts of a data set's row; None if it isn't one.

    Questions and choices, which are dicts too, are examples as they are.
    """
    if isinstance(row, dict):
        for names in _TEXTS:
            if row.keys() >= {*names}:
                return names
    return None


def _plain(value):
    return value.tolist() if hasattr(value, "tolist") else value  # of NumPy and PyTorch


def _names(x):
    """Returns the names of a dict of a text and extra inputs; None for any other example."""
    return x.keys() if isinstance(x, dict) and "text" in x else None


def _is_batch(element):
    """Returns whether an element is a batch in columns: its first array holds strings."""
    first = next(iter(keras.tree.flatten(element)), None)
    return getattr(first, "ndim", 0) > 0 and is_raw(first)


def _examples_of(batch):
    """Returns the examples of a batch in columns: a dict, a tuple or an array of them."""
    if isinstance(batch, dict):
        return rows_of(map_values(_examples_of, batch))
    if isinstance(batch, (tuple, list)) and not all(isinstance(value, str) for value in batch):
        return list(zip(*map(_examples_of, batch), strict=True))
    return list(batch if isinstance(batch, (tuple, list)) else in_numpy(batch))
