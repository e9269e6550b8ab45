"""Compares training on divided and undivided batches, for this library and Keras's own fit.

    python benchmarks/divided_batches.py --backend tensorflow

Each cell trains the same model on the same batches, on some number of devices and in some number of
parts: 20 clipped steps of AdamW without dropout. Padding, weights and prediction slots are spread
unevenly over the rows. The cell compares the result with training on one device in one part: it
shows the largest difference of a weight and of a logged number. Keras's own `fit` trains the same
layers, with `gradient_accumulation_steps` for parts. If it fails, the cell begins with the name of
the error.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).with_name("_divided_batches.py")
TASKS = {
    "pretrainer": {"task": "pretrainer"},
    "classifier": {"task": "classifier"},
    "span_labeler": {"task": "span_labeler"},
    "token_classifier": {"task": "token_classifier"},
}
CELLS = [  # number of devices, and how each divides and runs a batch
    (1, {"accumulation_steps": 2}),
    (1, {"accumulation_steps": 4}),
    (1, {"steps_per_execution": 5}),
    (2, {}),
    (2, {"accumulation_steps": 2}),
    (2, {"accumulation_steps": 4}),
    (2, {"steps_per_execution": 5}),
    (2, {"jit_compile": True}),
    (2, {"total": 132}),
    (4, {}),
    (4, {"accumulation_steps": 2}),
    (4, {"accumulation_steps": 4}),
]


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--backend", default="tensorflow", choices=["tensorflow", "jax"])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    return parser.parse_args(argv)


def trained(backend, devices, settings):
    """Returns the result of training with each of the settings, or the error's last line."""
    done = subprocess.run(
        [sys.executable, SCRIPT, backend, str(devices), *map(json.dumps, settings)],
        capture_output=True,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(found) == len(settings):
        return found
    if len(settings) == 1:
        lines = [line for line in done.stderr.splitlines() if "Error" in line]
        return [lines[-1] if lines else f"ended with {done.returncode}"]
    rest = settings[len(found) :]
    return (
        found
        + trained(backend, devices, rest[:1])
        + (trained(backend, devices, rest[1:]) if rest[1:] else [])
    )


def differences(found, expected):
    """Formats the largest difference of a weight and of a logged number, or the error."""
    if isinstance(found, str):
        return found[:60]
    pairs = zip(found["weights"].values(), expected["weights"].values(), strict=True)
    weights = max(np.abs(np.subtract(a, b)).max() for a, b in pairs)
    logs = max(abs(found["logs"][name] - value) for name, value in expected["logs"].items())
    return f"{weights:.0e}, {logs:.0e}"


def main(argv=None):
    args = parse_args(argv)
    print("| model | devices, division | keras_bert: weights, logs | Keras's own fit |")
    print("|---|---|---|---|")
    by_devices = {n: [c for c in CELLS if c[0] == n] for n in (1, 2, 4)}
    for task in args.tasks:
        columns = []
        for stock in (False, True):
            fixed = {**TASKS[task], "stock": stock}
            plain, short = trained(args.backend, 1, [fixed, {**fixed, "total": 132}])
            column = []
            for devices, cells in by_devices.items():
                settings = [{**fixed, **options} for _, options in cells]
                for setting, found in zip(
                    settings, trained(args.backend, devices, settings), strict=True
                ):
                    column.append(differences(found, short if "total" in setting else plain))
            columns.append(column)
        for (devices, options), *cells in zip(CELLS, *columns, strict=True):
            how = ", ".join(f"{name} {value}" for name, value in options.items())
            print(f"| {task} | {devices}, {how or 'whole'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
