"""Measures the cost of devices and steps per execution, compared with Keras's own fit.

    python benchmarks/divided_speed.py

Each way trains the same model on the same batches in its own process. The processes take turns, and
the fastest epoch of each counts. Keras's own `fit` trains the same layers with the same optimizer
on one device. Virtual CPU devices share the cores, so two are no faster than one: the table shows
the overhead of dividing.
"""

import argparse
import json
import os
import subprocess
import sys
import time

WAYS = {
    "Keras's own, 1 device, 1 step per execution": (1, 1, True),
    "Keras's own, 1 device, 16 steps": (1, 16, True),
    "1 device, 1 step": (1, 1, False),
    "1 device, 16 steps": (1, 16, False),
    "2 devices, 1 step": (2, 1, False),
    "2 devices, 16 steps": (2, 16, False),
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--sequence_length", type=int, default=64)
    parser.add_argument("--size", default="mini")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def fastest_epoch(args, devices, steps_per_execution, stock):
    """Returns the seconds of 32 steps."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    import keras
    import numpy as np

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        [cpu] = tf.config.list_physical_devices("CPU")
        logical = [tf.config.LogicalDeviceConfiguration()] * devices
        tf.config.set_logical_device_configuration(cpu, logical)
    import keras_bert
    from keras_bert.sizes import SIZES

    name = "mirrored" if keras.backend.backend() == "tensorflow" else "auto"
    strategy = keras_bert.get_strategy(name if devices > 1 else "single")
    with strategy.scope():
        model = keras_bert.BertClassifier(
            keras_bert.BertBackbone(8000, **SIZES[args.size]), num_classes=2
        )
        arguments = model.default_compile_args()
        if stock:
            model = keras.Model(model.input, model.output)
        model.compile(**arguments, steps_per_execution=steps_per_execution)
    rng, rows = np.random.default_rng(0), 32 * args.batch_size
    token_ids = rng.integers(5, 8000, (rows, args.sequence_length))
    x = {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids)}
    x["segment_ids"] = np.zeros_like(token_ids)
    y, seconds = rng.integers(0, 2, rows), []
    for _ in range(4):
        start = time.perf_counter()
        model.fit(x, y, batch_size=args.batch_size, shuffle=False, verbose=0)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main(argv=None):
    args = parse_args(argv)
    if args.way:
        print(json.dumps(fastest_epoch(args, *WAYS[args.way])))
        return
    command = [sys.executable, __file__, *(sys.argv[1:] if argv is None else argv)]
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(args.turns):
        for way in WAYS:
            done = subprocess.run([*command, "--way", way], stdout=subprocess.PIPE, text=True)
            best[way] = min(best[way], json.loads(done.stdout.splitlines()[-1]))
    first = next(iter(best.values()))
    print("| way | rows/s | relative to the first |\n|---|---|---|")
    for way, seconds in best.items():
        print(f"| {way} | {32 * args.batch_size / seconds:.0f} | {first / seconds:.2f} |")


if __name__ == "__main__":
    main()
