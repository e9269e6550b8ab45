"""Where a model trains."""

import tensorflow as tf


def get_strategy(name="auto"):
    """The `tf.distribute.Strategy` to build and fit a model under.

    Args:
        name: `"auto"` (a TPU if there is one, else all GPUs, else the CPU), `"cpu"`,
            `"mirrored"` (all GPUs of this machine; the CPU where it has none), or `"tpu"`.

    Returns:
        A strategy; build and compile the model in its `scope()`.

    Raises:
        ValueError: if the name is unknown, or a TPU is asked for and not found.

    Example:
    >>> get_strategy("cpu").num_replicas_in_sync
    1
    """
    if name == "auto":
        if tf.config.list_logical_devices("TPU"):
            name = "tpu"
        else:
            name = "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "cpu"
    if name == "cpu":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    if name == "tpu":
        return _tpu_strategy()
    raise ValueError(f"Unknown strategy {name!r}: choose 'auto', 'cpu', 'mirrored' or 'tpu'.")


def _tpu_strategy():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu="local")
    except (ValueError, tf.errors.NotFoundError, tf.errors.InvalidArgumentError) as error:
        raise ValueError(
            "No TPU was found on this machine. Install tensorflow-tpu on a TPU host, or choose "
            f"the strategy 'mirrored' or 'cpu'. TensorFlow said: {error}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)
