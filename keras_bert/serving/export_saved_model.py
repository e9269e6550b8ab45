"""A task as a SavedModel that takes raw strings."""

import os

import keras
import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, no_answers
from keras_bert.serving.warmup_requests import MAX_REQUESTS, write_warmup_requests


def export_saved_model(task, path, *, version=1, warmup_texts=None):
    """Writes a task, its vocabulary and all, as a SavedModel in TensorFlow Serving's layout.

    What is written needs neither Keras nor this library: TensorFlow with TensorFlow Text loads it,
    and so does TensorFlow Serving. It may be moved. It has two signatures:

    `serving_default` takes raw strings, as one input:
        `text`: string, `[B]` texts or `[B, 2]` pairs of them, read as `task.predict` reads them;
    `token_ids` takes what `task.preprocessor` makes of them:
        `token_ids`, `segment_ids`, `padding_mask`: int32 `[B, S]`.

    Both give the task's `answers`, a row for each text. Of a `BertClassifier` those are
        `probabilities`: float32 `[B, C]`,
        `label`: string `[B]`, the name of the most probable class,
        `labels`: string `[B, C]`, the classes' names in the order of `probabilities`,
    or, with `multi_label`, in place of `label`,
        `is_label`: bool `[B, C]`, whether a probability reaches the threshold,
    or, with `num_classes=1`,
        `score`: float32 `[B]`.
    One with `num_features` takes `features`, float32 `[B, K]`, beside `text` and beside
    `token_ids`; one with a `window_stride` takes `[B]` texts of any length as `text`.
    `token_ids` gives the model's outputs besides: float32 `logits`, `[B, C]`.

    A `BertTokenClassifier` takes `[B]` texts of any length and gives their entities, as
    `BertTokenClassifier.answer_texts` says; `token_ids` gives the `label` of each token.
    A `BertSpanLabeler` takes two inputs, `question` and `context`, string `[B]` each, and answers
    as `BertSpanLabeler.answer_questions` says; a `BertMultipleChoice` takes `context`, string
    `[B]`, and `choices`, string `[B, C]`, and answers as `BertMultipleChoice.answer_choices` says.

    Texts are padded to the longest of a request, not to `sequence_length`: short ones are answered
    sooner, with the same scores. The model computes in the precision that it was made with.

    Args:
        task: a `BertTask` that has a preprocessor and `answers`.
        path: the model's folder, on disk or wherever `tf.io.gfile` writes.
        version: int, at least 1; it is written to `path/version`. TensorFlow Serving serves the
            highest one there, and takes a new one up while it runs.
        warmup_texts: texts, or pairs of them, that TensorFlow Serving answers once before it lets
            clients in; by default a short one, one that fills the sequence, and a pair. Of tasks
            with two inputs, pairs of them.

    Returns:
        str, the folder of this version.

    Raises:
        ValueError: if the version exists, the backend is not TensorFlow, or the task has no
            preprocessor or nothing to answer.
        OSError: if the folder can't be written; nothing half-written is left.

    Example:
    ```python
    model.export("served/topics")  # writes served/topics/1
    ```
    """
    path = os.fspath(path)
    _check_task(task)
    requests = _warmup_requests(task, warmup_texts)
    target = _free_version(path, version)
    texts, prepared = _text_signature(task), _token_ids_signature(task)
    module = tf.Module()
    module.weights = _unique([*texts.variables, *prepared.variables])

    def write(folder):
        signatures = {"serving_default": texts, "token_ids": prepared}
        tf.saved_model.save(module, folder, signatures=signatures)
        if requests:
            write_warmup_requests(folder, os.path.basename(os.path.normpath(path)), requests)

    _write_whole(target, write)
    return target


def _text_signature(task):
    ranks, extra = task.preprocessor.signature, _extra_inputs(task)
    signature = [
        tf.TensorSpec(None if rank is None else [None] * rank, tf.string, name)
        for name, rank in ranks.items()
    ]
    signature += [tf.TensorSpec(x.shape, x.dtype, name) for name, x in extra.items()]

    def predict(inputs):
        return task(inputs, training=False)

    @tf.function(input_signature=signature, autograph=False)
    def answer_strings(*inputs):
        strings = dict(zip(ranks, inputs, strict=False))
        others = _checked_extra_inputs(extra, inputs[len(ranks) :], inputs[0])
        answers = task.preprocessor.serve(predict, **strings, **others)
        return {name: _dense(values) for name, values in answers.items()}

    return answer_strings.get_concrete_function()


def _token_ids_signature(task):
    signature = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in task.input.items()]

    @tf.function(input_signature=signature, autograph=False)
    def answer_tokens(*inputs):
        outputs = task(dict(zip(task.input, inputs, strict=True)), training=False)
        named = outputs if isinstance(outputs, dict) else {"logits": outputs}
        return {**named, **task.preprocessor.answers(outputs)}

    return answer_tokens.get_concrete_function()


def _dense(values):
    return values.to_tensor() if isinstance(values, tf.RaggedTensor) else values


def _extra_inputs(task):
    """A task's inputs that are not made from text, `{name: Keras input}`."""
    return {name: x for name, x in task.input.items() if name not in task.backbone.input}


