"""The devices of JAX, in one process or in several, used as a `tf.distribute.Strategy` is."""

import contextlib
import os

import keras

_PLACE = "KERAS_DISTRIBUTION_"  # JOB_ADDRESSES, NUM_PROCESSES, PROCESS_ID


class WholeBatches(keras.distribution.DataParallel):
    """Data parallelism in which a batch is handed whole to every process and device.

    The train loop has each device take its own rows of it, in the compiled step. So any data does
    that gives the same batches in every process, as data does that depends on seeds alone; and
    batches may have any number of rows, more than there are devices or fewer. Ids of tokens are
    small beside weights, so that handing them to every device costs little.

    Args:
        devices: strs, names of devices.
    """

    def __init__(self, devices):
        super().__init__(devices=devices, auto_shard_dataset=False)

    def get_data_layout(self, data_shape):
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)


class JaxDevices:
    """Devices of JAX, with the `scope()` and `num_replicas_in_sync` of a strategy."""

    def __init__(self, devices):
        self.devices = devices
        self.num_replicas_in_sync = len(devices)

    @contextlib.contextmanager
    def scope(self):
        # It stays after the block, until the next scope: Keras looks at it in `fit`.
        is_divided = len(self.devices) > 1
        keras.distribution.set_distribution(WholeBatches(self.devices) if is_divided else None)
        yield self

    def holds(self, weight):
        """Whether the weight lies where this scope puts it."""
        found = {f"{device.platform}:{device.id}" for device in weight.value.devices()}
        # One device is JAX's default, which need not be the first.
        return len(found) == 1 if len(self.devices) == 1 else found == set(self.devices)


def connect_processes():
    """Joins the other processes, if the environment tells of any; returns how many there are."""
    import jax

    if any(name.startswith(_PLACE) for name in os.environ) and not jax.distributed.is_initialized():
        keras.distribution.initialize()
    return jax.process_count()
