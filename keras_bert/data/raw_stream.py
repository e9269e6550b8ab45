"""A stream of raw examples: a generator, a loader, a `PyDataset` or a `tf.data.Dataset`."""

import contextlib
import dataclasses
import functools
import itertools
import math
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np

from keras_bert.data import translators
from keras_bert.data.columns import check_has_labels
from keras_bert.data.data import (
    Raw,
    RawExamples,
    on_backend,
    unpacked,
)
from keras_bert.data.prepared_inputs import extra_shapes
from keras_bert.data.translators import (
    Pass,
    count_of,
    example_of_row,
    label_name,
    log_unread,
    text_names,
)
from keras_bert.messages import shown
from keras_bert.preprocessing.batches import (
    StreamBatches,
    alone,
    fills_no_batch,
    stream_batches,
)
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import is_dataset, is_single
from keras_bert.training.strategy import is_distributed

_CHUNK = 1024  # examples that are read at once
_SORTED = " They are the stream's first: shuffle it if it is sorted."


class RawStream(Raw):
    """Raw examples that are read in chunks, when they are needed, as those of a list are.

    An example is what a list may hold, `(example, label)` or `(example, label, weight)`. It may
    also be a row, a dict with `text`, `label` and extra inputs by name; Hugging Face's names of
    texts and labels are known, and other columns are dropped. With labels, two bare strings are a
    text and its label; without, a pair. Batches in columns hold several examples; those of a
    `tf.data.Dataset` or a `PyDataset` keep their size.

    Each epoch reads the stream again, in its own order. An iterator can be read once: of several
    epochs without `steps_per_epoch`, it is read into memory.
    """

    is_streamed = True

    def __init__(self, *given: Any, with_labels: bool):
        super().__init__(*given)
        self.with_labels = with_labels
        self.is_read_once = hasattr(self.x, "__next__")
        self.name = "dataset" if is_dataset(self.x) else type(self.x).__name__
        self.extra_names = list(extra_shapes(self.task))
        self.num_before = 0  # examples of the pass before the part that was read last
        self._pass = None  # that has begun
        self._first = None  # the first example, which all others are like
        self._first_labels = None  # of the first part
        is_apart = self.y is not None or self.sample_weight is not None
        if is_apart and not self.is_read_once:
            raise ValueError(
                f"A {self.name} may change its order: make it yield (text, label) or (text, label, "
                "weight), and leave y and sample_weight out."
            )

    def in_memory(self, most=None, num_batches=None):
        if most is None and num_batches is None:
            self._check_has_end()
        count = most or translators.MOST + 1
        [examples] = self.parts(count, count, num_batches)
        if examples.count > translators.MOST:
            raise self._no_end(f" after {translators.MOST:,} examples")
        y = _only_one("their labels: leave y", examples.y, self.y)
        weights = _only_one(
            "their weights: leave sample_weight", examples.sample_weight, self.sample_weight
        )
        return RawExamples(self.task, examples.x, y, weights)

    def for_keras(self, batching, steps=None, epochs=None):
        if self.is_read_once and steps is None and (epochs or 1) > 1:
            examples = self.in_memory()
            _check_not_paired_at_random(examples)
            return examples.for_keras(batching)
        batches = self.stream_batches(batching, steps, epochs)
        check_has_labels(self.task, isinstance(batches.first, tuple))
        if epochs:
            self.task.labels.warn_of_equal(self._first_labels, _SORTED)
        return on_backend(batches, self.task), None, None

    def batches(self, batching):
        return self.stream_batches(batching)

    def stream_batches(
        self, batching: Batching, steps: int | None = None, epochs: int | None = None
    ) -> StreamBatches:
        """Makes the batches of a pass, or of `steps` in each of `epochs`, over several passes."""
        if steps is None:
            self._check_has_end()
        if self.own_batch_size is not None:
            batching = dataclasses.replace(batching, batch_size=self.own_batch_size)
        if self.task.takes_columns:
            batching.check_unsorted("Texts of a stream that train an embedder")
        batching = batching.for_rows(self.preprocessor.sequence_length)
        most = None  # batches that are kept may differ in size, so that Keras counts the steps
        if steps is not None and batching.bucket_lengths is None and not self._keeps(batching):
            most = batching.num_rows(steps) * (epochs or 1)
        repeats = steps is not None and epochs is not None
        read = functools.partial(self._read, batching, most, repeats)
        return StreamBatches(read, batching, None if repeats else self._num_batches(batching))

    def _read(self, batching, most, repeats):
        """Yields the batches of a pass, or of passes one after the other, of `most` examples."""
        left = most
        while left is None or left > 0:
            started = self._begin()
            num_before = started.num_read  # of an iterator, whose pass goes on
            own_sizes = deque() if self._keeps(batching) else None
            chunks = _read_ahead(self._chunks_of_rows(batching, left, own_sizes))
            is_empty = True
            for batch in stream_batches(chunks, batching, own_sizes):
                is_empty = False
                yield batch
            if is_empty:
                raise ValueError(fills_no_batch(batching))
            if not repeats:
                return
            if left is not None:
                left -= started.num_read - num_before

    def _chunks_of_rows(self, batching, most, own_sizes=None):
        """Yields the rows of the chunks of a pass, which fill whole batches if they can."""
        size = -(-_CHUNK // batching.batch_size) * batching.batch_size
        try:
            for part in self.parts(most, size, own_sizes=own_sizes):
                _check_not_paired_at_random(part)
                with self._place_in_errors():
                    rows = part.rows()
                yield rows
        except Exception as error:
            self.error = error
            raise

    def parts(
        self,
        most: int | None,
        size: int,
        num_batches: int | None = None,
        own_sizes: deque[int] | None = None,
    ) -> Iterator[RawExamples]:
        """Yields the examples of a pass, up to `most` or of so many batches of its own, in parts.

        Adds the sizes of its batches to `own_sizes`.
        """
        started = self._begin()
        if not self.is_read_once:
            self._pass = None  # the next is another
        examples = itertools.islice(started.examples(num_batches, own_sizes), most)
        is_empty = True
        while part := list(itertools.islice(examples, size)):
            is_empty = False
            self.num_before = started.num_read - len(part)
            with self._place_in_errors():
                columns = self._in_columns(part)
                listed = RawExamples(self.task, *columns)
            yield listed
        if is_empty:
            raise ValueError(f"There are no examples: the {self.name} is empty, or has no more.")

    def chunks(self):
        self._check_has_end()
        for part in self.parts(None, _CHUNK):
            yield from part.chunks()

    def rows_to_predict(self, batch_size, steps, is_whole):
        if steps is None:
            self._check_has_end()
        most = Batching(batch_size).num_rows(steps)
        num_batches = None
        if self.own_batch_size is not None:
            most, num_batches = None, steps
        if is_whole:
            parts = [self.in_memory(most, num_batches)]
        else:
            # Keras takes a while to distribute a part, however many examples it has.
            size = 32 * _CHUNK if is_distributed(self.task) else _CHUNK
            parts = self.parts(most, size, num_batches)
        for part in parts:
            yield from part.rows_to_predict(batch_size)

    @property
    def own_batch_size(self) -> int | None:
        """The number of rows of the stream's first batch, if the model gets its batches."""
        return self._begin().own_batch_size

    def _keeps(self, batching):
        """Whether each batch that the model gets is one of the stream's own."""
        is_cut_anew = batching.bucket_lengths is not None or batching.drop_remainder
        return self._has_one_row and not is_cut_anew and self.own_batch_size is not None

    @property
    def _has_one_row(self):
        """Whether each example is one row, and not several windows."""
        return self.preprocessor.truncates and not self.preprocessor.cuts_windows

    def _check_has_end(self):
        if count_of(self.x) == math.inf:
            raise self._no_end()

    def _no_end(self, place=""):
        return ValueError(
            f"The {self.name} has no end{place}: give steps_per_epoch, or steps, or a part of it."
        )

    def _begin(self):
        """Begins a pass, unless one has begun. An iterator has only one."""
        if self._pass is None:
            self._pass = Pass(self.x)
        return self._pass

    def _num_batches(self, batching):
        """Returns the number of batches of a pass, or None if examples may have several rows."""
        count = count_of(self.x)
        has_buckets = batching.bucket_lengths is not None
        if count in (None, math.inf) or not self._has_one_row or has_buckets:
            return None
        if self.own_batch_size is not None:
            return count if self._keeps(batching) else None
        rounded = math.floor if batching.drop_remainder else math.ceil
        return rounded(count / batching.batch_size)

    @contextlib.contextmanager
    def _place_in_errors(self):
        """Says in errors, which count from the first example of a chunk, how many came before."""
        try:
            yield
        except ValueError as error:
            if not self.num_before:
                raise
            before = f"After {self.num_before:,} examples of the {self.name}"
            raise ValueError(f"{before}: {error}") from error

    def _in_columns(self, elements):
        """Converts examples to `(x, y, sample_weight)`, in the forms of data in memory."""
        examples = list(map(self._example, elements))
        is_first = self._first is None
        if is_first:
            self._first = examples[0]
            if text_names(elements[0]) is not None:
                log_unread(elements[0], self.extra_names)
        first = self._first
        for index, example in enumerate(examples):
            if len(example) != len(first) or _names(example[0]) != _names(first[0]):
                raise ValueError(
                    f"Example {index} of the {self.name} is {shown(elements[index])}, unlike the "
                    f"first: {shown(alone(first))}."
                )
        if len(first) > 3:
            raise ValueError(
                f"Example 0 of the {self.name} is {shown(first)}: more than an example, its label "
                "and its weight."
            )
        columns = list(map(list, zip(*examples, strict=True)))
        x, y, sample_weight = unpacked(columns)
        if is_first:
            self._first_labels = y
        if _names(x[0]) is not None:
            x = {name: [example[name] for example in x] for name in x[0]}
        return x, y, sample_weight

    def _example(self, element):
        """Converts an element to `(x,)`, `(x, label)` or `(x, label, weight)`."""
        names = text_names(element)
        if names is not None:
            x = example_of_row(element, names, self.extra_names)
            label = label_name(element)
            return (x,) if label is None else (x, _plain(element[label]))
        is_unlabelled = not self.with_labels and is_single(element)
        if is_unlabelled or not isinstance(element, tuple):
            return (element,)
        x, *targets = element
        if self.task.takes_columns and is_single(element[:2]) and len(targets) == 2:
            x = element[:2]  # a pair and its score
            del targets[0]
        return x, *map(_plain, targets)


def _check_not_paired_at_random(examples):
    if not examples.task.takes_columns or examples.y is None:
        return
    if np.ndim(examples.y[0]) == 0 and len(examples.x.columns) == 1:
        raise ValueError(
            "Texts with classes are paired at random: give lists. A stream that trains an embedder "
            "yields (anchor, positive, ...) or ((text, other), score)."
        )


def _only_one(problem, of_examples, given):
    """Returns the labels or weights in the examples, or those given apart from them."""
    if of_examples is None:
        return given
    if given is not None:
        raise ValueError(f"The examples hold {problem} out.")
    return of_examples


def _plain(value):
    return value.tolist() if hasattr(value, "tolist") else value  # of NumPy and PyTorch


def _names(x):
    """Returns the names of a dict of a text and extra inputs; None for any other example."""
    return x.keys() if isinstance(x, dict) and "text" in x else None


def _read_ahead(elements):
    """Yields the elements of an iterator; a thread reads the next while one is used."""
    following = _in_background(next, elements, None)
    while (element := following.result()) is not None:
        following = _in_background(next, elements, None)
        yield element


def _in_background(function, *arguments):
    """Calls a function in a daemon thread, which doesn't keep an ending program alive."""
    future = Future()

    def run():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
