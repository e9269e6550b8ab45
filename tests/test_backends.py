"""The same tests on JAX and PyTorch, and the package where TensorFlow is not installed.

Keras has one backend to a process, so each of these runs in processes of its own.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BACKENDS = [
    pytest.param(
        name,
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(
                importlib.util.find_spec(name) is None, reason='pip install ".[parity]"'
            ),
        ],
    )
    for name in ("jax", "torch")
]


def run(arguments, backend, timeout):
    # JAX compiles more than it computes here.
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        env=environment,
    )


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_layers_models_and_training_work_on_other_backends(backend):
    rooms = ["tests/layers", "tests/models", "tests/training", "tests/test_callbacks.py"]
    options = ["-m", "not slow", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    done = run(["-m", "pytest", *rooms, *options], backend, timeout=2400)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "passed" in done.stdout and f"this is {backend}" in done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", ["layers/test_fused_attention.py", "models/test_retracing.py"])
def test_what_backends_do_in_their_own_ways_is_right_on_all(path, backend):
    done = run(["-m", "pytest", f"tests/{path}", "-q"], backend, timeout=600)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "passed" in done.stdout and f"this is {backend}" not in done.stdout


@pytest.mark.parametrize("backend", BACKENDS[:1])
def test_every_step_is_lowered_for_a_gpu(backend):
    options = ["-m", "slow", "-q", "-p", "no:cacheprovider"]
    done = run(["-m", "pytest", "tests/training/test_gpu_ready.py", *options], backend, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "passed" in done.stdout and "skipped" not in done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_train_and_are_answered_where_tensorflow_is_not_installed(backend, tmp_path):
    done = run(["tests/without_tensorflow.py", str(tmp_path)], backend, timeout=600)
    assert done.returncode == 0 and "all is well" in done.stdout, done.stderr[-3000:]
