"""The same tests on JAX and PyTorch, and the package where TensorFlow is not installed.

Keras has one backend to a process, so each of these runs in processes of its own.
"""

import pytest

from tests.gates import ROOT
from tests.marks import weekly, with_package

BACKENDS = [
    pytest.param(name, marks=[pytest.mark.slow, with_package(name)]) for name in ("jax", "torch")
]
# JAX compiles more than it computes here.
FAST = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}


TESTS = [  # paths, and which of their tests
    weekly("layers models training test_callbacks.py", "not slow"),
    weekly("habits", ""),
    # Kernels and traced functions; on JAX, steps that are lowered for a GPU, too.
    (
        "kernels/test_fused_attention.py models/test_retracing.py training/test_gpu_ready.py",
        "",
    ),
    (
        "test_contracts.py models/test_every_task.py training/test_train_loop.py",
        "not slow",
    ),
]


@pytest.mark.parametrize(("paths", "which"), TESTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_tests_pass_on_other_backends(backend, paths, which, run_python):
    paths = [f"tests/{path}" for path in paths.split()]
    options = ["-m", which, "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal"]
    said = run_python("-m", "pytest", *paths, *options, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
    assert "passed" in said and f"Keras computes with {backend}" in said


@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_train_and_are_answered_where_tensorflow_is_not_installed(
    backend, tmp_path, run_python
):
    command = ["tests/without_tensorflow.py", tmp_path]
    assert "all is well" in run_python(*command, cwd=ROOT, KERAS_BACKEND=backend, **FAST)
