"""What a user gives to a verb of a task: a class for each form of data."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, Self

import keras
import numpy as np

from keras_bert.losses import Distillation
from keras_bert.messages import check_one_each, shown
from keras_bert.preprocessing import task_checks
from keras_bert.preprocessing.batches import Batches, prepared_batches
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.forms import (
    NO_EXAMPLES,
    check_not_empty,
    first_element,
    first_to_validate_on,
    is_dataset,
    is_raw,
    is_single,
    take,
)
from keras_bert.preprocessing.prepared_inputs import PACKED, input_arrays, with_input_checks


class Data:
    """Examples in one form; `data_of` chooses the class.

    Args:
        task: the `BertTask` that they are for.
        x: the examples, as they were given.
        y: labels, unless `x` contains them.
        sample_weight: weights, unless `x` contains them.
    """

    is_raw = False  # whether a preprocessor reads `x`
    is_single = False  # whether `x` is one example
    is_streamed = False  # whether examples are read as they are needed
    is_packed = False  # whether rows hold several sequences
    pools_windows = False  # whether the outputs of an example's windows become one
    count = None  # the number of examples in memory

    def __init__(self, task: keras.Model, x: Any, y: Any = None, sample_weight: Any = None):
        self.task, self.x, self.y, self.sample_weight = task, x, y, sample_weight

    def in_memory(self, most: int | None = None) -> "Data":
        """Reads what can be read, up to `most` elements of it."""
        return self

    def split(self, validation_split: float) -> tuple["Data", "Data"]:
        """Splits into the first examples, and the last ones, to validate on.

        Their order is kept, so shuffle examples that are sorted.
        """
        raise ValueError("validation_split needs examples in memory: pass validation_data.")

    def batches(self, batching: Batching) -> Any:
        """Makes the batches that `fit` trains on."""
        raise NotImplementedError

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        """Returns the `(x, y, sample_weight)` of `keras.Model.fit` and `evaluate`."""
        raise NotImplementedError

    def for_epochs(self, batching: Batching, epochs: int) -> tuple[Any, Any, Any]:
        """Like `for_keras`, for several passes."""
        return self.for_keras(batching)

    def chunks(self) -> Iterator[Any]:
        """Yields raw examples in chunks, so that reading them takes bounded memory."""
        raise ValueError(
            f"This needs texts, before they are prepared; got a {type(self.x).__name__} of inputs."
        )

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        """Computes the outputs of the task, as arrays."""
        raise NotImplementedError

    def chunks_of_outputs(self, batch_size: int, verbose: Any) -> Iterator[tuple[Any, Any]]:
        """Yields `(outputs, rows)` chunk by chunk; rows are None for prepared inputs."""
        if self.is_packed:
            raise ValueError(
                "answer and scores take no packed rows (sequence_ids): give the raw examples."
            )
        yield self.outputs(batch_size, verbose=verbose), None


class InMemory(Data):
    """Examples or inputs in memory."""

    def split(self, validation_split: float) -> tuple[Data, Data]:
        for column in (self.y, self.sample_weight):
            if column is not None and not isinstance(column, dict):
                check_one_each(self.count, "examples", **{"labels or weights": column})
        place = first_to_validate_on(self.count, validation_split)
        first, last = self.part(slice(place)), self.part(slice(place, None))
        self.task.check_split(first.y, last.y)
        return first, last

    def part(self, part: slice) -> Self:
        """Returns some of the examples, with their labels and weights."""
        columns = (take(column, part) for column in (self.x, self.y, self.sample_weight))
        return type(self)(self.task, *columns)

    def with_weights(self, sample_weight: Any) -> Self:
        """Returns the same examples and labels with other weights."""
        return type(self)(self.task, self.x, self.y, sample_weight)


class Raw(Data):
    """Raw examples, which the task's preprocessor reads."""

    is_raw = True

    @property
    def preprocessor(self) -> Any:
        return task_checks.preprocessor_of(self.task)

    @property
    def pools_windows(self) -> bool:
        return self.preprocessor.cuts_windows

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        return on_backend(self.labelled_batches(batching), self.task), None, None

    def labelled_batches(self, batching: Batching) -> Any:
        """Makes batches with labels if the task's loss takes them, or without."""
        made = self.batches(batching)
        task_checks.check_has_labels(self.task, has_labels(made))
        return made

    def checked(self) -> Any:
        """Returns `x`, after a check of the task's extra inputs."""
        raise NotImplementedError

    def chunks_of_outputs(self, batch_size: int, verbose: Any) -> Iterator[tuple[Any, Any]]:
        self.checked()
        for chunk in self.chunks():
            rows = self.preprocessor.read(chunk)
            yield self.task.predict_rows(rows, batch_size, verbose=verbose), rows


