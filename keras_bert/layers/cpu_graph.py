"""What TensorFlow's graphs may hold that run on the CPUs of this process and nowhere else."""

import contextlib
import contextvars

from keras import ops

_takes_onednn = contextvars.ContextVar("_takes_onednn", default=False)


@contextlib.contextmanager
def patterns_of_onednn(takes):
    """Tells layers, inside a `with` block, to trace what oneDNN's kernels may replace, or not to.

    Such patterns are slow without these kernels, and other runtimes and GPUs don't know them.
    """
    token = _takes_onednn.set(takes)
    try:
        yield
    finally:
        _takes_onednn.reset(token)


def takes_onednn():
    """Returns whether a graph is traced for oneDNN."""
    if not _takes_onednn.get():
        return False
    import tensorflow as tf

    return not tf.executing_eagerly()


def unknown_zeros(values):
    """Returns zeros of the shape of `values` that TensorFlow doesn't know to be zeros.

    It would drop a sum with constant ones, and so break a pattern that has a bias.
    """
    return ops.minimum(ops.abs(values), 0.0)


def computes_on_cpus():
    """Returns whether TensorFlow has no other devices than CPUs."""
    import tensorflow as tf

    return all(device.device_type == "CPU" for device in tf.config.list_logical_devices())
