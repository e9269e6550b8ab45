"""Connects to a TPU at an address, once something there is known to answer."""

import socket

SECONDS_TO_ANSWER = 10
# What a client of gRPC says first, and a server answers with a frame of the same kind: that it
# speaks HTTP/2, and an empty frame of settings (RFC 9113, sections 3.4 and 6.5).
_SETTINGS = 4
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
_FRAME_HEAD = 9  # bytes, of which the fourth is the kind


def connect_to_tpu(address):
    """A `tf.distribute.TPUStrategy` for the TPU at `"local"`, a name, or `"grpc://host:port"`."""
    import tensorflow as tf

    if address.startswith("grpc://"):
        check_answers(address)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu=address)
    except Exception as error:  # of many kinds, none of them documented
        raise ValueError(
            f"No TPU was found at {address!r}. Install tensorflow-tpu on a TPU host, give the "
            "address of one, or choose the strategy 'mirrored' or 'cpu'. TensorFlow said: "
            f"{error}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def check_answers(address):
    """Raises a ValueError if no server of gRPC answers at `grpc://host:port`.

    TensorFlow itself waits for ever, also where a connection is accepted and nothing is said.
    """
    host, _, port = address.removeprefix("grpc://").rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER) as connection:
            connection.sendall(_GREETING)
            with connection.makefile("rb") as answer:
                said = answer.read(_FRAME_HEAD)
        if len(said) < _FRAME_HEAD or said[3] != _SETTINGS:
            raise ConnectionError(f"what is there speaks not gRPC, but {said!r}")
    except (OSError, ValueError, OverflowError) as error:
        raise ValueError(
            f"Nothing answers at {address!r} within {SECONDS_TO_ANSWER} s ({error}). A TPU's "
            "address is grpc://host:port, its port 8470 as a rule; is it running, and reachable "
            "from here?"
        ) from error