class RawExamples(Raw, InMemory):
    """Raw examples in memory, whatever their form was: `x` is what the preprocessor lists."""

    def __init__(self, task: keras.Model, x: Any, y: Any = None, sample_weight: Any = None):
        super().__init__(task, x, y, sample_weight)
        self.is_single = is_single(x)
        self.x = self.preprocessor.listed(x)
        self.count = len(self.x)

    @property
    def extra_inputs(self) -> dict[str, np.ndarray]:
        """What examples hold alongside text."""
        return getattr(self.x, "extra_inputs", {})

    def checked(self) -> Any:
        task_checks.check_extra_inputs(self.task, self.extra_inputs)
        return self.x

    def batches(self, batching: Batching) -> Any:
        batching.check_model(self.task)
        weights = task_checks.example_weights(self.task, self.y, self.sample_weight)
        return self.preprocessor.batches(self.checked(), self.y, weights, batching=batching)

    def chunks(self) -> Iterator[Any]:
        return self.preprocessor.parts(self.x)

    def outputs(self, batch_size: int, steps: int | None = None, **kwargs: Any) -> Any:
        most = None if steps is None else steps * batch_size
        rows = self.preprocessor.read(self.checked()[:most])
        return self.task.predict_rows(rows, batch_size, **kwargs)


class RawDataset(Raw):
    """A `tf.data.Dataset` of raw examples."""

    is_streamed = True

    def in_memory(self, most: int | None = None) -> Data:
        return RawExamples(self.task, *arrays_of_dataset(self, most))

    def checked(self) -> Any:
        task_checks.check_extra_specs(self.task, self.x)
        return self.x

    def chunks(self) -> Iterator[Any]:
        from keras_bert.preprocessing.text_streams import text_batches

        most = self.preprocessor.max_texts
        for columns, extra_inputs, _ in text_batches(self.x, 1024, False, most):
            yield self.preprocessor.listed({"text": tuple(columns), **extra_inputs})

    def batches(self, batching: Batching) -> Any:
        batching.check_model(self.task)
        preprocessor, dataset = self.preprocessor, self.checked()
        check_not_empty(dataset)
        made = preprocessor.batches(dataset, self.y, self.sample_weight, batching=batching)
        task_checks.check_dataset_labels(self.task, made)
        return self.task.with_checked_labels(made) if has_labels(made) else made

    def outputs(self, batch_size: int, steps: int | None = None, **kwargs: Any) -> Any:
        preprocessor, dataset = self.preprocessor, self.checked()
        if preprocessor.cuts_windows:
            most = None if steps is None else steps * batch_size
            return self.in_memory(most).outputs(batch_size, steps, **kwargs)
        has_tokens = any(None in part.shape[1:] for part in keras.tree.flatten(self.task.output))
        pad_to = "full" if has_tokens else "auto"
        batching = Batching(batch_size, pad_to=pad_to, drop_remainder=False)
        data = preprocessor.batches(dataset, batching=batching, with_labels=False)
        return self.task.predict_batches(data, steps=steps, **kwargs)


