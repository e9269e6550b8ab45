"""Requests that TensorFlow Serving replays before a model answers clients.

It reads them from `assets.extra/tf_serving_warmup_requests` of a SavedModel, a TFRecord file of at
most 1000 `PredictionLog` messages (tensorflow/serving, g3doc/saved_model_warmup.md). The first
request to a newly loaded model takes many times as long as later ones. With warm-up requests, no
client has to wait for it.
"""

import os
from collections.abc import Iterable

import tensorflow as tf

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
MAX_REQUESTS = 1000


def write_warmup_requests(
    saved_model: str, model_name: str, requests: Iterable[tuple[str, dict]]
) -> None:
    """Adds warm-up requests to a SavedModel's folder, for the name that it is served under.

    Requests are `(signature name, {input name: value})`, with values that `tf.make_tensor_proto`
    takes.
    """
    path = os.path.join(saved_model, WARMUP_FILE)
    tf.io.gfile.makedirs(os.path.dirname(path))
    with tf.io.TFRecordWriter(path) as file:
        for signature_name, inputs in requests:
            file.write(prediction_log(model_name, signature_name, inputs))


def prediction_log(model_name: str, signature_name: str, inputs: dict) -> bytes:
    """Encodes one predict request as a `tensorflow.serving.PredictionLog`.

    The message is encoded field by field, because tensorflow-serving-api, which has the class, is
    pinned to one TensorFlow version. The field numbers come from prediction_log.proto,
    predict.proto and model.proto in tensorflow/serving.
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
    """Encodes fields, `(number below 16, bytes)`, as protobuf does: tag, length, bytes."""
    length_delimited = 2
    return b"".join(
        bytes([number << 3 | length_delimited]) + _varint(len(value)) + value
        for number, value in fields
    )


def _varint(number):
    """Encodes a number as seven bits per byte, lowest first; the high bit means more follow."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
