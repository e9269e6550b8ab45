"""Outputs, answers and scores of examples: a mixin of `BertTask`."""

import inspect
from collections.abc import Mapping
from typing import Any, overload

import keras
import numpy as np

from keras_bert.messages import NO_EXAMPLES
from keras_bert.models.row_outputs import row_outputs
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.bert_preprocessor import preprocessor_of
from keras_bert.preprocessing.checked_numbers import check_columns, example_weights
from keras_bert.preprocessing.data import check_has_labels, reading
from keras_bert.preprocessing.data_of import data_of
from keras_bert.preprocessing.forms import is_dataset
from keras_bert.training.keras_internals import is_validation


class Answering:
    """Mixin of tasks: outputs, metrics, answers and scores of raw examples and prepared inputs."""

    def evaluate(
        self, x=None, y=None, batch_size=None, *, sample_weight=None, batching=None, **kwargs
    ):
        """Loss and metrics, as `keras.Model.evaluate`; takes what `fit` takes.

        For texts that are read in windows they are those of whole texts, from their pooled logits.
        """
        if not self.compiled:
            self.compile()
        self.check_whole_executions(kwargs)
        data = None
        if not is_validation(kwargs):  # of `fit`, which has read the data
            batching = Batching.of(batching, batch_size).for_evaluation()
            data = data_of(self, x, y, sample_weight)
            steps = kwargs.get("steps")
            if data.is_raw and preprocessor_of(self).cuts_windows:
                most = batching.num_rows(steps)
                return _evaluate_pooled(data, batching.batch_size, most, **kwargs)
            x, y, sample_weight = data.for_keras(batching, steps)
            batch_size = None if is_dataset(x) else batch_size
        kwargs = {"batch_size": batch_size, "sample_weight": sample_weight, **kwargs}
        with reading(data):
            logs = super().evaluate(x, y, **kwargs)
        if logs in ([], {}):
            raise ValueError(NO_EXAMPLES)
        return logs

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None) -> np.ndarray:
        """The outputs as arrays, as `keras.Model.predict`; `x` as of `fit`.

        There is a row for each row that `batches` makes of `x`, in order, or for each text whose
        windows are pooled. An axis of tokens is as long as the preprocessor's sequences. Raw
        examples in memory are read in batches of similar lengths, so that little is padding.
        """
        self.check_whole_executions({"steps": steps})
        batching = Batching.of(batch_size=batch_size)
        data = data_of(self, x, with_labels=False)
        return data.outputs(batching.batch_size, steps=steps, verbose=verbose, callbacks=callbacks)

    def predict_rows(self, rows, batch_size=None, **kwargs):
        """Predicts rows that the preprocessor read; pools those of examples that have several."""
        batch_size = Batching.of(batch_size=batch_size).batch_size
        longest = self.preprocessor.sequence_length
        outputs = row_outputs(self, rows, longest, batch_size, **kwargs)
        return keras.tree.map_structure(keras.ops.convert_to_numpy, rows.pooled(outputs))

    def predict_batches(self, x, batch_size=None, callbacks=None, **kwargs):
        """Predicts prepared inputs that were checked before."""
        callbacks = [PredictCallbacks(callbacks, model=self)]
        return super().predict(x, batch_size=batch_size, callbacks=callbacks, **kwargs)

    @overload
    def answer(self, x: str, *args: Any, **options: Any) -> dict[str, Any]: ...
    @overload
    def answer(self, x: list, *args: Any, **options: Any) -> list[dict[str, Any]]: ...
    @overload
    def answer(self, x: Any, *args: Any, **options: Any) -> Any: ...

    def answer(self, x, batch_size=None, *, verbose=0, **options):
        """Answers examples as the exported model does.

        Args:
            x: raw examples, in memory or a stream; or prepared inputs.
            batch_size: int, rows per batch; 32 by default.
            verbose: 0, or 1 for progress bars.
            **options: options of the preprocessor's `answers`, such as a span labeler's `n_best`.

        Returns:
            A list of dicts, one per example, with the keys of the exported model; for a single
            example, a dict. The preprocessor's `answers` documents the keys. Values are plain
            Python, which `json.dumps` takes; arrays come from `predict`.

        Raises:
            ValueError: if there is no preprocessor, or `x` is not what it reads.
            TypeError: if an option is none of the preprocessor's.
        """
        preprocessor = preprocessor_of(self)
        for name in options:
            if name in preprocessor.arguments():
                raise TypeError(
                    f"answer has no {name}: first set model.preprocessor = "
                    f"model.preprocessor.like(model.preprocessor, {name}=...)."
                )
        inspect.signature(preprocessor.answers).bind(None, None, **options)  # or a TypeError
        batch_size = Batching.of(batch_size=batch_size).batch_size
        data = data_of(self, x, with_labels=False)
        answers = []
        for outputs, rows in data.chunks_of_outputs(batch_size, verbose):
            columns = preprocessor.answers(outputs, rows, **options)
            answers += answer_dicts(columns)
        return answers[0] if data.is_single else answers

    def answers_to_score(self, x, batch_size=None, *, y=None, verbose=0, **options):
        """Answers examples as the task's `scorer` takes them; a task may override it."""
        return self.answer(x, batch_size, verbose=verbose, **options)

    def scores(self, x, y=None, batch_size=None) -> dict[str, Any]:
        """Computes the task's official metrics.

        Args:
            x: examples, as `answer` takes them.
            y: labels, by name or by number, unless `x` contains them.
            batch_size: int; 32 by default.

        Returns:
            A dict of floats; the scorer's `score` documents them.

        Raises:
            ValueError: if there is no preprocessor, labels are missing, or the task has no scores.
        """
        scorer = self.scorer
        data = data_of(self, x, y)
        if scorer.reads_examples and not data.is_raw:
            raise ValueError(
                f"scores of a {type(self).__name__} compares answers with the raw examples: give "
                "those, not inputs that were prepared from them."
            )
        data = data.in_memory()
        x = data.x
        y = data.y
        check_columns(self, data.count, y=y)
        scorer.check(x, y)
        answers = self.answers_to_score(x, batch_size, y=y, **scorer.answer_options)
        if isinstance(answers, dict):
            answers = [answers]
        return scorer.score(answers, x, y)


