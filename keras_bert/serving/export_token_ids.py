"""Models of token ids for runtimes other than TensorFlow's: ONNX, LiteRT and OpenVINO."""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_bert.files.new_folder import BESIDE_WEIGHTS, README, check_replaces, new_folder
from keras_bert.messages import check_one_of, missing
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.presets.formats.hugging_face_tokenizer import write_tokenizer_json
from keras_bert.presets.save_model import truncation_of, write_preprocessor
from keras_bert.serving.export_saved_model import save_quietly, token_id_function
from keras_bert.serving.hugging_face_export import (
    described_for_hugging_face,
    hugging_face_function,
    write_hugging_face_files,
)
from keras_bert.training.keras_internals import all_layers


def export_token_ids(
    model: keras.Model,
    folder: str | os.PathLike,
    format: str,
    names: str | None = None,
    **options: Any,
) -> str:
    """Writes a model that takes token ids, with its tokenizer, for another runtime.

    See `BertTask.export`. `model` is a task or a backbone with float32 layers; it computes what
    `predict` returns for prepared inputs.
    """
    target = _FORMATS[format]
    if options:
        advice = ""
        if "int8" in options:
            advice = " Quantize the file with its runtime: the guide hand_it_over.py shows how."
        raise ValueError(f"format={format!r} takes names; got {', '.join(options)}.{advice}")
    if names is None:
        names = next(iter(target.paths))
    check_one_of("names", names, target.paths)
    _check_precision(model, format)
    if names == "hugging_face":
        checkpoint = described_for_hugging_face(model)
        function = hugging_face_function(model, checkpoint)
    else:
        function = token_id_function(model)
    if target.package is not None and find_spec(target.package) is None:
        raise missing(target.package, "export")
    path = target.paths[names]
    own = (*target.written, *BESIDE_WEIGHTS, "preprocessor.json", README)
    with new_folder(folder, check=partial(check_replaces, folder, own=own, marks=())) as new:
        (new / path).parent.mkdir(exist_ok=True)
        target.write(function, new / path)
        if names == "hugging_face":
            write_hugging_face_files(checkpoint, new, path)
        elif model.preprocessor is not None:
            write_own_files(model.preprocessor, new)
    return os.path.join(os.fspath(folder), path)


def _write_onnx(function, path):
    import onnx
    import tf2onnx

    specs = function.input_signature
    converted, _ = tf2onnx.convert.from_function(
        function, specs, custom_op_handlers={"Erfc": (_write_erfc, [])}
    )
    outputs = sorted(function.get_concrete_function().structured_outputs)  # as TensorFlow flattens
    _rename_outputs(converted.graph, outputs)
    _name_axes(converted.graph)
    onnx.checker.check_model(converted)
    onnx.save(converted, path)


def _write_erfc(graph, node, name, args):
    """Writes 1 - erf(x) for an operation of `keras.ops.gelu` that ONNX lacks."""
    output = node.output[0]
    dtype = graph.get_dtype(output)
    shape = graph.get_shape(output)
    erf = graph.make_node("Erf", node.input, shapes=[shape], dtypes=[dtype])
    one = graph.make_const(f"{name}/one", np.ones((), "float32"))
    graph.remove_node(name)
    inputs = [one.output[0], erf.output[0]]
    graph.make_node("Sub", inputs, outputs=[output], name=name, shapes=[shape], dtypes=[dtype])


def _write_litert(function, path):
    with tempfile.TemporaryDirectory() as folder:
        _save(function, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        path.write_bytes(converter.convert())


def _write_openvino(function, path):
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        _save(function, folder)
        # Not convert_model, which reports each use to OpenVINO's developers.
        converted = openvino.Core().read_model(folder)
        openvino.save_model(converted, path, compress_to_fp16=False)


class _Format(NamedTuple):
    write: Callable
    package: str | None  # that the writer needs
    written: tuple[str, ...]  # all names that the writer gives
    paths: dict[str, str]  # of the model by `names`, the default first


_FORMATS = {
    "onnx": _Format(
        _write_onnx,
        "tf2onnx",
        ("onnx", "model.onnx"),
        {"hugging_face": "onnx/model.onnx", "keras_bert": "model.onnx"},
    ),
    "openvino": _Format(
        _write_openvino,
        "openvino",
        ("openvino", "model.xml", "model.bin"),
        {"hugging_face": "openvino/openvino_model.xml", "keras_bert": "model.xml"},
    ),
    "litert": _Format(
        _write_litert,
        None,
        ("model.tflite",),
        {"keras_bert": "model.tflite"},
    ),
}


def write_own_files(preprocessor: BertPreprocessor, folder: Path) -> None:
    """Writes `tokenizer.json`, the vocabulary, and `preprocessor.json` of `save_to_preset`."""
    truncation = truncation_of(preprocessor)
    write_tokenizer_json(preprocessor.tokenizer, preprocessor.sequence_length, truncation, folder)
    write_preprocessor(preprocessor, folder)


def _save(function, folder):
    """Writes a SavedModel, for converters that take names from its signature."""
    save_quietly(folder, {"serving_default": function.get_concrete_function()})


def _rename_outputs(graph, names):
    """Renames the outputs of an ONNX graph, which are called Identity:0 and so on."""
    renamed = {}
    for value, name in zip(graph.output, names, strict=True):
        renamed[value.name] = name
        value.name = name
    for node in graph.node:
        for ends in (node.input, node.output):
            ends[:] = [renamed.get(end, end) for end in ends]


def _name_axes(graph):
    """Names the axes of an ONNX graph that differ between calls, which have random names."""
    for value in (*graph.input, *graph.output):
        dims = value.type.tensor_type.shape.dim
        names = [f"{value.name}_{axis}" for axis in range(len(dims))]
        names[0] = "batch"
        if value in graph.input and value.name != "mask_positions":
            names[-1] = "length"
            if len(dims) == 3:
                names[1] = "choices"
        for dim, name in zip(dims, names, strict=True):
            if not dim.HasField("dim_value"):
                dim.dim_param = name


def _check_precision(model, format):
    for layer in all_layers(model):
        precision = layer.quantization_mode or layer.compute_dtype
        if precision != "float32" and (format, precision) != ("onnx", "int8"):
            raise ValueError(
                f"{layer.path} computes in {precision}, which format={format!r} can't hold: load "
                f'it with {type(model).__name__}.from_preset(folder, dtype="float32"), not '
                "quantized."
            )
