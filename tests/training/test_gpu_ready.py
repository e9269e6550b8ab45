"""Each task's `predict` and train step are lowered for GPUs that aren't there, on JAX.

Lowering finds what cuDNN's attention refuses: shapes of masks, dtypes, lengths. Nothing is compiled
and nothing runs on a GPU.
"""

from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_bert.layers.fused_attention import planned_for

ON_JAX = pytest.mark.skipif(keras.backend.backend() != "jax", reason="needs the JAX backend")
pytestmark = [pytest.mark.slow, ON_JAX, pytest.mark.usefixtures("mixed_bfloat16")]
TASKS = (
    "pretrainer", "classifier", "token_classifier", "span_labeler", "multiple_choice", "reranker",
    "embedder",
)  # fmt: skip
A100, H100 = "8.0", "9.0"  # compute capabilities
KERNEL = "__cudnn$fmha"


@pytest.fixture
def lowered(monkeypatch, lower_prediction):
    import jax

    from keras_bert.planning import compiler

    def lower(model, batch, capability, training):
        device = SimpleNamespace(platform="gpu", compute_capability=capability)

        def lower_for_gpu(function, mesh, *arguments):
            with planned_for(SimpleNamespace(devices=np.array([device]))):
                return function.trace(*arguments).lower(lowering_platforms=("cuda",))

        monkeypatch.setattr(compiler, "_lowered", lower_for_gpu)
        step = compiler.lower_step if training else lower_prediction
        return step(model, jax.devices(), batch if training else batch[0]).as_text()

    return lower


CASES = [(name, False, H100) for name in TASKS]
CASES += [("pretrainer", True, H100), ("pretrainer", True, A100)]


@pytest.mark.parametrize("name, packed, capability", CASES)
def test_each_task_predicts_and_trains_by_cudnn(name, packed, capability, make_task, lowered):
    model, data = make_task(name, packed, attention_dropout=0.0)
    batch = next(iter(data))
    if name != "embedder":  # whose training batches are tuples of inputs
        text = lowered(model, batch, capability, training=False)
        assert text.count(KERNEL) == 1 and "Backward" not in text
    text = lowered(model, batch, capability, training=True)
    assert packed or f"{KERNEL}Scale" not in text, "padded rows need no mask"
    assert "Backward" in text and "Dropout" not in text