class PredictCallbacks(keras.callbacks.CallbackList):
    """The callbacks of a call of `predict`; raises a ValueError at its end if no batch came.

    They get the user's model; on JAX, Keras's loop works on a copy, which stops when the model is
    told to.
    """

    copy = None
    is_empty = True

    def set_model(self, model):
        if self.copy is None:  # the user's, not yet Keras's
            super().set_model(model)
        self.copy = model

    def on_predict_begin(self, logs=None):
        self.model.stop_predicting = False
        super().on_predict_begin(logs)

    def on_predict_batch_end(self, batch, logs=None):
        super().on_predict_batch_end(batch, logs)
        self.is_empty = False
        if self.callbacks:  # another thread's may have told the model to stop
            self.copy.stop_predicting = self.model.stop_predicting

    def on_predict_end(self, logs=None):
        super().on_predict_end(logs)
        if self.is_empty:  # Keras has no outputs to return
            raise ValueError(NO_EXAMPLES)


def _evaluate_pooled(data, batch_size, most, return_dict=False, steps=None, **kwargs):
    """Computes loss and metrics of up to `most` examples, from the pooled logits of windows."""
    data = data.in_memory(most)
    if most is not None:
        data = data.part(slice(most))
    task = data.task
    check_has_labels(task, data.y is not None)
    sample_weight = example_weights(task, data.y, data.sample_weight, data.count)
    logits = keras.ops.convert_to_tensor(data.outputs(batch_size, **kwargs))
    y = keras.ops.convert_to_tensor(task.targets(data.y))
    if sample_weight is not None:
        sample_weight = keras.ops.convert_to_tensor(sample_weight, "float32")
    task.reset_metrics()
    logs = task.compute_metrics(None, y, logits, sample_weight)
    logs["loss"] = task.compute_loss(None, y, logits, sample_weight, training=False)
    logs = {name: float(value) for name, value in logs.items()}
    if return_dict:
        return logs
    loss = logs.pop("loss")
    return [loss, *logs.values()] if logs else loss


_NOT_UTF8 = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")  # bytes of `surrogateescape`


def answer_dicts(answers: Mapping[str, Any]) -> list[dict]:
    """Splits a dict of arrays `[B, ...]`, or of lists of B arrays, into B dicts of plain Python."""
    columns = []
    for values in answers.values():
        if not isinstance(values, list):
            values = np.asarray(values)  # or a tensor
        columns.append(_plain(values))
    return [dict(zip(answers, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value):
    """Converts arrays, strings and lists of them to plain Python, which JSON takes."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "biuf":
            return value.tolist()
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return str(value) if value.isascii() else value.translate(_NOT_UTF8)
    return value
