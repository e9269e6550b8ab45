"""Where a model trains."""

import os
import socket

import keras

from keras_bert.training.jax_devices import JaxDevices, connect_processes

_NAMES = ("auto", "cpu", "mirrored", "multiworker", "tpu")
_SECONDS_TO_ANSWER = 10


def get_strategy(name="auto", address=None, devices=None):
    """The devices to build and fit a model on.

    On TensorFlow this is a `tf.distribute.Strategy`; on JAX an object with the same `scope()` and
    `num_replicas_in_sync`, under which models train by `keras.distribution.DataParallel`.

    On JAX several processes, on one machine or many, train as one. Start the same program in each
    with the environment variables that `keras.distribution.initialize` documents, for example
    `KERAS_DISTRIBUTION_JOB_ADDRESSES=10.0.0.1:1234`, the address of the first process,
    `KERAS_DISTRIBUTION_NUM_PROCESSES=2` and `KERAS_DISTRIBUTION_PROCESS_ID=0`, or 1, before
    anything else is done with JAX: this function joins them. Then

    - each process is given the same data, with the same seeds, and each device takes its own rows
      of every batch: `batch_size` is that of all devices together, and numbers are those of one
      device. That suits all datasets of this library; `fit` compares the first batches;
    - a batch may have any number of rows, also the last one;
    - each process calls the same functions. The first writes checkpoints, presets and logs; all
      read them, so that their folder must be one that all see.

    Where making whole batches is too much for each process, give each its own part with
    `pretraining_dataset(shard=(index, count), batch_size=batch_size // count)`, under
    `keras.distribution.DataParallel(auto_shard_dataset=False)` in place of this. A `keras.Model`
    that isn't of this library computes whole batches on each of JAX's devices: right, not faster.

    Args:
        name: on TensorFlow
            `"auto"`: a TPU if there is one, else all GPUs, else the CPU;
            `"cpu"`: one device, the CPU, or the GPU if there is one;
            `"mirrored"`: all GPUs of this machine; where it has none, its logical CPU devices;
            `"multiworker"`: the machines that the environment variable TF_CONFIG lists, each of
                which runs this program and calls the same functions; the first writes files. Call
                this before anything else of TensorFlow runs;
            `"tpu"`: a TPU.
            On JAX `"auto"`, all devices of all processes, or `"cpu"`, one device of one process.
        address: of the TPU: `"local"`, its name, or `"grpc://host:port"`; None is `"local"`.
        devices: int, how many of the devices to use, for `"mirrored"`, and `"auto"` on JAX; None is
            all.

    Returns:
        A strategy; build and compile the model in its `scope()`.

    Raises:
        ValueError: if the name is unknown, what it stands for is not found or doesn't answer, or
            fewer devices are asked for than several processes have.

    Example:
    >>> get_strategy("cpu").num_replicas_in_sync
    1
    """
    if name not in _NAMES:
        raise ValueError(
            f"Unknown strategy {name!r}: choose {', '.join(map(repr, _NAMES[:-1]))} or "
            f"{_NAMES[-1]!r}."
        )
    if keras.backend.backend() == "jax":
        return _jax_devices(name, devices)
    import tensorflow as tf

    if name == "auto":
        if tf.config.list_logical_devices("TPU"):
            name = "tpu"
        else:
            name = "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "cpu"
    if name == "mirrored":
        return _mirrored(devices)
    if name == "multiworker":
        return _multiworker()
    if name == "tpu":
        return _tpu(address or "local")
    return tf.distribute.get_strategy()


def add_device_arguments(parser):
    """Adds `--strategy`, `--tpu` and `--devices` to a command line: what `get_strategy` takes.

    Args:
        parser: an `argparse.ArgumentParser`.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> add_device_arguments(parser)
    >>> parser.parse_args(["--strategy", "mirrored", "--devices", "2"]).devices
    2
    """
    add = parser.add_argument
    add("--strategy", default="auto", choices=_NAMES, help="where to train")
    add("--tpu", help="address of the TPU: local, its name, or grpc://host:port")
    add("--devices", type=int, help="how many GPUs, or devices of JAX, to use; all by default")


