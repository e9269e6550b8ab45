"""Iterables of raw examples, such as generators and loaders, read into memory pass by pass."""

import dataclasses
import functools
import itertools
import numbers
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from typing import Any

import keras
import numpy as np

from keras_bert.messages import is_missing, shown
from keras_bert.preprocessing.batches import Batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.data import Data, Raw, RawExamples
from keras_bert.preprocessing.forms import (
    first_element,
    is_iterable,
    is_raw,
    is_single,
    is_text,
)

_MOST = 10_000_000  # examples of an iterable that is taken to end
_TEXTS = (  # names of texts, here and in Hugging Face's data sets
    ("text",),
    ("sentence",),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("tokens",),
)
_LABELS = ("label", "labels", "gold_label", "score", "ner_tags")


@dataclasses.dataclass
class Passes:
    """An iterable of raw examples, of which each pass, of up to `most`, is read into memory.

    The iterable is a generator, a loader, or columns of a data set, and holds examples or batches
    of them. An example is what a list may hold, `(example, label)` or `(example, label, weight)`;
    or a dict with its `text`, its `label` and the extra inputs, by name, or with the names that
    Hugging Face's data sets have in place of these two; others are dropped. With labels, two bare
    strings are a text and its label; without, a pair.
    """

    iterable: Any
    with_labels: bool = True
    most: int | None = None
    extra_inputs: Collection[str] = ()

    def __post_init__(self):
        self.is_read_once = hasattr(self.iterable, "__next__")
        is_loader = not self.is_read_once and not hasattr(self.iterable, "__getitem__")
        # Others hold the same examples in each pass, or have no more of them.
        self.are_several = is_loader or (self.is_read_once and self.most is not None)

    def read(self) -> tuple[Any, list | None, list | None]:
        """Reads the next pass as `(x, y, sample_weight)`, in the forms of data in memory."""
        parts = []
        for number, example in enumerate(itertools.islice(self._examples(), self.most)):
            if number == _MOST:
                raise ValueError(
                    f"The {self._name} has no end after {_MOST:,} examples: give steps_per_epoch."
                )
            parts.append(self._parts(example))
            if _form(parts[-1]) != _form(parts[0]):
                first = parts[0] if len(parts[0]) > 1 else parts[0][0]
                raise ValueError(
                    f"Example {number} of the {self._name} is {shown(example)}, unlike the first: "
                    f"{shown(first)}."
                )
        if not parts:
            raise ValueError(f"There are no examples: the {self._name} is empty.")
        columns = [list(column) for column in zip(*parts, strict=True)]
        if isinstance(columns[0][0], dict) and "text" in columns[0][0]:
            columns[0] = _dict_of_columns(columns[0])
        return (*columns, None, None)[:3]

    def _parts(self, example):
        """Splits an example into `(x,)`, `(x, label)` or `(x, label, weight)`."""
        names = _names_of_texts(example)
        if names is not None:
            texts = tuple(example[name] for name in names)
            x = texts if len(texts) > 1 else texts[0]
            extra = {name: example[name] for name in self.extra_inputs if name in example}
            labels = [_plain(example[name]) for name in _LABELS if name in example]
            return ({"text": x, **extra} if extra else x, *labels[:1])
        if not isinstance(example, tuple) or (is_single(example) and not self.with_labels):
            return (example,)
        return (example[0], *map(_plain, example[1:]))

    @property
    def _name(self):
        return type(self.iterable).__name__

    def _examples(self) -> Iterator:
        collate = getattr(getattr(self.iterable, "collate_fn", None), "__name__", None)
        makes_batches = collate is not None and self.iterable.batch_size is not None
        for element in self.iterable:
            first = next(iter(keras.tree.flatten(element)), None)
            is_batch = getattr(first, "ndim", 0) > 0 and is_raw(first)
            if is_batch or (makes_batches and collate == "default_collate"):
                yield from _examples_of(element)
            elif makes_batches:
                yield from element
            else:  # PyTorch makes lists of tuples
                yield tuple(element) if collate and isinstance(element, list) else element


class RawPasses(Raw):
    """Raw examples of an iterable, which `fit` may read again for each epoch."""

    def __init__(self, task: keras.Model, passes: Passes, y: Any = None, sample_weight: Any = None):
        super().__init__(task, passes.iterable, y, sample_weight)
        self.passes = passes

    def in_memory(self, most: int | None = None) -> RawExamples:
        """Reads a pass; labels and weights are those of the iterable, or those given apart."""
        if self.sample_weight is not None and self.passes.are_several:
            raise ValueError(
                f"sample_weight has no place in a {type(self.x).__name__}, which may change its "
                "order: make it yield (text, label, weight)."
            )
        x, labels, weights = self.passes.read()
        y = _only_one("labels", "y", labels, self.y)
        sample_weight = _only_one("weights", "sample_weight", weights, self.sample_weight)
        return RawExamples(self.task, x, y, sample_weight)

    def split(self, validation_split: float) -> tuple[Data, Data]:
        return self.in_memory().split(validation_split)

    def batches(self, batching: Batching) -> Batches:
        return self.in_memory().batches(batching)

    def chunks(self) -> Iterator[Any]:
        return self.in_memory().chunks()

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        return self.in_memory().outputs(batch_size, **kwargs)

    def chunks_of_outputs(self, batch_size: int, verbose: Any) -> Iterator[tuple[Any, Any]]:
        return self.in_memory().chunks_of_outputs(batch_size, verbose)

    def for_epochs(self, batching: Batching, epochs: int) -> tuple[Any, Any, Any]:
        """Reads one pass while a model trains on another, if they may differ."""
        is_apart = self.y is not None or self.sample_weight is not None
        if is_apart or not self.passes.are_several or epochs <= 1:
            return self.in_memory().for_keras(batching)

        def batches_of_pass(index):
            seed = None if batching.seed is None else batching.seed + index
            examples = RawExamples(self.task, *self.passes.read())
            return examples.labelled_batches(dataclasses.replace(batching, seed=seed))

        return PassBatches(batches_of_pass, epochs), None, None


