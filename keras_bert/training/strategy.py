"""Devices that a model trains on."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import keras

from keras_bert.messages import check_int, check_one_of, logger, shown

if TYPE_CHECKING:
    import tensorflow as tf

Strategy: TypeAlias = "tf.distribute.Strategy | JaxDevices | OneDevice"
"""The result of `get_strategy`."""

_NAMES = ("auto", "single", "mirrored", "multiworker", "tpu")
_SECONDS_TO_ANSWER = 10  # for a TPU to answer
_PREFIX = "KERAS_DISTRIBUTION_"  # JOB_ADDRESSES, NUM_PROCESSES, PROCESS_ID


def get_strategy(
    name: str = "auto", address: str | None = None, devices: int | None = None
) -> Strategy:
    """Selects the devices to build and fit a model on.

    On TensorFlow the result is a `tf.distribute.Strategy`, elsewhere an object with its `scope()`
    and `num_replicas_in_sync`. On JAX, models train with `keras.distribution.DataParallel` in it.

    On JAX several processes, on one machine or many, train as one. Start the same program in each
    with the environment variables of `keras.distribution.initialize` (see the guide to many
    devices), and call this function before any other use of JAX: it joins the processes. Each gets
    the same data, with the same seeds, and each device takes its own rows of every batch, of any
    number; `fit` compares the first batches. `batch_size` counts the rows on all devices together.
    The first process writes files and all read them, so their folder must be visible to all.

    If making entire batches is too much work for each process, give each its own part with
    `pretraining_dataset(shard=(index, count), batch_size=batch_size // count)`, under
    `keras.distribution.DataParallel(auto_shard_dataset=False)` instead of this function. A
    `keras.Model` from outside this library computes the entire batch on each JAX device.

    Args:
        name: on TensorFlow
            `"auto"`: the machines in TF_CONFIG, else a TPU, else all GPUs, else the CPU;
            `"single"`: the first GPU if there are any, else the CPU;
            `"mirrored"`: all GPUs of this machine, or its logical CPU devices if it has no GPU;
            `"multiworker"`: the machines in the environment variable TF_CONFIG, each of which runs
                this program; the first writes files. Call it before any other use of TensorFlow;
            `"tpu"`: a TPU.
            On JAX `"auto"`, all devices of all processes, or `"single"`, one device of one process.
                Programs compiled for GPUs and TPUs are kept in `~/.cache/keras_bert/jax`, unless
                `JAX_COMPILATION_CACHE_DIR` names another folder.
            On PyTorch `"auto"` or `"single"`, one device.
        address: address of the TPU: `"local"`, its name, or `"grpc://host:port"`; None is `"local"`
            for `"tpu"`. With an address `"auto"` is `"tpu"`; other names don't take one.
        devices: number of devices to use, for `"mirrored"`, and for `"auto"` on JAX; None is all.

    Returns:
        A strategy; build and compile the model in its `scope()`.

    Raises:
        ValueError: if the name is unknown or belongs to another backend, the strategy doesn't take
            `address` or `devices`, or its devices are not found or don't answer.

    Example:
    >>> get_strategy("single").num_replicas_in_sync
    1
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        check_one_of("strategy", name, _NAMES)
    else:
        hint = " On JAX 'auto' is all devices of all connected processes, on PyTorch it is one."
        check_one_of("strategy", name, ("auto", "single"), hint)
    resolved = _resolved_auto(address) if name == "auto" and backend != "jax" else name
    _check_uses(name, resolved, address, devices)
    if backend == "jax":
        return _jax_devices(name, devices)
    if backend == "torch":
        return OneDevice()
    if resolved == "mirrored":
        return _mirrored(devices)
    if resolved == "multiworker":
        return _multiworker()
    if resolved == "tpu":
        return _tpu(address or "local")
    import tensorflow as tf

    return tf.distribute.get_strategy()


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


