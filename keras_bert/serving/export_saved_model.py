"""A task as a SavedModel that takes raw strings."""

import os

import keras
import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.padding import trim_padding
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
    others = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in _beside_texts(task).items()]
    if task.string_signature() is not None:
        answer, ranks = task.string_signature()
        signature = [tf.TensorSpec([None] * n, tf.string, name) for name, n in ranks.items()]

        @tf.function(input_signature=[*signature, *others], autograph=False)
        def answer_strings(*inputs):
            strings, beside = inputs[: len(ranks)], inputs[len(ranks) :]
            beside = _checked_beside(task, beside, tf.shape(strings[0])[0])
            return _named(task, answer(*strings, **beside))

        return answer_strings.get_concrete_function()

    text_signature = tf.TensorSpec(None, tf.string, "text")

    @tf.function(input_signature=[text_signature, *others], autograph=False)
    def answer_texts(text, *others):
        columns = tf.cond(tf.rank(text) < 2, lambda: tf.reshape(text, [-1, 1]), lambda: text)
        shape = tf.shape(columns)  # [B, 1 or 2]
        message = "text must be [B] texts or [B, 2] pairs of texts; its shape is"
        is_text = tf.reduce_all(shape[1:] <= 2) & (tf.size(shape) == 2)
        with tf.control_dependencies([tf.debugging.Assert(is_text, [message, tf.shape(text)])]):
            columns = tf.ensure_shape(tf.identity(columns), [None, None])
        inputs = tf.cond(
            shape[1] == 2,
            lambda: task.preprocessor(columns[:, 0], columns[:, 1]),
            lambda: task.preprocessor(columns[:, 0]),
        )
        beside = _checked_beside(task, others, shape[0])
        outputs = task({**trim_padding(inputs), **beside}, training=False)
        return _named(task, task.answers(outputs))

    return answer_texts.get_concrete_function()


def _token_ids_signature(task):
    signature = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in task.input.items()]

    @tf.function(input_signature=signature, autograph=False)
    def answer_tokens(*inputs):
        outputs = task(dict(zip(task.input, inputs, strict=True)), training=False)
        named = outputs if isinstance(outputs, dict) else {"logits": outputs}
        return {**named, **_named(task, task.answers(outputs))}

    return answer_tokens.get_concrete_function()


def _named(task, answers):
    """A task's answers, with the names of classes."""
    about_classes = "label" in answers or "is_label" in answers
    if not about_classes or not hasattr(task, "label_names"):
        return answers
    names = tf.constant(task.label_names)  # [C]
    rows = tf.shape(answers["probabilities"])[0]
    answers = {**answers, "labels": tf.repeat(names[None], rows, axis=0)}  # every row stands alone
    if "label" in answers:
        answers["label"] = tf.gather(names, answers["label"])
    return answers


def _beside_texts(task):
    """What a task takes that is not made from text, `{name: Keras input}`."""
    return {name: x for name, x in task.input.items() if name not in task.backbone.input}


def _checked_beside(task, values, num_texts):
    """`{name: value}` of what is beside texts; a request fails that lacks one."""
    checked = {}
    for name, value in zip(_beside_texts(task), values, strict=True):
        is_finite = tf.reduce_all(tf.math.is_finite(value))
        asserted = [
            tf.debugging.assert_equal(tf.shape(value)[0], num_texts, f"give each text its {name}"),
            tf.debugging.Assert(is_finite, [f"{name} must be finite numbers; they are", value]),
        ]
        with tf.control_dependencies(asserted):
            checked[name] = tf.identity(value)
    return checked


def _check_task(task):
    name = type(task).__name__
    task.answers(task.output)
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"A SavedModel is written by TensorFlow, and Keras runs on {keras.backend.backend()} "
            "here. Keep the model with save_to_preset(folder), then, in a process started with "
            f"KERAS_BACKEND=tensorflow, {name}.from_preset(folder).export(path)."
        )
    if task.preprocessor is None:
        raise ValueError(
            f"This {name} has no preprocessor, so it can't be asked with text. Make it with "
            "preprocessor=BertPreprocessor(tokenizer), or set model.preprocessor to one."
        )


def _warmup_requests(task, texts):
    """`(signature name, inputs)` of each request, of one row each."""
    _, ranks = task.string_signature() or (None, None)
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
    beside = {n: np.zeros((1, *x.shape[1:]), x.dtype) for n, x in _beside_texts(task).items()}
    requests = [*(("serving_default", row) for row in rows), ("token_ids", prepared)]
    return [(name, {**inputs, **beside}) for name, inputs in requests]


def _short_and_long(task, ranks):
    """Texts to warm up with: a short one, one that fills the sequence, and a pair."""
    word = task.preprocessor.tokenizer.get_vocabulary()[-1].removeprefix("##")
    filling = " ".join([word] * task.preprocessor.sequence_length)
    if ranks is None:
        return [word, filling, (word, word)]
    if len(ranks) == 1:
        return [word, filling]
    _, rank = ranks.values()
    return [(word, [last, last] if rank == 2 else last) for last in (word, filling)]


def _row(task, ranks, text):
    """The inputs, `{name: value}`, of a request for one warm-up text."""
    if ranks is None or len(ranks) == 1:
        is_pair = isinstance(text, (list, tuple)) and len(text) == 2 and ranks is None
        if not isinstance(text, str) and not is_pair:
            raise ValueError("warmup_texts must be texts, or pairs of them; one is neither.")
        return {"text": [text] if isinstance(text, str) else [list(text)]}
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