def describe_training(strategy, batch_size, model, accumulation_steps=1):
    """A line that says what training will use, once it is known to be possible.

    Args:
        strategy: what `get_strategy` gave.
        batch_size: int, over all replicas.
        model: the compiled model.
        accumulation_steps: int, parts that each replica divides its rows into.

    Returns:
        A str, such as "2 replicas on GPU; batches of 32 rows, 16 a replica; ...".

    Raises:
        ValueError: if the replicas and parts don't divide the batch, or the model was built
            outside of the strategy's scope.

    Example:
    >>> from keras_bert import BertBackbone, BertClassifier, sizes
    >>> model = BertClassifier(BertBackbone(vocabulary_size=100, **sizes.tiny), num_classes=3)
    >>> model.compile(**model.default_compile_args())
    >>> describe_training(get_strategy("cpu"), 32, model)  # doctest: +ELLIPSIS
    '1 replica on ...; batches of 32 rows, 32 a replica; float32; 1 step per execution; XLA ...'
    """
    replicas = strategy.num_replicas_in_sync
    parts = replicas * accumulation_steps
    if batch_size % parts:
        raise ValueError(
            f"A batch of {batch_size} rows can't be divided among {replicas} replicas with "
            f"accumulation_steps={accumulation_steps}: choose a multiple of {parts}, for instance "
            f"{-(-batch_size // parts) * parts}."
        )
    own = getattr(model, "distribute_strategy", strategy)
    if replicas > 1 and own is not strategy and own.num_replicas_in_sync != replicas:
        raise ValueError(
            "The model was built outside of the strategy's scope, so that its weights are on one "
            "device only. Make and compile it in `with strategy.scope():`."
        )
    words = [
        f"{_counted(replicas, 'replica')} on {device_kind()}{_processes()}",
        f"batches of {batch_size} rows, {batch_size // replicas} a replica"
        + (f" in {accumulation_steps} parts" if accumulation_steps > 1 else ""),
        keras.config.dtype_policy().name,
        f"{_counted(model.steps_per_execution, 'step')} per execution",
        f"XLA {'on' if model.jit_compile else 'off'}",
    ]
    return "; ".join(words)


def _counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def device_kind():
    """What this process trains on.

    Returns:
        "TPU", whose batches must all have the same shape, "GPU" or "CPU". Call it behind
        `get_strategy`, which connects to a TPU.

    Example:
    >>> device_kind() in ("TPU", "GPU", "CPU")
    True
    """
    if keras.backend.backend() == "jax":
        import jax

        return jax.devices()[0].platform.upper()
    import tensorflow as tf

    kinds = ("TPU", "GPU", "CPU")
    return next(kind for kind in kinds if tf.config.list_logical_devices(kind))


def _processes():
    if keras.backend.backend() != "jax":
        return ""
    import jax

    return f" in {jax.process_count()} processes" if jax.process_count() > 1 else ""


def _mirrored(devices):
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    names = [device.name for device in gpus or tf.config.list_logical_devices("CPU")]
    names = _some(names, devices)
    if gpus:
        return tf.distribute.MirroredStrategy(names)
    return tf.distribute.MirroredStrategy(
        names, cross_device_ops=tf.distribute.ReductionToOneDevice()
    )


def _multiworker():
    import tensorflow as tf

    if not os.environ.get("TF_CONFIG"):
        raise ValueError(
            "The strategy 'multiworker' needs the environment variable TF_CONFIG, which lists the "
            'machines and says which one this is: {"cluster": {"worker": ["host1:2222", '
            '"host2:2222"]}, "task": {"type": "worker", "index": 0}}.'
        )
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        raise ValueError(
            "The strategy 'multiworker' must be chosen before anything else of TensorFlow runs: "
            f"make get_strategy the first call of the program. TensorFlow said: {error}"
        ) from error


def _tpu(address):
    import tensorflow as tf

    if address.startswith("grpc://"):
        _check_answers(address)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(tpu=address)
    except Exception as error:  # of many kinds, none of them documented
        raise ValueError(
            f"No TPU was found at {address!r}. Install tensorflow-tpu on a TPU host, give the "
            "address of one, or choose the strategy 'mirrored' or 'cpu'. TensorFlow said: "
            f"{error}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def _check_answers(address):
    """Raises a ValueError if nothing listens at `grpc://host:port`."""
    host, _, port = address.removeprefix("grpc://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"Nothing answers at {address!r} within {_SECONDS_TO_ANSWER} s ({error}). A TPU's "
            "address is grpc://host:port, its port 8470 as a rule; is it running, and reachable "
            "from here?"
        ) from error


def _jax_devices(name, devices):
    if name not in ("auto", "cpu"):
        raise ValueError(
            f"The strategy {name!r} is TensorFlow's. On JAX choose 'auto', which takes all devices "
            "of all connected processes, or 'cpu', which takes one."
        )
    processes = connect_processes()
    found = keras.distribution.list_devices()
    devices = 1 if name == "cpu" else devices
    if processes > 1 and devices not in (None, len(found)):
        raise ValueError(
            f"{processes} processes train together, on all of their {len(found)} devices; got "
            f"{name!r} with devices={devices}. Choose 'auto' without a number of devices, or start "
            "one process without the variables KERAS_DISTRIBUTION_*."
        )
    return JaxDevices(_some(found, devices))


def _some(found, number):
    if number is not None and not 1 <= number <= len(found):
        raise ValueError(f"devices must be in 1 to {len(found)}, the devices found; got {number}.")
    return found[:number]
