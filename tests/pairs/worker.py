"""Runs what it reads from its input, a line of JSON each; writes a line for each result.

KERAS_BACKEND=jax python -m tests.pairs.worker
"""

import gc
import json
import os
import sys
import time
import traceback

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import logging  # noqa: E402
import warnings  # noqa: E402


def prepare():
    """Gives TensorFlow two devices."""
    import keras

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        [cpu] = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )


def outcome(task):
    """Runs a task `{"run": ..., "match": ...}`; returns what came of it."""
    import keras

    from tests.pairs.oracles import check

    begin = time.monotonic()
    try:
        share = check(task["run"], task.get("match"))
        result = {"status": "ok", "share": share}
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{f.filename.split('/main/')[-1]}:{f.lineno}" for f in frames]
        result = {
            "status": "failed",
            "error": f"{type(error).__name__}: {str(error)[:600]}",
            "where": [p for p in places if "site-packages" not in p][-4:] + places[-1:],
        }
    finally:
        keras.config.set_dtype_policy("float32")
    return {**result, "seconds": round(time.monotonic() - begin, 1)}


def main():
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints
    prepare()
    for line in sys.stdin:
        output.write(json.dumps(outcome(json.loads(line))) + "\n")
        output.flush()
        gc.collect()


if __name__ == "__main__":
    main()
