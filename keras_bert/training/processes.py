"""Several processes that train one model together: TensorFlow's workers or JAX's processes."""

import zlib
from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    from keras_bert.training.strategy import Strategy


def is_chief(strategy: "Strategy | keras.Model | None" = None) -> bool:
    """Returns whether this process, the first, writes the files when several train together.

    Call `save_to_preset`, `finetune` and the like in all processes: each waits for the others.
    `strategy` is the result of `get_strategy`, or a model built in its scope; optional on JAX.
    """
    workers = _workers(strategy)
    if workers is not None:
        return bool(workers.extended.should_save_summary)
    if process_count() == 1:
        return True
    import jax

    return jax.process_index() == 0


def wait_for_all(name: str, strategy: "Strategy | keras.Model | None" = None) -> None:
    """Waits until every process has reached this call, with the same `name` of the event."""
    message = f"Each process must wait for the same event; one waits for {name!r}."
    check_same(zlib.crc32(name.encode()) >> 1, message, strategy)


def check_same(number: int, message: str, strategy: "Strategy | keras.Model | None" = None) -> None:
    """Raises a ValueError, `message`, if the numbers of processes, in 0 to 2**31 - 1, differ."""
    numbers = numbers_of_all(number, strategy)
    if len(set(numbers)) > 1:
        raise ValueError(f"{message} (They have {numbers}, in order of processes.)")


def numbers_of_all(number: int, strategy: "Strategy | keras.Model | None" = None) -> list[int]:
    """Returns the numbers of all processes that train together, each in 0 to 2**31 - 1."""
    workers = _workers(strategy)
    if workers is not None:
        import tensorflow as tf

        on_devices = workers.run(tf.constant, args=([number],))
        return workers.gather(on_devices, axis=0).numpy().tolist()
    if process_count() > 1:
        import numpy as np
        from jax.experimental import multihost_utils

        return multihost_utils.process_allgather(np.int32(number)).tolist()
    return [number]


def _workers(strategy) -> Any:
    """Returns the strategy of TensorFlow workers that train together, or None for one process."""
    if strategy is None or keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    strategy = getattr(strategy, "distribute_strategy", strategy)
    is_one = not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return None if is_one else strategy


def process_count() -> int:
    """Returns the number of JAX's processes, 1 on other backends."""
    if keras.backend.backend() != "jax":
        return 1
    import jax

    return jax.process_count()
