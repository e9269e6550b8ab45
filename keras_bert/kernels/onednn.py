"""What TensorFlow's graphs may hold that run on the CPUs of this process and nowhere else."""

import contextlib
import contextvars

import keras
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


def takes_norm(layer, inputs, training):
    """Returns whether a graph without gradients normalizes float32 numbers."""
    return not training and inputs.dtype == "float32" and takes_onednn()


def layer_norm(layer, inputs, training=False):
    """Normalizes `[..., H]` in the form that TensorFlow replaces by one kernel of oneDNN.

    The form is that of Keras 2, rows as channels of a batch normalization; see `FindMklLayerNorm`
    in TensorFlow's remapper.cc.
    """
    import tensorflow as tf

    gamma = layer.gamma
    beta = layer.beta if layer.center else unknown_zeros(gamma)
    shape = tf.shape(inputs)
    rows = tf.reduce_prod(shape[:-1])
    normalized, *_ = tf.raw_ops.FusedBatchNormV3(
        x=tf.reshape(inputs, (1, -1, inputs.shape[-1], 1)),
        scale=tf.ones([rows]),
        offset=tf.zeros([rows]),
        mean=tf.zeros([0]),
        variance=tf.zeros([0]),
        epsilon=layer.epsilon,
        data_format="NCHW",
        is_training=True,
    )
    return tf.ensure_shape(tf.reshape(normalized, shape) * gamma + beta, inputs.shape)


def takes_gates(layer, x):
    """Returns whether a graph without gradients computes float32 values and gates of one layer."""
    is_plain = layer.values_and_gates.quantization_mode is None
    return is_plain and x.dtype == "float32" and takes_onednn()


def gated(layer, x):
    """Computes a `GatedFeedForward`'s values and gates by two products, whose GELU is fused."""
    kernels = ops.split(layer.values_and_gates.kernel, 2, axis=1)
    rows = ops.reshape(x, (-1, layer.hidden_dim))
    values, gates = (ops.matmul(rows, kernel) for kernel in kernels)
    values = layer.activate(ops.add(values, unknown_zeros(kernels[0][0])))  # all in one kernel
    shape = (*ops.shape(x)[:2], layer.intermediate_dim)
    return ops.reshape(values, shape) * ops.reshape(gates, shape)


def are_sequences(layer, inputs, training=False):
    """Returns whether a dense layer gets more than two axes."""
    return len(inputs.shape) > 2


def dense_of_rows(layer, inputs, training=False):
    """Computes a Dense layer on rows `[B x S, H]`.

    Their matrix product adds the bias and applies GELU before it writes its results. Keras's
    product of `[B, S, H]` ends in a reshape, which keeps them apart.
    """
    rows = ops.reshape(inputs, (-1, inputs.shape[-1]))
    outputs = keras.layers.Dense.call(layer, rows, training=training)
    return ops.reshape(outputs, (*ops.shape(inputs)[:-1], layer.units))
