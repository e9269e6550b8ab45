"""Prediction of raw examples and of prepared inputs."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.data.columns import check_has_labels, example_weights
from keras_bert.messages import NO_EXAMPLES
from keras_bert.models.row_outputs import row_outputs
from keras_bert.preprocessing.batches import joined_rows
from keras_bert.preprocessing.batching import Batching


class Predictor:
    """Computes a task's outputs, as arrays; `predict` is that of `keras.Model`."""

    def __init__(self, task, predict):
        self.task = task
        self.predict = predict

    def outputs(self, data, batch_size=None, steps=None, verbose="auto", callbacks=None):
        """Computes the outputs of a `Data`."""
        batch_size = Batching.of(batch_size=batch_size).batch_size
        if not data.is_raw:
            inputs = data.checked_inputs()
            return self.inputs(inputs, batch_size, callbacks, steps=steps, verbose=verbose)
        outputs = []
        is_whole = bool(callbacks)  # which count the batches of all examples
        for rows in data.rows_to_predict(batch_size, steps, is_whole):
            outputs.append(self.rows(rows, batch_size, verbose=verbose, callbacks=callbacks))

        if len(outputs) == 1:
            return outputs[0]

        def joined(*arrays):  # pads chunks that have fewer choices
            return joined_rows(*arrays, fill=-1e9)

        return keras.tree.map_structure(joined, *outputs)

    def chunks(self, data, batch_size=None, verbose=0):
        """Yields the `(outputs, rows)` of each chunk of a `Data`; rows are None for inputs."""
        if data.is_raw:
            for rows in data.chunks():
                yield self.rows(rows, batch_size, verbose=verbose), rows
        else:
            yield self.outputs(data, batch_size, verbose=verbose), None

    def rows(self, rows, batch_size=None, **kwargs):
        """Predicts rows that the preprocessor read; pools those of examples that have several."""
        batch_size = Batching.of(batch_size=batch_size).batch_size
        preprocessor = self.task.preprocessor
        rows.warn_if_cut(preprocessor)
        longest = preprocessor.sequence_length
        outputs = row_outputs(self.task, rows, longest, batch_size, **kwargs)
        return keras.tree.map_structure(keras.ops.convert_to_numpy, rows.pooled(outputs))

    def inputs(self, x, batch_size=None, callbacks=None, **kwargs):
        """Predicts prepared inputs that were checked before."""
        callbacks = [PredictCallbacks(callbacks, model=self.task)]
        return self.predict(x, batch_size=batch_size, callbacks=callbacks, **kwargs)

    def evaluate(self, data, batch_size, most, return_dict=False, steps=None, **kwargs):
        """Computes loss and metrics of up to `most` examples, from the pooled logits of windows."""
        data = data.in_memory(most)
        if most is not None:
            data = data.part(slice(most))
        task = self.task
        check_has_labels(task, data.y is not None)
        sample_weight = example_weights(task, data.y, data.sample_weight, data.count)
        logits = keras.ops.convert_to_tensor(self.outputs(data, batch_size, **kwargs))
        y = keras.ops.convert_to_tensor(task.targets(data.y))
        if sample_weight is not None:
            sample_weight = keras.ops.convert_to_tensor(sample_weight, "float32")
        task.reset_metrics()
        logs = task.compute_metrics(None, y, logits, sample_weight)
        logs["loss"] = task.compute_loss(None, y, logits, sample_weight, training=False)
        logs = {name: _number(value) for name, value in logs.items()}
        if return_dict:
            return logs
        loss = logs.pop("loss")
        return [loss, *logs.values()] if logs else loss


def _number(value):
    """Returns a number as a float; metrics may also be arrays, such as F1 of each class."""
    array = keras.ops.convert_to_numpy(value)
    return array if array.ndim else float(array)


class PredictCallbacks(keras.callbacks.CallbackList):
    """The callbacks of a call of `predict`; raises a ValueError at its end if there was no batch.

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