class InputArrays(InMemory):
    """Prepared inputs in memory: a dict of arrays, or a tuple of dicts, one for each text."""

    @property
    def count(self) -> int:
        inputs = self.x[0] if isinstance(self.x, tuple) else self.x
        return len(inputs.get("token_ids", ()))

    @property
    def extra_inputs(self) -> dict[str, Any]:
        """All inputs, those alongside token ids among them."""
        return self.x

    @property
    def is_packed(self) -> bool:
        return isinstance(self.x, dict) and any(self.x.get(name) is not None for name in PACKED)

    def batches(self, batching: Batching) -> Any:
        return prepared_batches(*self.checked(), batching)

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        task_checks.check_has_labels(self.task, self.y is not None)
        return self.checked()

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        return self.task.predict_batches(self.checked()[0], batch_size, **kwargs)

    def checked(self) -> tuple[Any, Any, Any]:
        """Returns arrays: checked inputs, labels in the loss's form, and weights."""
        task = self.task
        x = tuple(map(self._arrays, self.x)) if isinstance(self.x, tuple) else self._arrays(self.x)
        task_checks.check_structure(task, (x, self.y))
        if "cls_positions" not in x or len(getattr(task.output, "shape", ())) != 2:
            rows = len(keras.tree.flatten(x)[0])
            return x, *self._targets(x, self.y, self.sample_weight, rows)
        slots = np.shape(x["cls_positions"])  # labels are [n, K]
        y = task_checks.slots_as_rows("y", self.y, slots)
        weights = task_checks.slots_as_rows("sample_weight", self.sample_weight, slots)
        y, weights = self._targets(x, y, weights, math.prod(slots))
        return x, task_checks.rows_as_slots(y, slots), task_checks.rows_as_slots(weights, slots)

    def _arrays(self, inputs):
        if not isinstance(inputs, dict):
            raise no_inputs(self.task, inputs)
        if "token_ids" in inputs:
            inputs = task_checks.with_extra_arrays(self.task, inputs)
        return input_arrays(self.task, inputs)

    def _targets(self, x, y, sample_weight, rows):
        weights = task_checks.example_weights(self.task, y, sample_weight, rows)
        return None if y is None else self.task.targets(y, x), weights


class InputDataset(Data):
    """A `tf.data.Dataset` of prepared inputs, alone or with labels and weights."""

    is_streamed = True

    @property
    def is_packed(self) -> bool:
        spec = self.x.element_spec
        inputs = spec[0] if isinstance(spec, tuple) else spec
        return isinstance(inputs, dict) and "sequence_ids" in inputs

    def in_memory(self, most: int | None = None) -> Data:
        check_not_empty(self.x)
        dataset = self.x if most is None else self.x.take(most)
        return InputArrays(self.task, *_joined(dataset.as_numpy_iterator()))

    def batches(self, batching: Batching) -> Any:
        return self.for_keras(batching)[0]

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        dataset, task = self._checked(), self.task
        if not isinstance(task.loss, Distillation):
            task_checks.check_dataset_labels(task, dataset)
            dataset = task.with_checked_labels(dataset)
        return dataset, self.y, self.sample_weight

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        return self.task.predict_batches(self._checked(), None, **kwargs)

    def _checked(self):
        task_checks.check_extra_specs(self.task, self.x)
        check_not_empty(self.x)
        return with_input_checks(self.task, self.x)


