"""Export of models of token ids for other programs."""

from difflib import get_close_matches

import keras

from keras_bert.messages import check_one_of, check_path

TOKEN_ID_FORMATS = ("onnx", "litert", "openvino")
_FORMATS = ("tf_saved_model", *TOKEN_ID_FORMATS)
_ALSO_CALLED = dict.fromkeys(("tensorflow", "tf"), "tf_saved_model")
_ALSO_CALLED |= dict.fromkeys(("tensorflow_lite", "tf_lite", "tflite"), "litert")


def export_encoder(model, filepath, format="tf_saved_model", **kwargs):
    """Writes a model of token ids; see `BertTask.export`. Keras writes other formats."""
    check_path("filepath", filepath)
    name = str(format).lower()
    close = get_close_matches(name, _FORMATS, 1, cutoff=0.8)
    meant = _ALSO_CALLED.get(name, *close)
    hint = f" Did you mean {meant!r}?" if meant else ""
    check_one_of("format", format, (*_FORMATS, "torch"), hint)
    if format not in TOKEN_ID_FORMATS:
        return keras.Model.export(model, filepath, format=format, **kwargs)
    from keras_bert.serving.export_token_ids import export_token_ids

    return export_token_ids(model, filepath, format, **kwargs)
