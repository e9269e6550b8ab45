"""Models of token ids under the names that Hugging Face's tools read."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from string import Template

import keras
import numpy as np
import tensorflow as tf

from keras_bert.files.new_folder import CARD_MARK, README
from keras_bert.files.whole import whole_file
from keras_bert.presets.formats.checkpoint import Checkpoint
from keras_bert.presets.formats.hugging_face import write_description
from keras_bert.presets.save_model import described

_INPUTS = {
    "token_ids": "input_ids",
    "padding_mask": "attention_mask",
    "segment_ids": "token_type_ids",
}
_OUTPUTS = {
    "start": "start_logits",
    "end": "end_logits",
    "embedding": "sentence_embedding",
    "sequence_output": "last_hidden_state",
    "pooled_output": "pooler_output",
}
_PIPELINES = {  # of transformers.js
    "BertClassifier": "text-classification",
    "BertTokenClassifier": "token-classification",
    "BertSpanLabeler": "question-answering",
    "BertEmbedder": "feature-extraction",
    None: "feature-extraction",
}
_TASKS = (*_PIPELINES, "BertMultipleChoice", "BertReranker")
_PARTS = files("keras_bert.serving").joinpath("export_readme.md").read_text(encoding="utf-8")
_ONNX, _OPENVINO, _JAVASCRIPT = map(Template, _PARTS.split("---\n"))
_SEGMENTS = '    "token_type_ids": np.array([row.type_ids for row in rows]),\n'


def checkpoint_of(model: keras.Model) -> Checkpoint:
    """Describes a model in Hugging Face's terms, if they have any for it."""
    try:
        checkpoint = described(model)
        if checkpoint.task not in _TASKS:
            raise ValueError(f"Hugging Face's tools have no names for a {checkpoint.task}.")
    except ValueError as error:
        raise ValueError(f'{error} Or export it with names="keras_bert".') from error
    return checkpoint


def hugging_face_function(model: keras.Model, checkpoint: Checkpoint) -> Callable:
    """Makes a graph of int64 inputs, which returns a dict of outputs."""
    rank = 3 if checkpoint.task == "BertMultipleChoice" else 2
    names = [name for name in _INPUTS if name in model.input]
    signature = [tf.TensorSpec([None] * rank, tf.int64, _INPUTS[name]) for name in names]
    is_reranker, run = checkpoint.task == "BertReranker", model
    if checkpoint.task == "BertEmbedder":
        states, _ = model.get_layer("pooling").input
        run = keras.Model(model.input, {"embedding": model.output, "sequence_output": states})

    @tf.function(input_signature=signature, autograph=False)
    def predict(*inputs):
        own = {name: tf.cast(x, "int32") for name, x in zip(names, inputs, strict=True)}
        if is_reranker:  # its examples have an axis of documents
            own = {name: x[:, None] for name, x in own.items()}
        outputs = run(own, training=False)
        named = outputs if isinstance(outputs, dict) else {"logits": outputs}
        return {_OUTPUTS.get(name, name): x for name, x in named.items()}

    return predict


def their_inputs(checkpoint: Checkpoint, inputs: dict) -> dict:
    """Renames prepared inputs; those of a reranker lose the axis of documents."""
    theirs = {_INPUTS[name]: np.asarray(x, "int64") for name, x in inputs.items()}
    if checkpoint.task == "BertReranker":
        theirs = {name: x.reshape(-1, x.shape[-1]) for name, x in theirs.items()}
    return theirs


def write_hugging_face_files(checkpoint: Checkpoint, folder: Path, path: str) -> None:
    """Writes the files that go with a model at `path` in the folder."""
    write_description(checkpoint, folder)
    title = f"# {checkpoint.task or 'BertBackbone'}\n"
    parts = [title, f"\nThe model is `{path}`, which keras_bert exported.\n"]
    if checkpoint.own_tokenizer:
        parts += _lines_that_run(checkpoint, path)
    with whole_file(folder / README) as file:
        file.write("".join([*parts, f"\n{CARD_MARK}\n"]))


def _lines_that_run(checkpoint, path):
    task, runtime = checkpoint.task, path.split("/")[0]
    if task != "BertMultipleChoice":
        is_pair = task in ("BertReranker", "BertSpanLabeler")
        yield (_ONNX if runtime == "onnx" else _OPENVINO).substitute(
            path=path,
            texts='("Who wrote it?", "Ada wrote it.")' if is_pair else '"What a book!"',
            segments=_SEGMENTS if checkpoint.backbone["num_segments"] else "",
        )
    if runtime != "onnx" or task not in _PIPELINES:
        return
    arguments = '"What a book!"'
    if task == "BertSpanLabeler":
        arguments = '"Who wrote it?", "Ada wrote it."'
    if task == "BertEmbedder":
        settings = checkpoint.task_arguments
        options = {"pooling": settings["pooling"], "normalize": settings["normalize"]}
        arguments += f", {json.dumps(options)}"
    yield _JAVASCRIPT.substitute(
        pipeline=_PIPELINES[task],
        dtype="q8" if "quantized" in path else "fp32",
        arguments=arguments,
    )
