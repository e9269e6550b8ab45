"""Export of a model in any format; nothing is imported that the format doesn't need."""

import os
from pathlib import Path
from typing import Any

import keras

from keras_bert.messages import check_one_of, check_path

_SUFFIXES = {".onnx": "onnx", ".tflite": "litert", ".xml": "openvino"}  # formats of token ids


def export_model(
    model: keras.Model, filepath: str | os.PathLike, format: str, **options: Any
) -> Any:
    """Writes a task or an encoder; see `BertTask.export`. Keras writes the other formats.

    Everything is checked before TensorFlow is imported.
    """
    check_path("filepath", filepath)
    path = Path(filepath)
    if path.suffix in _SUFFIXES:
        raise ValueError(
            f"filepath is the export's folder; got {str(path)!r}. Write export("
            f"{str(path.with_suffix(''))!r}, format={_SUFFIXES[path.suffix]!r})."
        )
    if path.is_file():
        raise ValueError(f"filepath is the export's folder; {path} is a file. Give another name.")
    check_one_of("format", format, ("tf_saved_model", *_SUFFIXES.values(), "torch"))
    has_token_ids = format in _SUFFIXES.values()
    is_encoder = model.backbone is model
    if format == "torch" or is_encoder and not has_token_ids:
        return keras.Model.export(model, filepath, format=format, **options)
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Exporting format={format!r} requires TensorFlow; Keras runs on "
            f"{keras.backend.backend()} here. Save the model with save_to_preset(folder), then run "
            f"{type(model).__name__}.from_preset(folder).export(...) with KERAS_BACKEND=tensorflow."
        )
    if has_token_ids:
        from keras_bert.serving.export_token_ids import export_token_ids

        return export_token_ids(model, filepath, format, **options)
    from keras_bert.serving.export_saved_model import export_saved_model

    return export_saved_model(model, filepath, **options)
