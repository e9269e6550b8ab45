"""Data that a user gives to a verb of a task: a class for each form."""

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.data.columns import check_has_labels, check_structure, example_weights, has_one_each
from keras_bert.data.prepared_inputs import (
    check_extra_inputs,
    input_arrays,
    with_checks,
    with_extra_arrays,
)
from keras_bert.data.translators import first_element, inputs_of, size_of
from keras_bert.losses import Distillation
from keras_bert.messages import NO_EXAMPLES, check_one_each, logger, shown
from keras_bert.preprocessing.batches import Batches, StreamBatches, row_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.forms import Labels, in_numpy, is_dataset, is_single, take
from keras_bert.preprocessing.labels import AnyLabels, ClassLabels, class_numbers
from keras_bert.preprocessing.text_rows import Rows
from keras_bert.preprocessing.texts import in_parts


def unpacked(batch: Any) -> tuple[Any, Any, Any]:
    """Returns a batch as `(x, y, sample_weight)`; further columns are dropped."""
    columns = batch[:3] if isinstance(batch, (tuple, list)) else (batch,)
    return keras.utils.unpack_x_y_sample_weight(columns)


@contextlib.contextmanager
def reading(*data: "Data | None") -> Iterator[None]:
    """Has Keras end a pass of a stream without a warning, and raises the stream's own errors.

    TensorFlow's pipelines lose the type of an error.
    """
    streams = [one for one in data if one is not None and one.is_streamed]
    streams = [one for one in streams if one.is_raw or isinstance(one.x, StreamBatches)]
    with warnings.catch_warnings():
        if streams:
            warnings.filterwarnings("ignore", "Your input ran out of data")
        try:
            yield
        except Exception as error:
            for stream in streams if type(error).__module__.startswith("tensorflow.") else ():
                if stream.error is not None:
                    raise stream.error from error
            raise