def _only_one(what, name, of_examples, given):
    """Returns the labels or weights that examples hold, or those given apart from them."""
    if of_examples is not None and given is not None:
        raise ValueError(f"The examples hold their {what}: leave {name} out.")
    return given if of_examples is None else of_examples


class PassBatches(Batches):
    """Batches of `Passes`: while a model trains on a pass, a thread reads the next one.

    `make` reads a pass by number, and makes its `Batches`.
    """

    def __init__(self, make: Callable[[int], Batches], passes: int):
        keras.utils.PyDataset.__init__(self)
        self._futures = map(functools.partial(_in_background, make), range(1, passes))
        self._now, self._next, self._is_used = make(0), next(self._futures, None), False

    @property
    def batching(self) -> Batching:
        return self._now.batching

    def __len__(self) -> int:
        return len(self._now)

    def __getitem__(self, index: int) -> Any:
        return self._now[index]

    def on_epoch_begin(self) -> None:
        self._is_used = True

    def __iter__(self) -> Iterator:
        self.on_epoch_end()
        self._is_used = True
        return iter(self._now)

    def on_epoch_end(self) -> None:
        """Starts the next pass, if this one was begun: building a model begins none."""
        if self._next is None or not self._is_used:
            return
        self._is_used = False
        following, self._next = self._next.result(), next(self._futures, None)
        if len(following) != len(self._now):
            sizes = f"{len(following)} batches, the first {len(self._now)}"
            raise ValueError(f"A pass makes {sizes}: give steps_per_epoch.")
        self._now = following


def _in_background(function, *arguments):
    """Calls a function in a thread that doesn't keep a program alive which is to end."""
    future = Future()

    def run():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def in_python(x: Any) -> Any:
    """Returns columns and tables of Arrow as lists, and tables of texts and labels as rows."""
    if isinstance(x, tuple):
        return tuple(map(in_python, x))
    if hasattr(x, "to_pylist"):
        return x.to_pylist()
    if type(x).__name__ == "DatasetDict":
        raise ValueError(f"These are several data sets, {', '.join(x)}: give one of them.")
    if isinstance(x, dict):
        x = {name: in_python(values) for name, values in x.items()}
        if "label" not in x or _names_of_texts(x) is None:
            return x
        if is_single(x):
            del x["label"]
            return x
        return [dict(zip(x, row, strict=True)) for row in zip(*x.values(), strict=True)]
    columns = dict.fromkeys(getattr(x, "columns", ())) if hasattr(x, "dtypes") else {}
    if _names_of_texts(columns) is None or columns.keys().isdisjoint(_LABELS):
        return x
    return x.to_dicts() if hasattr(x, "to_dicts") else x.to_dict("records")  # Polars, pandas


def raw_passes(x: Any, **options: Any) -> tuple[Passes | None, Any]:
    """Returns `(Passes, x)` of an iterable of raw examples, or `(None, x)` of anything else."""
    if not is_iterable(x) and not _are_rows(x):
        return None, x
    first = first_element(x)
    if first is None and not hasattr(x, "__next__"):
        first = next(iter(x), ())
    elif first is None:
        start = [*itertools.islice(x, 1)]
        x = (each for each in itertools.chain(start, x))  # Keras takes generators alone
        first = start[0] if start else ()
    if isinstance(first, (tuple, list)) and len(first):
        first = first[0]  # without its label
    if not is_raw(first):
        return None, x
    return Passes(x, **options), x


def _are_rows(x):
    """Returns whether a list holds dicts with `text`, or tuples with a label, a number."""
    first = x[0] if isinstance(x, list) and x else None
    if not isinstance(first, tuple):
        return _names_of_texts(first) is not None
    return any(isinstance(part, numbers.Real) and not is_missing(part) for part in first)


def _names_of_texts(example):
    """Returns the names under which a row of a data set has its text or two; None if it has none.

    Rows of questions and of choices are examples themselves.
    """
    if not isinstance(example, dict):
        return None
    return next((names for names in _TEXTS if example.keys() >= {*names}), None)


def _dict_of_columns(examples):
    """Joins dicts of `text` and extra inputs to a dict of a list and of arrays."""
    columns = {name: [example[name] for example in examples] for name in examples[0]}
    return {name: v if name == "text" else np.array(v) for name, v in columns.items()}


def _plain(value):
    return value.tolist() if hasattr(value, "tolist") else value  # of NumPy and PyTorch


def _form(parts):
    """Returns what all examples of an iterable have in common."""
    x = parts[0]
    if isinstance(x, dict) and "text" in x:
        return sorted(x), len(parts)
    if isinstance(x, tuple):
        return len(x), len(parts)
    return str if is_text(x) else type(x), len(parts)


def _examples_of(batch):
    """Returns the examples of a batch in columns: a dict, a tuple or an array of them."""
    if isinstance(batch, dict):
        rows = zip(*map(_examples_of, batch.values()), strict=True)
        return [dict(zip(batch, row, strict=True)) for row in rows]
    if isinstance(batch, (tuple, list)) and not all(isinstance(part, str) for part in batch):
        return [*zip(*map(_examples_of, batch), strict=True)]
    return list(batch)
