"""The requests that TensorFlow Serving replays before it lets a model answer.

It reads them from `assets.extra/tf_serving_warmup_requests` of a SavedModel: a TFRecord file of at
most 1000 `PredictionLog` messages (tensorflow/serving, g3doc/saved_model_warmup.md). The first
request to a fresh model costs many times what the others do; here no client pays for it.
"""

import os

import tensorflow as tf

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
MAX_REQUESTS = 1000


def write_warmup_requests(saved_model, model_name, requests):
    """Puts warm-up requests into a SavedModel's folder.

    Args:
        saved_model: path of the folder that holds `saved_model.pb`.
        model_name: str, the name under which the model will be served.
        requests: a list of `(signature name, {input name: value})`, where a value is anything
            that `tf.make_tensor_proto` takes.
    """
    path = os.path.join(saved_model, WARMUP_FILE)
    tf.io.gfile.makedirs(os.path.dirname(path))
    with tf.io.TFRecordWriter(path) as file:
        for signature_name, inputs in requests:
            file.write(prediction_log(model_name, signature_name, inputs))


def prediction_log(model_name, signature_name, inputs):
    """The bytes of a `tensorflow.serving.PredictionLog` that holds one predict request.

    Written field by field, because the package that has the message's class,
    tensorflow-serving-api, is pinned to one TensorFlow. The field numbers are those of
    prediction_log.proto, predict.proto and model.proto in tensorflow/serving.

    Args:
        model_name: str.
        signature_name: str.
        inputs: a dict of input names and values.
    """
    model_spec = _message((1, model_name.encode()), (3, signature_name.encode()))
    entries = [
        _message((1, name.encode()), (2, tf.make_tensor_proto(value).SerializeToString()))
        for name, value in inputs.items()
    ]
    predict_request = _message((1, model_spec), *((2, entry) for entry in entries))
    predict_log = _message((1, predict_request))
    return _message((6, predict_log))


def _message(*fields):
    """Protobuf's encoding of `(field number below 16, bytes)`: tag, length, bytes."""
    length_delimited = 2
    return b"".join(
        bytes([number << 3 | length_delimited]) + _varint(len(value)) + value
        for number, value in fields
    )


def _varint(number):
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
