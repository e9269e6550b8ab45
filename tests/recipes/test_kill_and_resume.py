"""A run that is killed, again and again, ends with the bits of one that wasn't."""

import hashlib
import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import keras_bert

ROOT = Path(__file__).resolve().parents[2]

KILLABLE = """
import os, runpy, signal, sys
import tensorflow as tf

devices, kill_at, kill_in_save = map(int, sys.argv[1:4])
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
import keras

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Dies(keras.callbacks.CallbackList):
    def on_train_batch_end(self, batch, logs=None):
        super().on_train_batch_end(batch, logs)
        if keras.backend.backend() == "jax":
            self._model.jax_state_sync()
        done = int(keras.ops.convert_to_numpy(self._model.optimizer.iterations))
        if done >= kill_at > 0:
            if not kill_in_save:
                die()
            os.fsync = lambda file: die()  # the next checkpoint is written, and not yet renamed

from keras.src import callbacks  # where `fit` finds it
callbacks.CallbackList = Dies
sys.argv = sys.argv[4:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(recipe, arguments, backend, devices, kill_at=0, kill_in_save=False):
    path = ROOT / "recipes" / f"{recipe}.py"
    command = [sys.executable, "-c", KILLABLE, devices, kill_at, int(kill_in_save), path]
    flags = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.run(
        list(map(str, command + arguments)),
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "XLA_FLAGS": flags,
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # JAX compiles more than it computes here
        },
    )


def digest(output, step):
    """Of all arrays of the last checkpoint."""
    checkpoint = keras_bert.TrainingCheckpoint(output / "checkpoints")
    assert checkpoint.latest_step() == step
    with np.load(output / "checkpoints" / f"step-{step:010d}.npz") as file:
        parts = [file[name].tobytes() for name in sorted(file.files)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def check(recipe, arguments, folder, backend, devices, last_step, num_kills):
    """Runs the recipe whole, and killed so many times, the second time while it saves."""
    if importlib.util.find_spec(backend) is None:
        pytest.skip('pip install ".[parity]"')
    whole = run(recipe, [*arguments, "--output", folder / "whole"], backend, devices)
    assert whole.returncode == 0, whole.stderr[-3000:]
    assert f"{devices} replica" in whole.stdout
    killed = [recipe, [*arguments, "--output", folder / "killed"], backend, devices]
    kills = sorted(random.Random(devices).sample(range(2, last_step), num_kills))
    for number, kill_at in enumerate(kills):
        ended = run(*killed, kill_at, kill_in_save=number == 1)
        assert ended.returncode == -9, ended.stderr[-3000:]
    last = run(*killed)
    assert last.returncode == 0, last.stderr[-3000:]
    found = digest(folder / "killed", last_step)
    assert found == digest(folder / "whole", last_step)
    print(f"{len(kills)} kills, at {kills}: sha256 {found}")


def check_curves(curves, folder, last_step):
    """Checks that the killed run's curves are those of the whole one, but for the speed."""
    expected, found = curves(folder / "whole"), curves(folder / "killed")
    for each in (expected, found):
        each.pop("tokens_per_second", None)
    assert found == expected and list(found["loss"])[-1] == last_step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "devices", "kills"),
    [
        pytest.param("tensorflow", 1, 3, marks=pytest.mark.weekly),
        ("tensorflow", 2, 2),
        pytest.param("jax", 2, 1, marks=pytest.mark.weekly),
    ],
)
def test_pretraining_killed_at_random_steps_ends_with_the_same_bits(
    backend, devices, kills, corpus, tmp_path, curves
):
    strategy = "single" if devices == 1 else {"tensorflow": "mirrored", "jax": "auto"}[backend]
    arguments = [
        "--corpus", corpus, "--size", "tiny", "--steps", 40, "--batch_size", 4,
        "--warmup_proportion", 0.1, "--save_every", 4, "--precision", "float32",
        "--strategy", strategy,
        "--accumulation_steps", 2, "--steps_per_execution", 2,
    ]  # fmt: skip
    # Phase 128 ends behind nine tenths of the steps.
    check("pretrain_tpu", arguments, tmp_path, backend, devices, last_step=36, num_kills=kills)
    check_curves(curves, tmp_path, last_step=36)


@pytest.mark.slow
def test_finetuning_killed_at_random_steps_ends_with_the_same_bits(preset, curves, tmp_path):
    path = tmp_path / "reviews.tsv"
    rows = [f"the {w} is {w} {w}\t{w == 'good'}" for w in ("good", "bad") for _ in range(16)]
    path.write_text("\n".join(["review\topinion", *rows]) + "\n")
    arguments = [
        "--init", preset, "--train", path, "--dev", path, "--text_column", "review",
        "--label_column", "opinion", "--sequence_length", 12, "--batch_size", 4, "--epochs", 3,
    ]  # fmt: skip
    check("finetune_classifier", arguments, tmp_path, "tensorflow", 1, last_step=24, num_kills=2)
    check_curves(curves, tmp_path, last_step=24)
    scores = [(tmp_path / name / "scores.json").read_text() for name in ("killed", "whole")]
    assert scores[0] == scores[1]
