"""Export of a task as a SavedModel that takes raw strings."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_bert.files.new_folder import new_folder
from keras_bert.messages import check_int, logger
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, no_answers
from keras_bert.preprocessing.checked_numbers import with_finite_check
from keras_bert.training.keras_internals import autocast_variables


def export_saved_model(task: keras.Model, path: str | os.PathLike, *, version: int = 1) -> str:
    """Writes a task and its vocabulary as a SavedModel in TensorFlow Serving's layout.

    See `BertTask.export`. It computes in the task's precision, and stores weights in the precision
    that it reads them in.
    """
    path = os.fspath(path)
    _check_task(task)
    target = _free_version(path, version)
    readers = {"serving_default": task.preprocessor, **task.preprocessor.variants()}
    with _weights_in_compute_dtype(task) as cast:  # the graphs keep no variables alive
        of_ids = token_id_function(task, task.preprocessor.answers).get_concrete_function()
        signatures = {"serving_default": of_ids, "token_ids": of_ids}
        if task.preprocessor.tokenizer.has_graph:
            signatures |= {name: _text_signature(task, r) for name, r in readers.items()}
        else:
            kind = type(task.preprocessor.tokenizer).__name__
            logger.warning("TensorFlow has no %s: %s takes token ids, no raw strings.", kind, path)
    with new_folder(target, check=lambda names: _free_version(path, version)) as folder:
        save_quietly(str(folder), signatures)
    del cast
    return target


def save_quietly(folder: str, signatures: dict[str, Callable]) -> None:
    """Writes a SavedModel of concrete functions and their variables.

    TensorFlow's message, which names a folder that is renamed, is left out.
    """
    module = tf.Module()
    variables = [v for each in signatures.values() for v in each.variables]
    module.weights = list({id(variable): variable for variable in variables}.values())
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        tf.saved_model.save(module, folder, signatures=signatures)
    finally:
        logger.setLevel(level)


def _weights_in_compute_dtype(task):
    """Returns a scope in which weights are already cast, so that requests don't cast them."""
    scope = keras.StatelessScope()
    for variable, dtype in autocast_variables(task):
        cast = tf.Variable(tf.cast(variable.value, dtype), trainable=False, name=variable.name)
        scope.add_update((variable, cast))  # the constructor would cast it back
    return scope


def _text_signature(task, reader):
    ranks, own = reader.signature, task.backbone.input
    extra = {name: x for name, x in task.input.items() if name not in own}
    signature = [
        tf.TensorSpec(None if rank is None else [None] * rank, tf.string, name)
        for name, rank in ranks.items()
    ]
    signature += [tf.TensorSpec(x.shape, x.dtype, name) for name, x in extra.items()]

    @tf.function(input_signature=signature, autograph=False)
    def answer_strings(*inputs):
        strings = dict(zip(ranks, inputs, strict=False))
        others = _one_each(dict(zip(extra, inputs[len(ranks) :], strict=True)), inputs[0])
        answers = reader.serve(partial(task, training=False), **strings, **others)
        return {
            name: values.to_tensor() if isinstance(values, tf.RaggedTensor) else values
            for name, values in answers.items()
        }

    return answer_strings.get_concrete_function()


def token_id_function(
    model: keras.Model, answers: Callable[[Any], dict] = lambda outputs: {}
) -> Callable:
    """Makes a graph of a model's inputs by name; it returns a dict of its outputs and `answers`."""
    signature = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in model.input.items()]
    output_name = getattr(model, "output_name", "logits")

    @tf.function(input_signature=signature, autograph=False)
    def predict(*inputs):
        outputs = model(dict(zip(model.input, inputs, strict=True)), training=False)
        named = outputs if isinstance(outputs, dict) else {output_name: outputs}
        return {**named, **answers(outputs)}

    return predict


def _one_each(inputs, texts):
    """Returns extra inputs; a request fails if one is not finite, or texts differ in number."""
    rows, values = tf.shape(texts)[0], with_finite_check(inputs)
    same = [
        tf.debugging.assert_equal(tf.shape(value)[0], rows, f"give each text its {name}")
        for name, value in values.items()
    ]
    with tf.control_dependencies(same):
        return {name: tf.identity(value) for name, value in values.items()}


def _check_task(task):
    name = type(task).__name__
    reader = task.preprocessor_class() if task.preprocessor is None else type(task.preprocessor)
    if reader.answers is BertPreprocessor.answers:
        raise no_answers(name)
    if task.preprocessor is None:
        raise ValueError(
            f"This {name} can't read text: set model.preprocessor = {reader.__name__}(...)."
        )


def _free_version(path, version):
    check_int("version", version)
    target = os.path.join(path, str(version))
    if tf.io.gfile.exists(target):
        names = (name.rstrip("/") for name in tf.io.gfile.listdir(path))
        free = 1 + max(int(name) for name in names if name.isdecimal())
        raise ValueError(
            f"{target} already exists. Export with version={free}, which TensorFlow Serving then "
            "serves, or remove that folder."
        )
    return target
