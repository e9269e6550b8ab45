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
from keras_bert.presets.save_model import checkpoint_of
from keras_bert.text.vocabulary import TOKENIZER_FILE

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
_README = files("keras_bert.serving").joinpath("export_readme.md").read_text(encoding="utf-8")
_ONNX, _OPENVINO, _JAVASCRIPT = map(Template, _README.split("---\n"))
_SEGMENTS = '    "token_type_ids": np.array([row.type_ids for row in rows]),\n'


def described_for_hugging_face(model: keras.Model) -> Checkpoint:
    """Describes a model in Hugging Face's terms, if they have any for it."""
    try:
        checkpoint = checkpoint_of(model)
        unknown = model.input.keys() - _INPUTS.keys()
        if unknown:
            name = type(model).__name__
            raise ValueError(f"Hugging Face's tools have no names for {unknown} of a {name}.")
    except ValueError as error:
        raise ValueError(f'{error} Or export it with names="keras_bert".') from error
    return checkpoint


def hugging_face_function(model: keras.Model, checkpoint: Checkpoint) -> Callable:
    """Makes a graph of int64 inputs, which returns a dict of outputs."""
    names = [name for name in _INPUTS if name in model.input]
    shape = [None, None]
    if checkpoint.published.head == "ForMultipleChoice":
        shape = [None, None, None]
    signature = [tf.TensorSpec(shape, tf.int64, _INPUTS[name]) for name in names]
    run = model
    if model.published.wrapper == "SentenceTransformer":
        states, _ = model.get_layer("pooling").input
        run = keras.Model(model.input, {"embedding": model.output, "sequence_output": states})

    @tf.function(input_signature=signature, autograph=False)
    def predict(*tensors):
        inputs = {}
        for name, tensor in zip(names, tensors, strict=True):
            inputs[name] = tf.cast(tensor, "int32")
            if model.published.wrapper == "CrossEncoder":  # here, a query has an axis of documents
                inputs[name] = inputs[name][:, None]
        outputs = run(inputs, training=False)
        if not isinstance(outputs, dict):
            outputs = {"logits": outputs}
        return {_OUTPUTS.get(name, name): tensor for name, tensor in outputs.items()}

    return predict


def write_hugging_face_files(checkpoint: Checkpoint, folder: Path, path: str) -> None:
    """Writes the files that go with a model at `path` in the folder."""
    write_description(checkpoint, folder)
    title = f"# {checkpoint.model_class.__name__}\n"
    sections = [title, f"\nThe model is `{path}`, which keras_bert exported.\n"]
    threshold = checkpoint.settings[1].get("threshold", 0.5)
    if threshold != 0.5:
        sections.append(
            "\nA label (of two classes, the second) is the answer from a probability of "
            f"{np.round(threshold, 4).tolist()} on.\n"
        )
    if checkpoint.own_tokenizer and checkpoint.published.texts:
        sections += _examples(checkpoint, path)
    with whole_file(folder / README) as file:
        file.write("".join([*sections, f"\n{CARD_MARK}\n"]))


def _examples(checkpoint, path):
    """Yields the lines of Python, and of JavaScript if it has a pipeline, that run the model."""
    published = checkpoint.published
    texts = ", ".join(map(json.dumps, published.texts))
    is_pair = len(published.texts) > 1
    is_onnx = path.startswith("onnx/")
    template = _ONNX if is_onnx else _OPENVINO
    settings = ""
    tokenizer = checkpoint.own_tokenizer
    if tokenizer.asset == TOKENIZER_FILE:  # it has the settings of its source
        pad_token = tokenizer.id_to_token(tokenizer.pad_token_id)
        settings = f"tokenizer.enable_padding(pad_id={tokenizer.pad_token_id}, {pad_token=})\n"
        if checkpoint.truncation not in ("head_tail", None):
            side = "left" if checkpoint.truncation == "tail" else "right"
            length = checkpoint.sequence_length
            settings += f'tokenizer.enable_truncation({length}, direction="{side}")\n'
    yield template.substitute(
        path=path,
        texts=f"({texts})" if is_pair else texts,
        settings=settings,
        segments=_SEGMENTS if checkpoint.backbone.get("num_segments") else "",
    )
    if not is_onnx or published.javascript_pipeline is None:
        return
    if published.wrapper == "SentenceTransformer":
        settings = checkpoint.task_arguments
        options = {"pooling": settings["pooling"], "normalize": settings["normalize"]}
        texts += f", {json.dumps(options)}"
    yield _JAVASCRIPT.substitute(pipeline=published.javascript_pipeline, arguments=texts)
