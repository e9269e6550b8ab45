"""Quantized models that come back quantized.

`model.quantize("int8")` replaces weights inside layers; a file of them loads only into a model
whose same layers are quantized already. So a quantized model's config names them.
"""


def quantization_config(model):
    """`{"quantized_layers": {path: mode}}` where any layer of `model` is quantized, else `{}`."""
    modes = {
        layer.path: layer.quantization_mode
        for layer in model._flatten_layers()
        if layer.quantization_mode
    }
    return {"quantized_layers": modes} if modes else {}


def quantized_from_config(cls, config):
    """`cls(**config)`, with the layers quantized that `quantization_config` named."""
    config = {**config}
    modes = config.pop("quantized_layers", {})
    model = cls(**config)
    for mode in sorted(set(modes.values())):

        def still_to_do(layer, mode=mode):
            return layer.quantization_mode is None and modes.get(layer.path) == mode

        model.quantize(mode, filters=still_to_do)
    return model
