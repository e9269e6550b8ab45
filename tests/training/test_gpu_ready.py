"""Each task's `predict` and train step are lowered for GPUs that aren't there, on JAX.

Lowering finds what cuDNN's attention refuses: shapes of masks, dtypes, lengths. Nothing is compiled
and nothing runs on a GPU.
"""

from types import SimpleNamespace

import keras
import pytest

from keras_bert.kernels import fused_attention
from keras_bert.training.keras_internals import build_from_batch
from tests.marks import on

pytestmark = [pytest.mark.slow, on("jax"), pytest.mark.usefixtures("mixed_bfloat16")]
TASKS = ("classes", "tags", "spans", "choices", "reranker", "embedder of scores")
CORPUS = ("pretrainer on a corpus", "pretrainer on a packed corpus")
A100, H100 = "8.0", "9.0"  # compute capabilities
KERNEL = "__cudnn$fmha"


@pytest.fixture
def lowered(monkeypatch):
    import jax
    from jax._src.cudnn import fused_attention_stablehlo as cudnn

    from keras_bert.training.jax_loop import compiled, one_or_more

    def shape(values):
        return jax.ShapeDtypeStruct(values.shape, keras.backend.standardize_dtype(values.dtype))

    def lower(model, batch, capability, training):
        device = SimpleNamespace(platform="gpu", compute_capability=capability)
        monkeypatch.setattr(fused_attention, "jax_device", lambda: device)
        monkeypatch.setattr(keras.config, "is_flash_attention_enabled", lambda: True)
        monkeypatch.setattr(cudnn, "check_cudnn_version", lambda: 91200)
        monkeypatch.setattr(
            cudnn,
            "check_compute_capability",
            lambda least: float(capability) >= float(least),
        )
        state = [model.trainable_variables, model.non_trainable_variables]
        if training:
            model.compile(**model.default_compile_args())
            build_from_batch(model, batch)
            state += [model.optimizer.variables, model.metrics_variables]
            function = compiled(one_or_more(model.train_step))
            arguments = (batch,)
        else:
            function = jax.jit(lambda state, x: model.stateless_call(*state, x, training=False)[0])
            arguments = batch[0]
        state, arguments = jax.tree.map(shape, (tuple(state), arguments))
        return function.trace(state, arguments).lower(lowering_platforms=("cuda",)).as_text()

    return lower


CASES = [*((task, H100) for task in (*TASKS, *CORPUS)), (CORPUS[1], A100)]


@pytest.mark.parametrize("task, capability", CASES)
def test_each_task_predicts_and_trains_by_cudnn(task, capability, make_task, lowered):
    model, data = make_task(task)
    batch = next(iter(data))
    if not task.startswith("embedder"):  # whose training batches are tuples of inputs
        text = lowered(model, batch, capability, training=False)
        assert text.count(KERNEL) == model.backbone.num_layers and "Backward" not in text
    text = lowered(model, batch, capability, training=True)
    assert "packed" in task or f"{KERNEL}Scale" not in text, "padded rows need no mask"
    assert "Backward" in text and "Dropout" not in text
