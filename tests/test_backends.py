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


WITHOUT_TENSORFLOW = """
import sys

for name in ("tensorflow", "tensorflow_text"):
    sys.modules[name] = None  # import raises ModuleNotFoundError
import keras_bert

assert set(keras_bert.__all__) <= set(dir(keras_bert))
assert "keras" not in sys.modules, "names load on first use"
import keras
import numpy as np

tiny = dict(num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=16)
backbone = keras_bert.BertBackbone(vocabulary_size=20, **tiny)
x = {"token_ids": np.ones((4, 6), "int32"), "padding_mask": np.ones((4, 6), "int32")}
backbone.compile(optimizer=keras_bert.AdamW(1e-3), loss={"pooled_output": "mse"})
backbone.fit(x, {"pooled_output": np.zeros((4, 8))}, verbose=0)
assert backbone.predict(x, verbose=0)["sequence_output"].shape == (4, 6, 8)

model = keras_bert.BertClassifier(backbone, num_classes=2)
rate = keras_bert.WarmupLinearDecay(1e-3, 1, 10)
model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
model.fit(x, np.array([0, 1, 0, 1]), epochs=2, verbose=0)
expected = model.predict(x, verbose=0)
model.save_to_preset(sys.argv[1])
loaded = keras_bert.BertClassifier.from_preset(sys.argv[1])
assert np.abs(expected - loaded.predict(x, verbose=0)).max() == 0.0
try:
    keras_bert.BertTokenizer
except ImportError as error:
    assert "tensorflow" in str(error), error
else:
    raise AssertionError("BertTokenizer should need TensorFlow")
print("all is well")
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_models_build_train_and_predict_where_tensorflow_is_not_installed(backend, tmp_path):
    done = run(["-c", WITHOUT_TENSORFLOW, str(tmp_path / "preset")], backend, timeout=300)
    assert done.returncode == 0 and "all is well" in done.stdout, done.stderr[-3000:]
