"""What runs in a process of its own: one run of the array."""

import gc
import logging
import os
import time
import traceback
import warnings


def prepare(eagerly):
    """Silences the process; TensorFlow has two devices, or one and another worker's."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import keras

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if keras.backend.backend() != "tensorflow":
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(eagerly)
    if "TF_CONFIG" in os.environ:
        from tests.pairs.models import replicas

        replicas()
    else:
        [cpu] = tf.config.list_physical_devices("CPU")
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, devices)


def outcome(task):
    """Runs a task `{"run": ..., "match": ...}`; returns what came of it."""
    import keras

    from tests.pairs.oracles import check

    begin = time.monotonic()
    result = {"status": "ok"}
    try:
        check(task["run"], task.get("match"))
    except Exception as error:
        result = {
            "status": "failed",
            "error": f"{type(error).__name__}: {str(error)[:600]}",
        }
        result["where"] = traceback.format_exc()[-3000:]
    keras.config.set_dtype_policy("float32")
    gc.collect()
    return {**result, "seconds": round(time.monotonic() - begin, 1)}