class Data:
    """Examples in one form; `data_of` chooses the class.

    By default, a method reads the examples into memory and asks those. A form overrides what it can
    do without that.

    Args:
        task: the `BertTask` that reads them.
        x: the examples, as given.
        y: labels, unless `x` contains them.
        sample_weight: weights, unless `x` contains them.
    """

    is_raw = False  # whether a preprocessor reads `x`
    is_single = False  # whether `x` is one example
    is_streamed = False  # whether examples are read only when they are needed
    is_read_once = False  # whether they can be read only once
    count = None  # the number of examples in memory
    error: Exception | None = None  # of reading a stream

    def __init__(self, task: keras.Model, x: Any, y: Any = None, sample_weight: Any = None):
        self.task = task
        self.x = x
        self.y = y
        self.sample_weight = sample_weight

    def in_memory(self, most: int | None = None) -> "InMemory":
        """Reads the examples, or up to `most` elements of a stream."""
        raise NotImplementedError

    def split(self, validation_split: float) -> tuple["Data", "Data"]:
        """Splits into the first examples, to train on, and the last ones, to validate on.

        Their order stays the same, so shuffle sorted examples first.
        """
        if self.is_streamed:
            raise ValueError("validation_split needs examples in memory: pass validation_data.")
        return self.in_memory().split(validation_split)

    def batches(self, batching: Batching) -> Any:
        """Makes the batches that `fit` trains on."""
        return self.in_memory().batches(batching)

    def for_keras(
        self, batching: Batching, steps: int | None = None, epochs: int | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns the `(x, y, sample_weight)` of `keras.Model.fit`, or without epochs `evaluate`.

        Args:
            batching: a `Batching`.
            steps: int, the steps of each epoch; None takes all examples.
            epochs: int, the passes that `fit` makes.
        """
        return self.in_memory().for_keras(batching)


class InMemory(Data):
    """Examples or inputs in memory."""

    def in_memory(self, most=None):
        return self

    def split(self, validation_split):
        for column in (self.y, self.sample_weight):
            if column is not None and not isinstance(column, dict):
                check_one_each(self.count, "examples", **{"labels or weights": column})
        start = first_to_validate_on(self.count, validation_split)
        training = self.part(slice(start))
        validation = self.part(slice(start, None))
        labels = self.task.labels
        if isinstance(labels, ClassLabels) and self.y is not None:
            numbers = map(self.task.targets, (training.y, validation.y))
            warn_of_split(labels.names, *map(class_numbers, numbers))
        return training, validation

    def part(self, part: slice) -> Self:
        """Returns a slice of the examples, with their labels and weights."""
        columns = take((self.x, self.y, self.sample_weight), part)
        return type(self)(self.task, *columns)

    def with_weights(self, sample_weight: Any) -> Self:
        """Returns the same examples and labels with other weights."""
        return type(self)(self.task, self.x, self.y, sample_weight)


class Raw(Data):
    """Raw examples, which the task's preprocessor reads."""

    is_raw = True

    @property
    def preprocessor(self) -> Any:
        return preprocessor_of(self.task)

    def chunks(self) -> Iterator[Rows]:
        """Reads the examples, without their labels, in chunks."""
        raise NotImplementedError

    def rows_to_predict(self, batch_size: int, steps: int | None, is_whole: bool) -> Iterator[Rows]:
        """Reads the examples of so many batches, without their labels; at once if `is_whole`."""
        raise NotImplementedError


class RawExamples(Raw, InMemory):
    """Raw examples in memory, in any form; `x` becomes the list that the preprocessor makes."""

    def __init__(self, task, x, y=None, sample_weight=None):
        listed = preprocessor_of(task).listed(x)
        super().__init__(task, listed, y, sample_weight)
        self.is_single = is_single(x)
        self.count = len(listed)

    @property
    def extra_inputs(self) -> dict[str, np.ndarray]:
        """Inputs alongside the texts."""
        return getattr(self.x, "extra_inputs", {})

    def checked(self) -> Any:
        """Returns `x` after a check of its extra inputs."""
        check_extra_inputs(self.task, self.extra_inputs)
        return self.x

    def batches(self, batching):
        return self.rows().batches(batching)

    def rows(self) -> Rows:
        """Reads the examples, with their labels and weights."""
        weights = example_weights(self.task, self.y, self.sample_weight)
        rows = self.preprocessor.read(self.checked(), self.y, weights, with_labels=True)
        check_structure(self.task, self.y)
        rows.warn_if_cut(self.preprocessor)
        return rows

    def for_keras(self, batching, steps=None, epochs=None):
        batches = self.batches(batching)
        check_has_labels(self.task, isinstance(batches.first, tuple))
        return on_backend(batches, self.task), None, None

    def chunks(self):
        return map(self.preprocessor.read, in_parts(self.checked()))

    def rows_to_predict(self, batch_size, steps=None, is_whole=True):
        most = Batching(batch_size).num_rows(steps)
        yield self.preprocessor.read(self.checked()[:most])


class Inputs(Data):
    """Prepared inputs, alone or with labels and weights."""

    def checked_inputs(self) -> Any:
        """Returns inputs, perhaps with labels and weights, whose values are checked."""
        raise NotImplementedError


class InputArrays(Inputs, InMemory):
    """Prepared inputs in memory: a dict of arrays, or a tuple of dicts, one for each text."""

    @classmethod
    def of_batch(cls, task: keras.Model, batch: Any) -> Self:
        """Makes them of a batch, whose labels are class numbers, also where names are digits."""
        x, y, sample_weight = unpacked(batch)
        return cls(task, x, task.labels.of_batch(y), sample_weight)

    @property
    def count(self) -> int:
        inputs = inputs_of(self.x)
        if not isinstance(inputs, dict):
            raise no_inputs(self.task, inputs)
        ids = inputs.get("token_ids")
        return 0 if ids is None else len(ids)

    @property
    def extra_inputs(self) -> dict[str, Any]:
        """All inputs, including those alongside token ids."""
        return self.x

    def batches(self, batching):
        return prepared_batches(*self.checked(), batching)

    def for_keras(self, batching, steps=None, epochs=None):
        check_has_labels(self.task, self.y is not None)
        return self.checked()

    def checked_inputs(self):
        return self.checked()[0]

    def checked(self) -> tuple[Any, Any, Any]:
        """Returns checked inputs, labels in the loss's form, and weights, as arrays."""
        x = self._arrays(self.x)
        check_structure(self.task, self.y)
        rows = len(keras.tree.flatten(x)[0])
        weights = example_weights(self.task, self.y, self.sample_weight, rows)
        y = self.y
        if y is not None:
            y = self.task.labels.checked(self.task.targets(y), x)
        return x, y, weights

    def _arrays(self, inputs):
        if isinstance(inputs, tuple):
            return tuple(map(self._arrays, inputs))
        if not isinstance(inputs, dict):
            raise no_inputs(self.task, inputs)
        if "token_ids" in inputs:
            inputs = with_extra_arrays(self.task, inputs)
        return input_arrays(self.task, inputs)


class InputDataset(Inputs):
    """A `tf.data.Dataset` of prepared inputs, perhaps with labels and weights."""

    is_streamed = True

    def in_memory(self, most=None):
        return InputArrays.of_batch(self.task, joined(self.x.as_numpy_iterator(), most))

    def batches(self, batching):
        if isinstance(self.task.loss, Distillation):
            return self.checked_inputs()
        _, y, _ = unpacked(self.x.element_spec)
        check_structure(self.task, y)
        shape = getattr(y, "shape", [None])
        if getattr(shape, "rank", 1) is None:
            raise ValueError(
                "Labels of a dataset must have a known number of axes: map them through "
                "tf.ensure_shape(labels, [None]), or [None, C] of one-hot labels."
            )
        if None not in shape[1:]:
            self.task.check_labels(np.zeros((1, *shape[1:])))
        return self.checked_inputs(self.task.labels)

    def for_keras(self, batching, steps=None, epochs=None):
        check_has_labels(self.task, unpacked(self.x.element_spec)[1] is not None)
        return self.batches(batching), self.y, self.sample_weight

    def checked_inputs(self, labels=AnyLabels()):  # noqa: B008 (it has no state)
        check_extra_inputs(self.task, inputs_of(self.x.element_spec), may_be_one=True)
        if int(self.x.cardinality()) == 0:
            raise ValueError(NO_EXAMPLES)
        return with_checks(self.task, self.x, labels)


class InputBatches(Inputs):
    """Batches of prepared inputs from a generator, a `PyDataset` or a loader."""

    is_streamed = True

    @property
    def error(self) -> Exception | None:
        return self.x.error if isinstance(self.x, StreamBatches) else None

    def in_memory(self, most=None):
        count = size_of(self.x)
        if count is None:
            raise ValueError(
                f"A {type(self.x).__name__} of batches may have no end: give arrays, a PyDataset, "
                "a loader or a tf.data.Dataset."
            )
        batches = itertools.islice(self.checked_inputs(), count)  # a PyDataset may have no end
        batches = list(itertools.islice(batches, most))
        arrays = keras.tree.map_structure(keras.ops.convert_to_numpy, batches)
        batch = InputArrays.of_batch(self.task, joined(arrays))
        if batch.y is None:
            batch.y = self.y
        return batch

    def for_keras(self, batching, steps=None, epochs=None):
        batches = on_backend(self.x, self.task)
        if is_dataset(batches):
            dataset = InputDataset(self.task, batches, self.y, self.sample_weight)
            return dataset.for_keras(batching)
        batches = self.checked_inputs()
        check_structure(self.task, unpacked(first_element(self.x))[1])
        return batches, self.y, self.sample_weight

    def checked_inputs(self):
        if hasattr(self.x, "__next__"):
            return self._checked_batches()
        batch = first_element(self.x)
        if batch is None:
            check_extra_inputs(self.task, self.x)  # which names what is missing
            raise no_inputs(self.task, self.x)
        return self.x

    def _checked_batches(self):
        for batch in self.x:
            checked = InputArrays.of_batch(self.task, batch).checked()
            packed = keras.utils.pack_x_y_sample_weight(*checked)
            yield packed if isinstance(packed, tuple) else (packed,)  # Keras takes only tuples


def no_inputs(task: keras.Model, x: Any) -> ValueError:
    """Makes the error for data that a task doesn't take."""
    return ValueError(
        f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
        f"batches of either; got {shown(x)}."
    )


def on_backend(batches: Any, task: keras.Model) -> Any:
    """On TensorFlow, returns our batches as a dataset, which its strategies distribute."""
    if not isinstance(batches, (Batches, StreamBatches)) or keras.backend.backend() != "tensorflow":
        return batches
    from keras_bert.graph.datasets import as_dataset

    return as_dataset(batches, not has_one_each(task))


def prepared_batches(
    x: Mapping[str, npt.ArrayLike],
    y: Labels | None,
    sample_weight: npt.ArrayLike | None,
    batching: Batching,
) -> Batches:
    """Batches prepared inputs in memory."""
    if isinstance(x, tuple):  # a dict for each text of an example
        inputs = tuple(map(in_numpy, x))
    else:
        inputs = in_numpy(x)
    targets = [in_numpy(part) for part in (y, sample_weight) if part is not None]
    parts = (inputs, *targets)
    first, *_ = keras.tree.flatten(parts)
    lengths = np.zeros(len(first))  # rows keep their padding

    def make(rows):
        return keras.tree.map_structure(lambda values: values[rows], parts)

    return row_batches(lengths, make, batching)


def joined(elements: Iterable[Any], most: int | None = None) -> Any:
    """Joins examples or batches, as a `tf.data.Dataset` yields them, to one batch of arrays."""
    elements = list(itertools.islice(elements, most))
    if not elements:
        raise ValueError(NO_EXAMPLES)
    leaves = keras.tree.flatten(elements[0])
    are_examples = any(isinstance(leaf, bytes) for leaf in leaves)

    def join(*leaves):
        return np.stack(leaves) if are_examples else np.concatenate(leaves)

    try:
        return keras.tree.map_structure(join, *elements)
    except ValueError as error:
        raise ValueError("There are rows of different lengths: pad_to='full' pads all.") from error


def first_to_validate_on(count: int, validation_split: float) -> int:
    """Returns the index of the first example to validate on; those before it are to train on.

    >>> first_to_validate_on(4, 0.25)
    3
    """
    first = int(count * (1 - validation_split))
    use = "validate" if first else "train"
    if not 0 < first < count:
        raise ValueError(f"{validation_split=} of {count} examples leaves none to {use} on.")
    return first


def may_have_weights(x: Any) -> bool:
    """Returns whether `fit`'s x is our own batches, or a dataset with weights."""
    if not is_dataset(x):
        return isinstance(x, (Batches, StreamBatches))
    return isinstance(x.element_spec, tuple) and len(x.element_spec) == 3


def warn_of_split(names: Sequence[str], first: np.ndarray, last: np.ndarray) -> None:
    """Warns of class numbers to validate on, `last`, that are none of the `first`."""
    classes = np.unique(last)
    unseen = np.setdiff1d(classes, first)
    if unseen.size:
        logger.warning(
            "The first examples, to train on, have none of %s, which the last ones have: shuffle "
            "the examples before validation_split.",
            ", ".join(names[number] for number in unseen),
        )
    elif len(last) > 9 and len(classes) == 1:
        logger.warning(
            "The last examples, which validate, are all %s: shuffle the examples before "
            "validation_split.",
            names[classes[0]],
        )
