"""Models of token ids for runtimes other than TensorFlow's: ONNX, LiteRT and OpenVINO."""

import inspect
import os
import tempfile
from functools import partial
from importlib.util import find_spec
from typing import Any

import keras
import tensorflow as tf

from keras_bert.files.new_folder import check_replaces, new_folder
from keras_bert.messages import missing
from keras_bert.serving.export_saved_model import check_backend, save_quietly, token_id_function
from keras_bert.training.keras_internals import all_layers


def export_token_ids(
    model: keras.Model, folder: str | os.PathLike, format: str, **options: Any
) -> str:
    """Writes a model that takes token ids, with its tokenizer's files, for another runtime.

    The model computes what `predict` returns for prepared inputs, in float32. Its inputs are the
    model's: int32 `token_ids`, `segment_ids` and `padding_mask`, `[B, S]` (of choices or documents
    `[B, C, S]`), `mask_positions`, `[B, P]`, of a pretrainer, and `features`, float32 `[B, K]`. All
    are needed: without padding `padding_mask` is 1, for a single text `segment_ids` is 0. B, S, C
    and P may differ in each call; S must not exceed `max_sequence_length`. Outputs have the names
    of `predict`'s dict; an array is named `logits`, that of a `BertEmbedder` `embedding`.

    | format | files | runs in | needs to export |
    |---|---|---|---|
    | `"onnx"` | `model.onnx` | ONNX Runtime | `tf2onnx` |
    | `"litert"` | `model.tflite` | LiteRT, formerly TensorFlow Lite | |
    | `"openvino"` | `model.xml`, `model.bin` | OpenVINO | `openvino` |

    OpenVINO computes in bfloat16 on processors that support it. Compile the model with
    `{"INFERENCE_PRECISION_HINT": "f32"}` for the outputs of `predict`.

    A preprocessor adds `tokenizer.json` of Hugging Face `tokenizers`, `vocab.txt`, and
    `preprocessor.json` with its settings and label names. The caller cuts windows and finds
    entities and spans; only a SavedModel does so itself.

    Args:
        model: a task or a `BertBackbone`, with float32 layers.
        folder: a path, on disk or wherever `tf.io.gfile` writes; an earlier export there is
            replaced.
        format: `"onnx"`, `"litert"` or `"openvino"`.
        **options: `opset_version`, int, of ONNX; `optimizations` of LiteRT, a list of
            `tf.lite.Optimize`, where `DEFAULT` stores int8 weights; `compress_to_fp16` of OpenVINO,
            which stores float16 weights.

    Returns:
        The path of the model's file.

    Raises:
        ImportError: if a package that the format needs is missing.
        ValueError: if the folder holds anything else, the backend is not TensorFlow, a layer
            doesn't compute in float32, or an option is unknown.
        OSError: if the folder can't be written; no part of it is left.

    Example:
    ```python
    model.export("books", format="onnx")  # writes books/model.onnx
    ```
    """
    name, package, write = _FORMATS[format]
    _check_arguments(folder, format, write, options)
    check_backend(model, f"format={format!r}")
    _check_precision(model, format)
    if find_spec(package) is None:
        raise missing(package, "export")
    if (reader := getattr(model, "preprocessor", None)) is not None:
        from keras_bert.serving.tokenizer_files import write_tokenizer_files  # or an ImportError
    function = token_id_function(model)
    check = partial(check_replaces, folder, own=_WRITTEN, marks=())
    with new_folder(folder, check=check) as new:
        write(function, new / name, **options)
        if reader is not None:
            write_tokenizer_files(reader, new)
    return os.path.join(os.fspath(folder), name)


def _write_onnx(function, path, opset_version=None):
    import onnx
    import tf2onnx

    specs = function.input_signature
    converted, _ = tf2onnx.convert.from_function(function, specs, opset=opset_version)
    outputs = sorted(function.get_concrete_function().structured_outputs)  # as TensorFlow flattens
    _rename_outputs(converted.graph, outputs)
    _name_axes(converted.graph)
    onnx.checker.check_model(converted)
    onnx.save(converted, path)


def _write_litert(function, path, optimizations=()):
    with tempfile.TemporaryDirectory() as folder:
        _save(function, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = list(optimizations)
        path.write_bytes(converter.convert())


def _write_openvino(function, path, compress_to_fp16=False):
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        _save(function, folder)
        # Not convert_model, which reports each use to OpenVINO's developers.
        converted = openvino.Core().read_model(folder)
        openvino.save_model(converted, path, compress_to_fp16=compress_to_fp16)


# Name of the model's file, the package that the writer needs, and the writer.
_FORMATS = {
    "onnx": ("model.onnx", "tf2onnx", _write_onnx),
    "litert": ("model.tflite", "tensorflow", _write_litert),
    "openvino": ("model.xml", "openvino", _write_openvino),
}
_WRITTEN = ("model.onnx", "model.tflite", "model.xml", "model.bin", "tokenizer.json", "vocab.txt")
_WRITTEN += ("preprocessor.json",)
_ENDINGS = (".onnx", ".tflite", ".xml")


def _save(function, folder):
    """Writes a SavedModel, for converters that take names from its signature."""
    save_quietly(folder, {"serving_default": function.get_concrete_function()})


def _rename_outputs(graph, names):
    """Renames the outputs of an ONNX graph, which are called Identity:0 and so on."""
    renamed = {value.name: name for value, name in zip(graph.output, names, strict=True)}
    for value in graph.output:
        value.name = renamed[value.name]
    for node in graph.node:
        for ends in (node.input, node.output):
            ends[:] = [renamed.get(end, end) for end in ends]


def _name_axes(graph):
    """Names the axes of an ONNX graph that differ between calls, which have random names."""
    for value in (*graph.input, *graph.output):
        dims = value.type.tensor_type.shape.dim
        names = ["batch", *(f"{value.name}_{place}" for place in range(1, len(dims)))]
        if value in graph.input and value.name != "mask_positions":
            names = ["batch", "choices", "length"] if len(dims) == 3 else ["batch", "length"]
        for dim, name in zip(dims, names, strict=True):
            if not dim.HasField("dim_value"):
                dim.dim_param = name


def _check_arguments(folder, format, write, options):
    if os.fspath(folder).endswith(_ENDINGS):
        raise ValueError(
            f"export writes a folder, such as {os.path.splitext(folder)[0]}; got {folder}."
        )
    known = list(inspect.signature(write).parameters)[2:]
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"format={format!r} takes {', '.join(known)}; got {', '.join(unknown)}.")


def _check_precision(model, format):
    for layer in all_layers(model):
        how = layer.quantization_mode or layer.compute_dtype
        if how != "float32" and (format, how) != ("onnx", "int8"):
            raise ValueError(
                f"{layer.path} computes in {how}, which format={format!r} can't hold: load it with "
                f'{type(model).__name__}.from_preset(folder, dtype="float32"), not quantized.'
            )
