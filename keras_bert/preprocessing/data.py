"""Data that a user gives to a verb of a task: a class for each form."""

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
    check_not_empty,
    first_element,
    first_to_validate_on,
    is_dataset,
    is_raw,
    is_single,
    joined,
    take,
)
from keras_bert.preprocessing.prepared_inputs import PACKED, input_arrays, with_input_checks


class Data:
    """Examples in one form; `data_of` chooses the class.

    Args:
        task: the `BertTask` that reads them.
        x: the examples, as given.
        y: labels, unless `x` contains them.
        sample_weight: weights, unless `x` contains them.
    """

    is_raw = False  # whether a preprocessor reads `x`
    is_single = False  # whether `x` is one example
    is_streamed = False  # whether examples are read only when they are needed
    is_packed = False  # whether rows hold several sequences
    pools_windows = False  # whether the outputs of an example's windows become one
    count = None  # the number of examples in memory

    def __init__(self, task: keras.Model, x: Any, y: Any = None, sample_weight: Any = None):
        self.task = task
        self.x = x
        self.y = y
        self.sample_weight = sample_weight

    def in_memory(self, most: int | None = None) -> "Data":
        """Reads the examples, or up to `most` elements of a stream."""
        return self

    def split(self, validation_split: float) -> tuple["Data", "Data"]:
        """Splits into the first examples, to train on, and the last ones, to validate on.

        Their order stays the same, so shuffle sorted examples first.
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
        """Yields chunks of raw examples, so that reading them takes bounded memory."""
        raise ValueError(
            f"This needs texts, before they are prepared; got a {type(self.x).__name__} of inputs."
        )

    def outputs(self, batch_size: int, **kwargs: Any) -> Any:
        """Computes the task's outputs, as arrays."""
        raise NotImplementedError

    def chunks_of_outputs(self, batch_size: int, verbose: Any) -> Iterator[tuple[Any, Any]]:
        """Yields the `(outputs, rows)` of each chunk; rows are None for prepared inputs."""
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
        start = first_to_validate_on(self.count, validation_split)
        training = self.part(slice(start))
        validation = self.part(slice(start, None))
        self.task.check_split(training.y, validation.y)
        return training, validation

    def part(self, part: slice) -> Self:
        """Returns a slice of the examples, with their labels and weights."""
        return type(self)(self.task, *take((self.x, self.y, self.sample_weight), part))

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
        batches = self.batches(batching)
        task_checks.check_has_labels(self.task, has_labels(batches))
        return batches

    def checked(self) -> Any:
        """Returns `x` after a check of its extra inputs."""
        raise NotImplementedError

    def chunks_of_outputs(self, batch_size: int, verbose: Any) -> Iterator[tuple[Any, Any]]:
        self.checked()
        for chunk in self.chunks():
            rows = self.preprocessor.read(chunk)
            yield self.task.predict_rows(rows, batch_size, verbose=verbose), rows


class RawExamples(Raw, InMemory):
    """Raw examples in memory, in any form; `x` becomes the list that the preprocessor makes."""

    def __init__(self, task: keras.Model, x: Any, y: Any = None, sample_weight: Any = None):
        super().__init__(task, x, y, sample_weight)
        self.is_single = is_single(x)
        self.x = self.preprocessor.listed(x)
        self.count = len(self.x)

    @property
    def extra_inputs(self) -> dict[str, np.ndarray]:
        """Inputs alongside the texts."""
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
        from keras_bert.preprocessing.text_streams import are_strings

        examples = joined(itertools.islice(self.x.as_numpy_iterator(), most))
        if self.task.takes_columns and are_strings(self.x.element_spec):
            return RawExamples(self.task, examples)
        return RawExamples(self.task, *_unpacked(examples))

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
        preprocessor = self.preprocessor
        dataset = self.checked()
        check_not_empty(dataset)
        batches = preprocessor.batches(dataset, self.y, self.sample_weight, batching=batching)
        task_checks.check_dataset_labels(self.task, batches)
        return self.task.with_checked_labels(batches) if has_labels(batches) else batches

    def outputs(self, batch_size: int, steps: int | None = None, **kwargs: Any) -> Any:
        preprocessor = self.preprocessor
        dataset = self.checked()
        if preprocessor.cuts_windows:
            most = None if steps is None else steps * batch_size
            return self.in_memory(most).outputs(batch_size, steps, **kwargs)
        outputs = keras.tree.flatten(self.task.output)
        has_token_axis = any(None in output.shape[1:] for output in outputs)
        pad_to = "full" if has_token_axis else "auto"
        batching = Batching(batch_size, pad_to=pad_to, drop_remainder=False)
        batches = preprocessor.batches(dataset, batching=batching, with_labels=False)
        return self.task.predict_batches(batches, steps=steps, **kwargs)


