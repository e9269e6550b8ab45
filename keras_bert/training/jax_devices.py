"""JAX devices, of one or several processes, with the interface of a strategy."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import keras

_PREFIX = "KERAS_DISTRIBUTION_"  # JOB_ADDRESSES, NUM_PROCESSES, PROCESS_ID


class ReplicatedBatches(keras.distribution.DataParallel):
    """Data parallelism in which every process and device gets the entire batch.

    Each device takes its own rows in the compiled step, so a batch may have any number of rows.
    Copying costs little: token ids are small compared with weights.
    """

    def get_data_layout(self, data_shape: Sequence[int]) -> keras.distribution.TensorLayout:
        return keras.distribution.TensorLayout([None] * len(data_shape), self.device_mesh)


class JaxDevices:
    """JAX devices with the `scope()` and `num_replicas_in_sync` of a strategy."""

    def __init__(self, devices: list[str]):
        self.devices = devices
        self.num_replicas_in_sync = len(devices)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Self]:
        # It stays set after the block, until the next scope, because Keras reads it in `fit`.
        batches = None
        if len(self.devices) > 1:
            batches = ReplicatedBatches(devices=self.devices, auto_shard_dataset=False)
        keras.distribution.set_distribution(batches)
        yield self

    def holds(self, weight: Any) -> bool:
        """Returns whether the value of a weight is on the devices of this scope."""
        devices = {f"{device.platform}:{device.id}" for device in weight.devices()}
        # A single device is JAX's default, which need not be the first.
        return len(devices) == 1 if len(self.devices) == 1 else devices == set(self.devices)


def keep_compiled_programs() -> None:
    """Keeps programs for GPUs and TPUs, which take minutes to compile, on disk for later runs.

    The folder is `~/.cache/keras_bert/jax`, unless JAX was told another.
    """
    import jax

    if jax.default_backend() != "cpu" and not jax.config.jax_compilation_cache_dir:
        folder = Path.home() / ".cache" / "keras_bert" / "jax"
        jax.config.update("jax_compilation_cache_dir", str(folder))


def connect_processes() -> int:
    """Joins the other processes that the environment names, if any; returns their number."""
    import jax

    is_one_of_several = any(name.startswith(_PREFIX) for name in os.environ)
    if is_one_of_several and not jax.distributed.is_initialized():
        keras.distribution.initialize()
    return jax.process_count()
