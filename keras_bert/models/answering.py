"""Outputs, answers and scores of raw examples: methods of `BertTask`."""

import inspect
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_bert.messages import check_one_each
from keras_bert.models.row_outputs import row_outputs
from keras_bert.models.task_data import (
    batching_of,
    check_columns,
    example_weights,
    in_memory,
    preprocessor_of,
    with_extra_inputs,
)
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import as_arrays, is_dataset, is_raw, is_single


def answer(task, x, batch_size=None, *, verbose=0, **options):
    """Answers examples; see `BertTask.answer`."""
    preprocessor = preprocessor_of(task)
    batch_size = batching_of(batch_size=batch_size).batch_size
    if options:
        _check_options(preprocessor, options)
    x, *_ = in_memory(task, x, with_labels=False)
    if not is_raw(x):
        _check_unpacked(x)
        outputs = task.predict(x, batch_size=batch_size, verbose=verbose)
        return answer_dicts(preprocessor.answers(outputs, **options))
    answers = []
    for part in preprocessor.parts(with_extra_inputs(task, x)):
        rows = preprocessor.read(part)
        outputs = outputs_of(task, rows, batch_size, verbose=verbose)
        answers += answer_dicts(preprocessor.answers(outputs, rows, **options))
    if not answers:
        raise ValueError("There are no examples to answer.")
    return answers[0] if is_single(x) else answers


def _check_options(preprocessor, options):
    """Raises a TypeError at an option that `answers` of the preprocessor doesn't take."""
    known = inspect.signature(preprocessor.answers)
    try:
        known.bind(None, None, **options)
    except TypeError as error:
        raise TypeError(
            f"answer {error}. Its options are those of {type(preprocessor).__name__}.answers: "
            f"{', '.join([*known.parameters][2:]) or 'none'}."
        ) from error


def _check_unpacked(x):
    """Raises a ValueError if prepared inputs are packed rows, whose sequences have no order."""
    spec = x[0] if isinstance(x, keras.utils.PyDataset) else getattr(x, "element_spec", x)
    spec = spec[0] if isinstance(spec, tuple) and spec else spec
    if isinstance(spec, dict) and spec.get("sequence_ids") is not None:
        raise ValueError(
            "answer and scores take no packed rows (sequence_ids): give the raw examples."
        )


def scores(task, x, y=None, batch_size=None):
    """Computes the task's official metrics; see `BertTask.scores`."""
    scorer = task.scorer
    if is_dataset(x):
        from keras_bert.preprocessing.text_streams import labels_of

        x, y = labels_of(x)
    x, y, _ = in_memory(task, x, y)
    check_columns(task, y=y)
    scorer.check(x, y)
    answers = task.answers_to_score(x, batch_size, y=y)
    return scorer.score([answers] if isinstance(answers, dict) else answers, x, y)


def raw_outputs(task, x, batch_size, steps=None, **kwargs):
    """Predicts raw examples; see `BertTask.predict`."""
    preprocessor, x = preprocessor_of(task), with_extra_inputs(task, x)
    if is_dataset(x) and not preprocessor.cuts_windows:
        has_tokens = any(None in part.shape[1:] for part in keras.tree.flatten(task.output))
        pad_to = "full" if has_tokens else "auto"
        batching = Batching(batch_size, pad_to=pad_to, drop_remainder=False)
        data = preprocessor.batches(x, batching=batching, with_labels=False)
        return task.predict_batches(data, steps=steps, **kwargs)
    if is_dataset(x):
        from keras_bert.preprocessing.text_streams import arrays_of

        x, *_ = arrays_of(x)
    if steps is not None:
        x = next(preprocessor.parts(x, steps * batch_size))
    return outputs_of(task, preprocessor.read(x), batch_size, **kwargs)


def evaluate_pooled(task, x, y, sample_weight, batch_size, return_dict=False, **kwargs):
    """Evaluates texts by the pooled logits of their windows; see `BertTask.evaluate`."""
    if is_dataset(x):
        from keras_bert.preprocessing.text_streams import arrays_of

        x, y, sample_weight = arrays_of(x)
    if y is None:
        raise ValueError("evaluate needs labels: give y, or a dataset of (text, label).")
    sample_weight = example_weights(task, y, sample_weight)
    logits = keras.ops.convert_to_tensor(task.predict(x, batch_size, **kwargs))
    y = keras.ops.convert_to_tensor(task.targets(as_arrays(y)))
    check_one_each(len(logits), "texts", labels=y)
    if sample_weight is not None:
        check_one_each(len(logits), "texts", weights=sample_weight)
        sample_weight = keras.ops.convert_to_tensor(sample_weight, "float32")
    task.reset_metrics()
    logs = task.compute_metrics(None, y, logits, sample_weight)
    loss = task.compute_loss(None, y, logits, sample_weight, training=False)
    logs = {name: float(value) for name, value in {**logs, "loss": loss}.items()}
    if return_dict:
        return logs
    loss = logs.pop("loss")
    return [loss, *logs.values()] if logs else loss


def outputs_of(task, rows, batch_size, **kwargs):
    """Predicts rows that the preprocessor read; pools those of examples that have several."""
    batch_size = batching_of(batch_size=batch_size).batch_size
    longest = task.preprocessor.sequence_length
    pooled = task.preprocessor.pooled(row_outputs(task, rows, longest, batch_size, **kwargs), rows)
    return keras.tree.map_structure(keras.ops.convert_to_numpy, pooled)


_NOT_UTF8 = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")  # bytes of `surrogateescape`


def answer_dicts(answers: Mapping[str, Any]) -> list[dict]:
    """Splits a dict of arrays `[B, ...]`, or of lists of B arrays, into B dicts.

    Strings become str or lists of str, single numbers int, float or bool; others stay arrays.
    """
    columns = {name: [*map(_plain, _rows(values))] for name, values in answers.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _rows(values):
    if isinstance(values, list):
        return values
    values = np.asarray(values)  # a task of the user's own may return tensors
    return values.tolist() if values.ndim == 1 and values.dtype != object else values


def _plain(value):
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return [*map(_plain, value)]
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return str(value) if value.isascii() else value.translate(_NOT_UTF8)
    return value.item() if isinstance(value, np.generic) else value
