"""Export of a task as a SavedModel that takes raw strings."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_bert.data.prepared_inputs import finite_floats
from keras_bert.files.new_folder import new_folder
from keras_bert.messages import check_int, logger
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor, no_answers, preprocessor_of
from keras_bert.training.keras_internals import autocast_variables


def export_saved_model(task: keras.Model, path: str | os.PathLike, *, version: int = 1) -> str:
    """Writes a task and its vocabulary as a SavedModel in TensorFlow Serving's layout.

    See `BertTask.export`. It computes in the task's precision, and stores weights in the precision
    that it reads them in.
    """
    path = os.fspath(path)
    preprocessor = task.preprocessor
    kind = task.preprocessor_class() if preprocessor is None else type(preprocessor)
    if kind.answers is BertPreprocessor.answers:
        raise no_answers(type(task).__name__)
    preprocessor = preprocessor_of(task)
    target = _free_version(path, version)
    with _weights_in_compute_dtype(task) as cast:  # the graphs keep no variables alive
        token_ids = token_id_function(task, preprocessor.answers).get_concrete_function()
        signatures = {"serving_default": token_ids, "token_ids": token_ids}
        if preprocessor.tokenizer.has_graph:
            signatures["serving_default"] = _text_signature(task, preprocessor)
            for name, variant in preprocessor.variants().items():
                signatures[name] = _text_signature(task, variant)
        else:
            name = type(preprocessor.tokenizer).__name__
            logger.warning(
                "TensorFlow has no %s: %s takes token ids, no raw strings: give it "
                "model.preprocessor(texts).",
                name,
                path,
            )
    with new_folder(target, check=lambda names: _free_version(path, version)) as folder:
        save_quietly(str(folder), signatures)
    del cast
    return target


def save_quietly(folder: str, signatures: dict[str, Callable]) -> None:
    """Writes a SavedModel of concrete functions and their variables.

    TensorFlow's message, which names a folder that is renamed, is left out.
    """
    module = tf.Module()
    module.weights = []
    for function in signatures.values():
        module.weights.extend(function.variables)
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


def _text_signature(task, preprocessor):
    specs = {}
    for name, rank in preprocessor.signature.items():
        shape = None if rank is None else [None] * rank
        specs[name] = tf.TensorSpec(shape, tf.string, name)
    extra = [name for name in task.input if name not in task.backbone.input]
    for name in extra:
        specs[name] = tf.TensorSpec(task.input[name].shape, task.input[name].dtype, name)

    @tf.function(input_signature=list(specs.values()), autograph=False)
    def answer_strings(*tensors):
        inputs = dict(zip(specs, tensors, strict=True))
        inputs |= _one_each({name: inputs[name] for name in extra}, tensors[0])
        answers = preprocessor.serve(partial(task, training=False), **inputs)
        for name, values in answers.items():
            if isinstance(values, tf.RaggedTensor):
                answers[name] = values.to_tensor()
        return answers

    return answer_strings.get_concrete_function()


def token_id_function(
    model: keras.Model, answers: Callable[[Any], dict] = lambda outputs: {}
) -> Callable:
    """Makes a graph of a model's inputs by name; it returns a dict of its outputs and `answers`."""
    signature = [tf.TensorSpec(x.shape, x.dtype, name) for name, x in model.input.items()]

    @tf.function(input_signature=signature, autograph=False)
    def predict(*tensors):
        outputs = model(dict(zip(model.input, tensors, strict=True)), training=False)
        if isinstance(outputs, dict):
            return {**outputs, **answers(outputs)}
        return {model.published.output: outputs, **answers(outputs)}

    return predict


def _one_each(inputs, texts):
    """Returns extra inputs; a request fails if one is not finite, or texts differ in number."""
    num_texts = tf.shape(texts)[0]
    checked = {}
    for name, value in finite_floats(inputs).items():
        message = f"give each text its {name}"
        check = tf.debugging.assert_equal(tf.shape(value)[0], num_texts, message)
        with tf.control_dependencies([check]):
            checked[name] = tf.identity(value)
    return checked


def _free_version(path, version):
    check_int("version", version)
    target = os.path.join(path, str(version))
    if tf.io.gfile.exists(target):
        names = [name.rstrip("/") for name in tf.io.gfile.listdir(path)]
        free = 1 + max(int(name) for name in names if name.isdecimal())
        raise ValueError(
            f"{target} already exists. Export with version={free}, which TensorFlow Serving then "
            "serves, or remove that folder."
        )
    return target
