"""Several processes that train one model together: workers of TensorFlow, or JAX's processes."""

import keras


def is_chief(place=None):
    """Whether this process is the one that writes files, of those that train a model together.

    What this library writes it lets the first process write: call `save_to_preset`, `finetune` and
    the like in all of them, since each waits there for the others.

    Args:
        place: what `get_strategy` gave, or a model that was built in its scope; on JAX it may be
            left out.

    Returns:
        A bool; True where one process trains.

    Example:
    >>> is_chief()
    True
    """
    workers = _workers(place)
    if workers is not None:
        return bool(workers.extended.should_save_summary)
    return not _are_many() or _jax().process_index() == 0


def wait_for_all(name, place=None):
    """Returns when every process has come here.

    Args:
        name: str, what was waited for; the same on all processes.
        place: as of `is_chief`.
    """
    workers = _workers(place)
    if workers is not None:
        import tensorflow as tf

        ones = workers.run(tf.ones, args=((),))
        workers.reduce("SUM", ones, axis=None)  # which no worker has without all
    elif _are_many():
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)


def check_same(number, message, place=None):
    """Raises a ValueError if the processes come with different numbers.

    Args:
        number: int in 0 to 2**31 - 1, that of this process.
        message: str, what is wrong then, and how to mend it; the numbers are added.
        place: as of `is_chief`.
    """
    workers = _workers(place)
    if workers is not None:
        import tensorflow as tf

        own = workers.run(tf.constant, args=([number],))  # on each of its devices
        numbers = workers.gather(own, axis=0).numpy().tolist()
    elif _are_many():
        import numpy as np
        from jax.experimental import multihost_utils

        numbers = multihost_utils.process_allgather(np.int32(number)).tolist()
    else:
        return
    if len(set(numbers)) > 1:
        raise ValueError(f"{message} (They have {numbers}, in their order.)")


def _workers(place):
    """The strategy of TensorFlow whose workers train together, if there are several."""
    if place is None or keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    strategy = getattr(place, "distribute_strategy", place)
    is_one = not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    return None if is_one else strategy


def _are_many():
    return keras.backend.backend() == "jax" and _jax().process_count() > 1


def _jax():
    import jax

    return jax
