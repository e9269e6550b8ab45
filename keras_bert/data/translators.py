"""What other libraries give, as raw examples: one function for each form. Needs none of them."""

import itertools
import math
import numbers
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import keras

from keras_bert.messages import is_missing, logger, shown
from keras_bert.preprocessing.batches import StreamBatches, alone
from keras_bert.preprocessing.forms import (
    in_numpy,
    is_dataset,
    is_frame,
    is_raw,
    is_single,
    is_text,
    map_values,
)

_TEXTS = (  # names of the texts of a row, here and in other libraries' data sets
    ("question", "sentence"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("text", "text_pair"),
    ("anchor", "positive", "negative"),
    ("anchor", "positive"),
    ("query", "positive", "negative"),
    ("query", "positive"),
    ("query", "document"),
    ("query", "passage"),
    ("query", "answer"),
    ("text",),
    ("sentence",),
    ("tokens",),
)
MOST = 10_000_000  # examples that are read into memory
_LABELS = ("label", "labels", "gold_label", "score", "ner_tags", "entities", "spans")


def in_python(x: Any) -> Any:
    """Converts Arrow's tables to rows, and its columns to lists."""
    if isinstance(x, tuple):
        return tuple(map(in_python, x))
    if hasattr(x, "to_pylist"):
        return x.to_pylist()
    if type(x).__name__ == "DatasetDict":
        raise ValueError(f"These are several data sets, {', '.join(x)}: give one of them.")
    if isinstance(x, dict):
        return map_values(in_python, x)
    return x


def as_rows(x: Any, extra_names: Collection[str] = ()) -> Any:
    """Converts a frame or a dict of columns to rows, dicts, and a single row to its example.

    Examples in other forms are returned unchanged: a frame whose columns have no names, a question,
    words, and texts with extra inputs.
    """
    is_table = is_frame(x)
    if not (is_table or isinstance(x, dict)) or not is_raw(x):
        return x
    columns = {name: x[name] for name in x.columns} if is_table else x
    names = text_names(columns)
    if is_single(x) and names is not None:
        log_unread(x, extra_names)
        return example_of_row(x, names, extra_names)
    if is_single(x) or not any(isinstance(name, str) for name in columns):
        return x
    is_own = names == ("text",) and label_name(columns) is None
    is_own = is_own and not unread(columns, is_raw, extra_names)
    if not is_table and (is_own or "words" in columns):
        return x
    return rows_of(columns)


def example_of_row(row: dict, names: Collection[str], extra_names: Collection[str]) -> Any:
    """Returns the texts of a row, in a dict with its extra inputs if there are any."""
    x = alone(tuple(row[name] for name in names))
    extra_inputs = {name: row[name] for name in extra_names if name in row}
    return {"text": x, **extra_inputs} if extra_inputs else x


def are_rows(x: Any) -> bool:
    """Returns whether a list holds dicts with `text`, or tuples with a number or spaCy's dict."""
    first = x[0] if isinstance(x, list) and x else None
    if not isinstance(first, tuple):
        return text_names(first) is not None
    labels = [value for value in first if isinstance(value, (numbers.Real, dict))]
    return bool(labels) and not is_missing(labels[0])


def has_rows(x: Any) -> bool:
    """Returns whether an iterable is a data set in memory: it has a length, and can be indexed."""
    is_sized = hasattr(x, "__getitem__") and hasattr(x, "__len__")
    return is_sized and not has_own_batches(x) and len(x) <= MOST


def text_names(row: Any) -> tuple[str, ...] | None:
    """Returns the names of the texts of a data set's row; None if it isn't one.

    A single column is the text, whatever its name. Questions and choices, which are dicts too, are
    examples as they are.
    """
    if not isinstance(row, dict):
        return None
    for names in [*_TEXTS, *([tuple(row)] if len(row) == 1 else ())]:
        if row.keys() >= {*names}:
            return names
    return None


def unread(row: dict, is_string: Callable, extra_names: Collection[str]) -> list:
    """Returns the names of strings of a row, or of columns, that nothing reads."""
    read = {*text_names(row), label_name(row), *extra_names}
    return [name for name, value in row.items() if name not in read and is_string(value)]


def log_unread(row: dict, extra_names: Collection[str]) -> None:
    """Logs the names of strings of a row that nothing reads."""
    names = unread(row, is_text, extra_names)
    if names:
        logger.warning(
            "Texts are read from %s; nothing reads %s.",
            " and ".join(text_names(row)),
            ", ".join(map(str, names)),
        )


def label_name(row: dict) -> str | None:
    """Returns the name of the label of a data set's row, or None."""
    return next((name for name in _LABELS if name in row), None)


def first_element(x: Any) -> Any:
    """Returns the first example or batch of an iterable, or its spec; `()` if it is empty.

    Returns None for an iterator, which would lose it, and for what isn't iterated over.
    """
    if is_dataset(x):
        return x.element_spec
    if isinstance(x, keras.utils.PyDataset):
        return x[0]
    if isinstance(x, StreamBatches):
        return x.first
    if _is_torch_loader(x):  # its order isn't touched
        if any(base.__name__ == "IterableDataset" for base in type(x.dataset).__mro__):
            return next(iter(x.dataset), ())
        return x.dataset[0] if hasattr(x.dataset, "__getitem__") else ()
    if "grain" in _packages(x) and not hasattr(x, "__next__"):
        return x[0] if hasattr(x, "__getitem__") else next(iter(x))
    return None


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


def elements_of(x: Any) -> Iterator[Any]:
    """Yields the elements of a pass over a stream: examples, or batches of them."""
    if is_dataset(x):
        return x.as_numpy_iterator()
    if isinstance(x, keras.utils.PyDataset):
        return _py_dataset_batches(x)
    if _is_torch_loader(x):
        return map(_torch_columns(x), x)
    return iter(x)


def _py_dataset_batches(x):
    for index in range(x.num_batches) if x.num_batches is not None else itertools.count():
        yield x[index]
    x.on_epoch_end()


def _torch_columns(loader):
    """Returns how to convert what a PyTorch loader yields: lists stand for tuples."""
    if loader.batch_sampler is None:
        return lambda example: tuple(example) if isinstance(example, list) else example
    if getattr(loader.collate_fn, "__name__", "") == "default_collate":
        return _as_columns
    return _collated


def _collated(batch):
    """Returns what a user's own function makes of a batch: columns, or a list of its examples."""
    if isinstance(batch, tuple):
        are_columns = any(isinstance(v, list) or getattr(v, "ndim", 0) > 0 for v in batch)
    else:
        are_columns = isinstance(batch, dict)
    return batch if are_columns else list(batch)


def _as_columns(batch):
    if isinstance(batch, dict):
        return map_values(_as_columns, batch)
    is_column = not isinstance(batch, (tuple, list)) or all(isinstance(v, str) for v in batch)
    return batch if is_column else tuple(map(_as_columns, batch))


class Pass:
    """A pass over a stream that has begun.

    Args:
        x: the stream.

    Attributes:
        num_read: int, the number of examples that were read.
        own_batch_size: int, the number of rows of the first batch of a `tf.data.Dataset` or a
            `PyDataset`, which the model gets as they are; None of any other stream.
    """

    def __init__(self, x: Any):
        self.num_read = 0
        self.own_batch_size = None
        self._holds_batches = _holds_batches(x)
        elements = elements_of(x)
        first = list(itertools.islice(elements, 1))
        self._elements = itertools.chain(first, elements)
        if has_own_batches(x) and first and self._is_batch(first[0]):
            self.own_batch_size = len(_rows_of_batch(first[0]))

    def examples(
        self, num_batches: int | None = None, own_sizes: deque[int] | None = None
    ) -> Iterator[Any]:
        """Yields the examples, or those of so many batches, whose sizes it adds to `own_sizes`."""
        for element in itertools.islice(self._elements, num_batches):
            rows = _rows_of_batch(element) if self._is_batch(element) else [element]
            if own_sizes is not None and rows:
                own_sizes.append(len(rows))
            for row in rows:
                self.num_read += 1
                yield row

    def _is_batch(self, element):
        """Whether an element is a batch in columns: an array of its inputs holds strings."""
        inputs = inputs_of(element)
        if isinstance(inputs, dict):  # whose keys PyTorch's trees would sort, as if all were names
            inputs = list(inputs.values())
        leaves = keras.tree.flatten(inputs)
        holds_strings = (getattr(leaf, "ndim", 0) > 0 and is_raw(leaf) for leaf in leaves)
        return self._holds_batches or any(holds_strings)


def _holds_batches(x: Any) -> bool:
    """Returns whether all elements of a stream are batches in columns."""
    if _is_torch_loader(x):
        return x.batch_sampler is not None
    return isinstance(x, keras.utils.PyDataset) or type(x).__name__ == "BatchIterDataset"  # grain's


def _rows_of_batch(batch: Any) -> list:
    """Returns the examples of a batch in columns: a dict, a tuple or a column of them."""
    if isinstance(batch, dict):
        return rows_of(map_values(_rows_of_batch, batch))
    if isinstance(batch, tuple) and not all(isinstance(value, str) for value in batch):
        columns = list(map(_rows_of_batch, batch))
        if len(set(map(len, columns))) > 1:
            raise ValueError(f"The columns of a batch differ in length: {shown(batch)}.")
        return list(zip(*columns, strict=True))
    if isinstance(batch, (tuple, list)):
        return list(batch)
    array = in_numpy(batch)
    if not array.ndim:
        raise ValueError(f"A column of a batch is a single value, {shown(array)}: give arrays.")
    return list(array)


def count_of(x: Any) -> float | None:
    """Returns the number of examples or batches of a pass of a stream; None if it is unknown.

    That of a PyTorch loader is of examples.
    """
    if is_dataset(x):
        count = int(x.cardinality())
        return {-1: math.inf, -2: None}.get(count, count)
    if isinstance(x, keras.utils.PyDataset):
        return math.inf if x.num_batches is None else x.num_batches
    if not _is_torch_loader(x) or (x.batch_size is None and x.batch_sampler is not None):
        return None  # of a sampler of the user's own batches, too
    try:
        return len(x) * x.batch_size if x.drop_last else len(x.sampler)
    except TypeError:  # a data set without a length
        return None


def size_of(x: Any) -> int | None:
    """Returns the number of elements of an iterable; None if it doesn't know."""
    try:
        return len(x)
    except TypeError:  # such as of a PyTorch loader whose data set has no length
        return None


def _is_torch_loader(x):
    return "torch" in _packages(x) and hasattr(x, "dataset")


def _packages(x):
    return {base.__module__.partition(".")[0] for base in type(x).__mro__}


def has_own_batches(x: object) -> bool:
    """Returns whether `x` is a `tf.data.Dataset` or a `PyDataset`: a model gets their batches."""
    return is_dataset(x) or isinstance(x, keras.utils.PyDataset)


def rows_of(columns: Mapping) -> list[dict]:
    """Returns the rows of a dict of columns, a dict each."""
    lengths = {
        len(column) if hasattr(column, "__len__") and getattr(column, "shape", None) != () else None
        for column in columns.values()
    }
    if len(lengths) > 1 or None in lengths:
        raise ValueError(f"Columns must be lists of the same length; got {shown(columns)}.")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def inputs_of(batch: Any) -> Any:
    """Returns the inputs of a batch, or of its spec, without labels and weights."""
    return batch[0] if isinstance(batch, tuple) and batch else batch