class InputArrays(InMemory):
    """Prepared inputs in memory: a dict of arrays, or a tuple of dicts, one for each text."""

    @property
    def count(self) -> int:
        inputs = self.x[0] if isinstance(self.x, tuple) else self.x
        return len(inputs.get("token_ids", ()))

    @property
    def extra_inputs(self) -> dict[str, Any]:
        """All inputs, including those alongside token ids."""
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
        """Returns checked inputs, labels in the loss's form, and weights, as arrays."""
        x = self._arrays(self.x)
        task_checks.check_structure(self.task, (x, self.y))
        if "cls_positions" in x and task_checks.has_one_each(self.task):
            return x, *self._packed_targets(x)
        rows = len(keras.tree.flatten(x)[0])
        return x, *self._targets(x, self.y, self.sample_weight, rows)

    def _arrays(self, inputs):
        if isinstance(inputs, tuple):
            return tuple(map(self._arrays, inputs))
        if not isinstance(inputs, dict):
            raise no_inputs(self.task, inputs)
        if "token_ids" in inputs:
            inputs = task_checks.with_extra_arrays(self.task, inputs)
        return input_arrays(self.task, inputs)

    def _packed_targets(self, x):
        """Returns labels and weights of the sequences in packed rows, `[n, K, ...]`."""
        slots = np.shape(x["cls_positions"])  # [n, K]
        y = task_checks.slots_as_rows("y", self.y, slots)
        weights = task_checks.slots_as_rows("sample_weight", self.sample_weight, slots)
        y, weights = self._targets(x, y, weights, math.prod(slots))
        return task_checks.rows_as_slots(y, slots), task_checks.rows_as_slots(weights, slots)

    def _targets(self, x, y, sample_weight, rows):
        weights = task_checks.example_weights(self.task, y, sample_weight, rows)
        return None if y is None else self.task.targets(y, x), weights


class InputDataset(Data):
    """A `tf.data.Dataset` of prepared inputs, perhaps with labels and weights."""

    is_streamed = True

    @property
    def is_packed(self) -> bool:
        spec = self.x.element_spec
        inputs = spec[0] if isinstance(spec, tuple) else spec
        return isinstance(inputs, dict) and "sequence_ids" in inputs

    def in_memory(self, most: int | None = None) -> Data:
        batch = joined(itertools.islice(self.x.as_numpy_iterator(), most))
        return InputArrays(self.task, *_unpacked(batch))

    def batches(self, batching: Batching) -> Any:
        return self.for_keras(batching)[0]

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        dataset = self._checked()
        if not isinstance(self.task.loss, Distillation):
            task_checks.check_dataset_labels(self.task, dataset)
            dataset = self.task.with_checked_labels(dataset)
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
        count = len(batches) if most is None else min(most, len(batches))
        batches = itertools.islice(batches, count)
        arrays = [keras.tree.map_structure(keras.ops.convert_to_numpy, batch) for batch in batches]
        x, y, sample_weight = _unpacked(joined(arrays))
        y = self.y if y is None else y
        return InputArrays(self.task, x, y, sample_weight)

    def batches(self, batching: Batching) -> Any:
        return self.in_memory().batches(batching)

    def for_keras(self, batching: Batching) -> tuple[Any, Any, Any]:
        batches = on_backend(self.x, self.task)
        if is_dataset(batches):
            dataset = InputDataset(self.task, batches, self.y, self.sample_weight)
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
            columns = batch[:3] if isinstance(batch, tuple) else (batch,)
            checked = InputArrays(self.task, *columns).checked()
            packed = keras.utils.pack_x_y_sample_weight(*checked)
            yield packed if isinstance(packed, tuple) else (packed,)  # Keras takes only tuples

    def _check_not_raw(self, batch):
        if is_raw(batch):
            raise ValueError(
                f"A {type(self.x).__name__} can't yield batches of raw examples: give single ones, "
                "a list, or a tf.data.Dataset."
            )


def _unpacked(batch):
    """Returns a batch as `(x, y, sample_weight)`; further columns are dropped."""
    columns = batch[:3] if isinstance(batch, (tuple, list)) else (batch,)
    return keras.utils.unpack_x_y_sample_weight(columns)


def no_inputs(task: keras.Model, x: Any) -> ValueError:
    """Makes the error for data that a task doesn't take."""
    return ValueError(
        f"{type(task).__name__} takes raw examples, or {', '.join(task.input)} in a dict, or "
        f"batches of either; got {shown(x)}."
    )


def has_labels(batches: Any) -> bool:
    """Returns whether batches hold labels after their inputs."""
    batch = batches.element_spec if is_dataset(batches) else batches[0]
    return isinstance(batch, tuple)


def on_backend(batches: Any, task: keras.Model) -> Any:
    """On TensorFlow, returns `Batches` as a dataset, which its strategies distribute."""
    if not isinstance(batches, Batches) or keras.backend.backend() != "tensorflow":
        return batches
    from keras_bert.graph.datasets import as_dataset

    return as_dataset(batches, not task_checks.has_one_each(task))
