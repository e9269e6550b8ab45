"""The same tests on JAX and PyTorch, and the package where TensorFlow is not installed.

Keras has one backend to a process, so each of these runs in processes of its own.
"""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def where(is_installed):
    return pytest.mark.skipif(not is_installed, reason='pip install ".[parity]"')


BACKENDS = [
    pytest.param(name, marks=[pytest.mark.slow, where(importlib.util.find_spec(name))])
    for name in ("jax", "torch")
]
# JAX compiles more than it computes here.
FAST = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_layers_models_and_training_work_on_other_backends(backend, run_python):
    rooms = ["tests/layers", "tests/models", "tests/training", "tests/test_callbacks.py"]
    options = ["-m", "not slow", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    said = run_python("-m", "pytest", *rooms, *options, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
    assert "passed" in said and f"this is {backend}" in said


@pytest.mark.weekly
@pytest.mark.parametrize("backend", BACKENDS)
def test_programs_of_keras_users_work_on_other_backends(backend, run_python):
    options = ["tests/habits", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    said = run_python("-m", "pytest", *options, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
    assert "passed" in said
    assert ("a loop of torch" in said) == (backend != "torch")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_backends_do_in_their_own_ways_is_right_on_all(backend, run_python):
    """Kernels and traced functions; on JAX, steps that are lowered for a GPU, too."""
    paths = ["layers/test_fused_attention.py", "models/test_retracing.py"]
    if backend == "jax":
        paths.append("training/test_gpu_ready.py")
    options = [*(f"tests/{path}" for path in paths), "-q", "-p", "no:cacheprovider"]
    said = run_python("-m", "pytest", *options, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
    assert "passed" in said
    assert f"this is {backend}" not in said and "needs the JAX backend" not in said


@pytest.mark.parametrize("backend", BACKENDS)
def test_contracts_and_train_steps_hold_on_all(backend, run_python):
    paths = ["test_contracts.py", "models/test_every_task.py", "training/test_train_loop.py"]
    options = [*(f"tests/{path}" for path in paths), "-m", "not slow", "-q"]
    options += ["-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal"]
    said = run_python("-m", "pytest", *options, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
    assert "passed" in said and f"this is {backend}" in said


@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_train_and_are_answered_where_tensorflow_is_not_installed(
    backend, tmp_path, run_python
):
    command = ["tests/without_tensorflow.py", tmp_path]
    assert "all is well" in run_python(*command, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