class OneDevice:
    """PyTorch's device, with the `scope()` and `num_replicas_in_sync` of a strategy."""

    num_replicas_in_sync = 1

    def scope(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext(self)


def is_distributed(model: keras.Model) -> bool:
    """Returns whether a model computes on several devices."""
    strategy = getattr(model, "distribute_strategy", None)  # only TensorFlow's trainer has one
    has_replicas = strategy is not None and strategy.num_replicas_in_sync > 1
    return has_replicas or keras.distribution.distribution() is not None


def device_kind() -> str:
    """Returns "GPU", "CPU" or "TPU"; call it after `get_strategy`, which connects to a TPU."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.devices()[0].platform.upper()
    if keras.backend.backend() == "torch":
        import torch

        return "GPU" if torch.cuda.is_available() else "CPU"
    import tensorflow as tf

    types = ("TPU", "GPU", "CPU")
    return next(filter(tf.config.list_logical_devices, types))


def scope_of(owner: Any) -> contextlib.AbstractContextManager:
    """Returns the scope of a strategy, or of a model's; one without effect if there is none."""
    strategy = getattr(owner, "distribute_strategy", owner)  # set by TensorFlow's trainer only
    return strategy.scope() if hasattr(strategy, "scope") else contextlib.nullcontext()


def _resolved_auto(address):
    if keras.backend.backend() == "torch":
        return "single"
    if address is not None:
        return "tpu"
    import tensorflow as tf

    if os.environ.get("TF_CONFIG") and len(_cluster()[0]) > 1:
        return "multiworker"
    if tf.config.list_logical_devices("TPU"):
        return "tpu"
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "single"


def _check_uses(name, resolved, address, devices):
    if address is not None and resolved != "tpu":
        raise ValueError(
            f"The strategy {name!r} doesn't accept a TPU address; got {address!r}: choose 'tpu'."
        )
    takes_some = resolved in ("auto", "mirrored") or (resolved == "single" and devices == 1)
    if devices is not None and not takes_some:
        taken = "one device" if resolved == "single" else "all devices that it finds"
        raise ValueError(
            f"The strategy {name!r}, which is {resolved!r} here, takes {taken}; got "
            f"devices={devices}. Omit it, or choose 'mirrored' on TensorFlow, or 'auto' on JAX."
        )


def _mirrored(devices):
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    names = [device.name for device in gpus or tf.config.list_logical_devices("CPU")]
    names = _first(names, devices)
    sums = None if gpus else tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy(names, cross_device_ops=sums)


def _tpu(address):
    import tensorflow as tf

    if address.startswith("grpc://"):
        _check_answers(address)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu=address)
    except Exception as error:  # many kinds, none documented
        raise ValueError(
            f"No TPU was found at {address!r}. Install tensorflow-tpu on a TPU host, give its "
            f"address, or choose 'mirrored' or 'single'. TensorFlow reported: {error}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def _check_answers(address):
    """Raises a ValueError if no gRPC server answers at `grpc://host:port` in time.

    TensorFlow's `connect` would wait forever, holding a lock that every later op waits for.
    """
    import grpc

    channel = grpc.insecure_channel(address.removeprefix("grpc://"))
    try:
        grpc.channel_ready_future(channel).result(timeout=_SECONDS_TO_ANSWER)
    except grpc.FutureTimeoutError as error:
        raise ValueError(
            f"Nothing answers at {address!r} within {_SECONDS_TO_ANSWER} s. Check that the TPU is "
            "running, and that the address is grpc://host:port, usually with port 8470."
        ) from error
    finally:
        channel.close()


def _multiworker():
    import tensorflow as tf

    addresses, own = _cluster()
    others = [address for address in addresses if address != own]
    if others:
        logger.warning(
            "Waiting for %s of TF_CONFIG. Until all are there, only `kill -9` ends this process.",
            ", ".join(others),
        )
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:  # TensorFlow has begun to compute
        raise ValueError(
            'keras_bert.get_strategy("multiworker") must be the first line of the program, before '
            "anything makes a tensor, such as a model."
        ) from error
    handler = signal.getsignal(signal.SIGTERM)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # TensorFlow's own ignores it
    return strategy


def _cluster():
    """Returns the addresses of the machines in TF_CONFIG, and this one's."""
    text = os.environ.get("TF_CONFIG", "")
    try:
        config = json.loads(text)
        cluster, task = config["cluster"], config["task"]
        addresses = [*cluster.get("chief", []), *cluster["worker"]]
        return addresses, cluster[task["type"]][int(task["index"])]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            "Several machines need the environment variable TF_CONFIG, such as "
            '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", '
            f'"index": 0}}}}, with an index of the list; got {shown(text, 300)}.'
        ) from error


def _jax_devices(name, devices):
    import jax

    is_one_of_several = any(variable.startswith(_PREFIX) for variable in os.environ)
    if is_one_of_several and not jax.distributed.is_initialized():
        keras.distribution.initialize()
    if jax.default_backend() != "cpu" and not jax.config.jax_compilation_cache_dir:
        folder = Path.home() / ".cache" / "keras_bert" / "jax"  # programs that take minutes
        jax.config.update("jax_compilation_cache_dir", str(folder))
    processes = jax.process_count()
    names = keras.distribution.list_devices()
    if processes > 1 and (name == "single" or devices not in (None, len(names))):
        raise ValueError(
            f"{processes} processes train together, on all of their {len(names)} devices; got "
            f"{name!r} with devices={devices}. Choose 'auto' without a number of devices, or start "
            "one process without the variables KERAS_DISTRIBUTION_*."
        )
    return JaxDevices(_first(names, 1 if name == "single" else devices))


def _first(names, devices):
    if devices is not None:
        check_int("devices", devices, at_most=len(names))
    return names[:devices]