def _checked_extra_inputs(extra, values, texts):
    """`{name: value}` of the extra inputs; a request that lacks one fails."""
    checked = {}
    for name, value in zip(extra, values, strict=True):
        is_finite = tf.reduce_all(tf.math.is_finite(value))
        asserted = [
            tf.debugging.assert_equal(
                tf.shape(value)[0], tf.shape(texts)[0], f"give each text its {name}"
            ),
            tf.debugging.Assert(is_finite, [f"{name} must be finite numbers; they are", value]),
        ]
        with tf.control_dependencies(asserted):
            checked[name] = tf.identity(value)
    return checked


def _check_task(task):
    name = type(task).__name__
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"A SavedModel is written by TensorFlow, and Keras runs on {keras.backend.backend()} "
            "here. Keep the model with save_to_preset(folder), then, in a process started with "
            f"KERAS_BACKEND=tensorflow, {name}.from_preset(folder).export(path)."
        )
    reader = task.preprocessor_class() if task.preprocessor is None else type(task.preprocessor)
    if reader.answers is BertPreprocessor.answers:
        raise no_answers(name)
    if task.preprocessor is None:
        raise ValueError(
            f"This {name} has no preprocessor, so it can't be asked with text. Make it with "
            f"preprocessor={task.preprocessor_class().__name__}(tokenizer), or set "
            "model.preprocessor to one."
        )


def _warmup_requests(task, texts):
    """`(signature name, inputs)` of each request, of one row each."""
    ranks = task.preprocessor.signature
    texts = _short_and_long(task, ranks) if texts is None else texts
    texts = [texts] if isinstance(texts, str) else texts
    if not len(texts):
        return []
    if len(texts) >= MAX_REQUESTS:
        raise ValueError(
            f"TensorFlow Serving takes at most {MAX_REQUESTS} warm-up requests; {len(texts)} "
            f"warmup_texts were given. Give at most {MAX_REQUESTS - 1}."
        )
    rows = [_row(task, ranks, text) for text in texts]
    columns = tf.nest.flatten(list(rows[0].values()))[:2]
    prepared = task.preprocessor(*([text] for text in columns))
    prepared = {  # [1, S], or [1, 1, S] where a row has several sequences
        name: tf.reshape(values, [1] * (len(task.input[name].shape) - 1) + [-1])
        for name, values in prepared.items()
    }
    extra = {n: np.zeros((1, *x.shape[1:]), x.dtype) for n, x in _extra_inputs(task).items()}
    requests = [*(("serving_default", row) for row in rows), ("token_ids", prepared)]
    return [(name, {**inputs, **extra}) for name, inputs in requests]


def _short_and_long(task, ranks):
    """Texts to warm up with: a short one, one that fills the sequence, and a pair."""
    word = task.preprocessor.tokenizer.get_vocabulary()[-1].removeprefix("##")
    filling = " ".join([word] * task.preprocessor.sequence_length)
    if len(ranks) == 1:
        pairs = [(word, word)] if None in ranks.values() else []
        return [word, filling, *pairs]
    _, rank = ranks.values()
    return [(word, [last, last] if rank == 2 else last) for last in (word, filling)]


def _row(task, ranks, text):
    """The inputs, `{name: value}`, of a request for one warm-up text."""
    if len(ranks) == 1:
        takes_pairs = None in ranks.values()
        is_pair = isinstance(text, (list, tuple)) and len(text) == 2 and takes_pairs
        if not isinstance(text, str) and not is_pair:
            raise ValueError("warmup_texts must be texts, or pairs of them; one is neither.")
        [name] = ranks
        return {name: [text] if isinstance(text, str) else [list(text)]}
    is_pair = isinstance(text, (list, tuple)) and len(text) == len(ranks)
    kinds = [str if rank == 1 else (list, tuple) for rank in ranks.values()]
    if not is_pair or not all(map(isinstance, text, kinds)):
        raise ValueError(f"warmup_texts of a {type(task).__name__} are pairs ({', '.join(ranks)}).")
    return {name: [value] for name, value in zip(ranks, text, strict=True)}


def _free_version(path, version):
    if version < 1:
        raise ValueError(f"version must be 1 or more; got {version}.")
    target = os.path.join(path, str(version))
    if tf.io.gfile.exists(target):
        names = (name.rstrip("/") for name in tf.io.gfile.listdir(path))
        free = 1 + max(int(name) for name in names if name.isdecimal())
        raise ValueError(
            f"{target} exists already. Export with version={free}, which TensorFlow Serving will "
            "take up in its place, or remove that folder first."
        )
    return target


def _write_whole(target, write):
    """Calls `write(folder)` on a temporary folder that becomes `target` if all goes well."""
    parent, version = os.path.split(target)
    is_new = not tf.io.gfile.exists(parent)
    # TensorFlow Serving, which watches `parent`, passes over names that are not numbers.
    unfinished = os.path.join(parent, f".{version}.unfinished-{os.getpid()}")
    try:
        tf.io.gfile.makedirs(unfinished)
        write(unfinished)
        tf.io.gfile.rename(unfinished, target)
    except (OSError, tf.errors.OpError) as error:
        leftover = parent if is_new else unfinished
        if tf.io.gfile.exists(leftover):
            tf.io.gfile.rmtree(leftover)
        raise OSError(
            f"{target} can't be written, and nothing of it was left behind: {error}. Make room, "
            "or choose another path, and export again."
        ) from error


def _unique(variables):
    return list({id(variable): variable for variable in variables}.values())
