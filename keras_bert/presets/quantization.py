"""Quantization settings in a model's config: which layers are quantized, and how.

`model.quantize("int8")` replaces weights inside layers. The weight file then loads only into a
model with the same layers quantized in the same way, so a quantized model's config names them.
"""

from typing import Any, TypeVar

import keras

from keras_bert.training.keras_internals import all_layers

Model = TypeVar("Model", bound=keras.Model)


def quantization_config(model: keras.Model) -> dict[str, Any]:
    """Returns `{"quantized_layers": {path: how}}`, or `{}` if no layer of `model` is quantized."""
    layers = {
        layer.path: keras.saving.serialize_keras_object(layer.quantization_config)
        for layer in all_layers(model)
        if layer.quantization_mode
    }
    return {"quantized_layers": layers} if layers else {}


def quantized_from_config(cls: type[Model], config: dict[str, Any]) -> Model:
    """Makes `cls(**config)` and quantizes the layers that `quantization_config` named."""
    config = {**config}
    quantized = config.pop("quantized_layers", {})
    model = cls(**config)
    for layer in all_layers(model):
        if layer.path in quantized and layer.quantization_mode is None:
            how = keras.saving.deserialize_keras_object(quantized[layer.path])
            layer.quantize(config=how)
    return model
