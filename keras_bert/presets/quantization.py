"""Quantized models that come back quantized.

`model.quantize("int8")` replaces weights inside layers; a file of them loads only into a model
whose same layers are quantized already, in the same way. So a quantized model's config names them.
"""

import keras

from keras_bert.training.keras_internals import all_layers


def quantization_config(model):
    """`{"quantized_layers": {path: how}}` where any layer of `model` is quantized, else `{}`."""
    layers = {
        layer.path: keras.saving.serialize_keras_object(layer.quantization_config)
        for layer in all_layers(model)
        if layer.quantization_mode
    }
    return {"quantized_layers": layers} if layers else {}


def quantized_from_config(cls, config):
    """`cls(**config)`, with the layers quantized that `quantization_config` named."""
    config = {**config}
    to_do = config.pop("quantized_layers", {})
    model = cls(**config)
    for layer in all_layers(model):
        if layer.path in to_do and layer.quantization_mode is None:
            how = keras.saving.deserialize_keras_object(to_do[layer.path])
            layer.quantize(config=how)
    return model