class InputBatches(Data):
    """Batches of prepared inputs from a generator, a `PyDataset` or a loader."""

    is_streamed = True

    @property
    def is_packed(self) -> bool:
        batch = self.x[0] if isinstance(self.x, keras.utils.PyDataset) else None
        inputs = batch[0] if isinstance(batch, tuple) and batch else batch
        return isinstance(inputs, dict) and inputs.get("sequence_ids") is not None

    def in_memory(self, most: int | None = None) -> Data:
        if not hasattr(self.x, "__len__"):
            raise ValueError(
                f"A {type(self.x).__name__} of batches may have no end: give arrays, a PyDataset, "
                "a loader or a tf.data.Dataset."
            )
        batches = self._checked(with_labels=False)
        number = len(batches) if most is None else min(most, len(batches))
        x, y, sample_weight = _joined(itertools.islice(batches, number))
        y = self.y if y is None else y
        return InputArrays(self.task, x, y, sample_weight)

    def batches(self, batching: Batching) -> Any:
        return self.in_memory().batches(batching)

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        if isinstance(self.x, Batches) and keras.backend.backend() == "tensorflow":
            dataset = InputDataset(
                self.task, on_backend(self.x, self.task), self.y, self.sample_weight
            )
            return dataset.for_keras(batching)
        return self._checked(with_labels=True), self.y, self.sample_weight

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        return self.task.predict_batches(self._checked(with_labels=False), batch_size, **kwargs)

    def _checked(self, with_labels):
        if hasattr(self.x, "__next__"):
            return self._checked_batches()
        batch = first_element(self.x)
        if batch is None:
            task_checks.with_extra_arrays(self.task, self.x)  # which names what is missing
            raise no_inputs(self.task, self.x)
        self._check_not_raw(batch)
        if with_labels:
            task_checks.check_structure(self.task, batch)
        return self.x

    def _checked_batches(self):
        for batch in self.x:
            self._check_not_raw(batch)
            parts = batch if isinstance(batch, tuple) else (batch,)
            checked = InputArrays(self.task, *parts[:3]).checked()
            present = tuple(part for part in checked if part is not None)
            yield present if isinstance(batch, tuple) else present[0]

    def _check_not_raw(self, batch):
        if is_raw(batch[0] if isinstance(batch, (tuple, list)) and batch else batch):
            raise ValueError(
                f"A {type(self.x).__name__} can't yield batches of raw examples: give single ones, "
                "a list, or a tf.data.Dataset."
            )


def _joined(batches):
    """Joins batches of inputs, labels and weights to arrays `(x, y, sample_weight)`."""
    arrays = [keras.tree.map_structure(keras.ops.convert_to_numpy, batch) for batch in batches]
    if not arrays:
        raise ValueError(NO_EXAMPLES)
    arrays = [batch if isinstance(batch, (tuple, list)) else (batch,) for batch in arrays]
    try:
        joined = keras.tree.map_structure(lambda *parts: np.concatenate(parts), *arrays)
    except ValueError as error:
        raise ValueError(
            "Batches of rows of different lengths make no array: pad all to one length, such as "
            "with pad_to='full'."
        ) from error
    return (*joined, None, None)[:3]


def no_inputs(task: keras.Model, x: Any) -> ValueError:
    """Makes the error for what a task can't take."""
    return ValueError(
        f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
        f"batches of either; got {shown(x)}."
    )


def has_labels(batches: Any) -> bool:
    """Returns whether batches hold labels after their inputs."""
    return isinstance(batches.element_spec if is_dataset(batches) else batches[0], tuple)


def on_backend(batches: Any, task: keras.Model) -> Any:
    """Returns `Batches` as a dataset, which TensorFlow's strategies distribute, on TensorFlow."""
    if not isinstance(batches, Batches) or keras.backend.backend() != "tensorflow":
        return batches
    from keras_bert.graph.datasets import as_dataset

    return as_dataset(batches, not task_checks.has_one_each(task))


def arrays_of_dataset(data: Data, most: int | None) -> tuple[Any, Any, Any]:
    """Reads `(x, y, sample_weight)` of a dataset, up to `most` elements."""
    from keras_bert.preprocessing.text_streams import arrays_of

    dataset = data.x if most is None else data.x.take(most)
    return arrays_of(dataset, data.task.takes_columns)
