"""LiteRT files that MediaPipe's `TextClassifier` and `TextEmbedder` run on raw strings.

Source: metadata_schema.fbs of google-ai-edge/mediapipe. The writer in its package, 1.2.3, can't be
imported.
"""

import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import flatbuffers
import keras
import numpy as np
import tensorflow as tf

from keras_bert import BertClassifierPreprocessor, BertEmbedderPreprocessor
from keras_bert.files.whole import whole_path
from keras_bert.serving.export_saved_model import save_quietly

_INPUTS = {"token_ids": "ids", "padding_mask": "mask", "segment_ids": "segment_ids"}
_SETTINGS = {"lowercase": True, "strip_accents": True, "prompt": "", "truncation": "head"}
_SETTINGS |= {"window_stride": None, "added_tokens": {}, "nfc": False}


def export_mediapipe(model: keras.Model, folder: str | os.PathLike, int8: bool = False) -> str:
    """Writes `model.tflite` into a folder, and returns its path; a ValueError if it can't be."""
    _check(model)
    function = mediapipe_function(model)
    with tempfile.TemporaryDirectory() as saved:
        save_quietly(saved, {"serving_default": function.get_concrete_function()})
        converter = tf.lite.TFLiteConverter.from_saved_model(saved)
        converter.optimizations = [tf.lite.Optimize.DEFAULT] if int8 else []
        converted = converter.convert()
    path = os.path.join(folder, "model.tflite")
    with whole_path(path) as new:
        Path(new).write_bytes(converted)
        add_metadata(model, Path(new))
    return path


def mediapipe_function(model: keras.Model) -> Callable:
    """Makes a graph of one row of the preprocessor's length; it returns `answer`'s numbers."""
    shape = [1, model.preprocessor.sequence_length]
    signature = [tf.TensorSpec(shape, tf.int32, name) for name in _INPUTS.values()]

    @tf.function(input_signature=signature, autograph=False)
    def predict(*inputs):
        outputs = model(dict(zip(_INPUTS, inputs, strict=True)), training=False)
        answers = model.preprocessor.answers(outputs)
        return {name: answers[name] for name in ("probabilities", "embedding") if name in answers}

    predict.get_concrete_function()  # raises an error if an embedder returns no vector for a text
    return predict


def add_metadata(model: keras.Model, path: Path) -> None:
    """Adds the vocabulary, the names of the classes and what they are to a LiteRT file."""
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    # MediaPipe skips empty lines, which Google's Chinese vocabulary has.
    files = {"vocab.txt": [word or " " for word in model.preprocessor.tokenizer.get_vocabulary()]}
    if model.preprocessor.label_names:
        files["labels.txt"] = model.preprocessor.label_names
    lite = flatbuffer_utils.read_model(path)
    builder = flatbuffers.Builder()
    builder.Finish(_written(builder, _metadata(lite)), b"M001")
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(builder.Output(), "uint8")
    entry = schema.MetadataT()
    entry.name = "TFLITE_METADATA"
    entry.buffer = len(lite.buffers)
    lite.buffers.append(buffer)
    lite.metadata.append(entry)
    flatbuffer_utils.write_model(lite, path)
    with zipfile.ZipFile(path, "a") as file:
        for name, lines in files.items():
            file.writestr(name, "".join(f"{line}\n" for line in lines))


def _metadata(lite):
    """Returns a `ModelMetadata` table; keys are the numbers of fields in the schema."""
    [signature] = lite.signatureDefs
    [subgraph] = lite.subgraphs
    names = {tensor.tensorIndex: tensor.name.decode() for tensor in signature.inputs}
    vocabulary = {0: "vocab.txt", 2: 5}  # an AssociatedFile: its name and type, VOCABULARY
    labels = {0: "labels.txt", 2: 2}  # TENSOR_AXIS_LABELS
    output = signature.outputs[0].name.decode()
    tensors = {  # SubGraphMetadata
        2: [{0: names[index]} for index in subgraph.inputs],
        3: [{0: output, 6: [labels] if output == "probabilities" else []}],
        5: [{0: 4, 1: {0: [vocabulary]}}],  # a ProcessUnit: BertTokenizerOptions
    }
    return {3: [tensors], 7: "1.1.0"}  # the oldest parser that knows the tokenizer


def _written(builder, value):
    """Writes a string, a list of tables or a table of fields by number; an int is a byte in it."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, list):
        offsets = [_written(builder, table) for table in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    offsets = {field: _written(builder, content) for field, content in value.items()}
    builder.StartObject(max(offsets) + 1)
    for field, offset in offsets.items():
        if isinstance(value[field], int):
            builder.PrependInt8Slot(field, offset, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(field, offset, 0)
    return builder.EndObject()


def _check(model):
    preprocessor = model.preprocessor
    is_known = isinstance(preprocessor, (BertClassifierPreprocessor, BertEmbedderPreprocessor))
    if not is_known or preprocessor.is_regression or model.input.keys() != _INPUTS.keys():
        raise ValueError(
            "MediaPipe runs a BertEmbedder, or a BertClassifier with classes and without features, "
            f"that reads segments and has a preprocessor; got {model!r}."
        )
    settings = {**preprocessor.tokenizer.settings(), **preprocessor.get_config()}
    settings["prompt"] = preprocessor.prompt
    for name, value in _SETTINGS.items():
        if settings.get(name) != value:
            raise ValueError(
                "MediaPipe lowercases texts, composes no letters, splits added tokens, prepends no "
                "prompt, and reads the beginning of a long text; got a preprocessor with "
                f"{name}={settings.get(name)!r}."
            )
