"""What changes a model takes effect in functions that were compiled before the change."""

import numpy as np
import pytest
from keras import ops

from keras_bert import AdamW, BertClassifier
from keras_bert.kernels import blocks
from tests.marks import slow

TEXTS = ["a b c", "d", "e f g h i j k l", "m n"]
LABELS = np.array([0, 1, 1, 0])


@pytest.fixture
def make_model(make_backbone, preprocessor, randomized):
    def make(num_layers=1):
        backbone = make_backbone(num_layers=num_layers, dropout=0.0)
        return randomized(BertClassifier(backbone, 2, preprocessor=preprocessor, dropout=0.0))

    return make


@pytest.fixture
def model(make_model):
    return make_model()


def check_calls(model):
    """Checks `predict`, `answer` and `evaluate` against the layers' own logits; returns these."""
    inputs = model.preprocessor(TEXTS)
    logits = ops.convert_to_numpy(model(inputs))
    # Sums of float32 in another order.
    close = {
        "rtol": 0,
        "atol": 1e-4 * np.abs(logits).max(),
    }
    np.testing.assert_allclose(model.predict(inputs), logits, **close)
    probabilities = ops.convert_to_numpy(ops.softmax(logits))
    answers = [answer["probabilities"] for answer in model.answer(TEXTS)]
    np.testing.assert_allclose(answers, probabilities, **close)
    loss = -np.log(probabilities[np.arange(4), LABELS]).mean()
    evaluated = model.evaluate(inputs, LABELS, return_dict=True)["loss"]
    np.testing.assert_allclose(evaluated, loss, **close)
    return logits


def adapt(model):
    """Gives adapters values as if they were trained."""
    for variable in model.backbone.weights:
        if "lora" in variable.path:
            variable.assign(np.linspace(-1, 1, np.prod(variable.shape)).reshape(variable.shape))


def weights(model):
    return {v.path: ops.convert_to_numpy(v) for v in model.weights if "lora" not in v.path}


def test_a_change_of_an_encoder_is_one_of_all_tasks_on_it(model, difference):
    other = BertClassifier(model.backbone, 2, preprocessor=model.preprocessor)
    encoder = model.backbone
    inputs = model.preprocessor(TEXTS)
    model.predict(inputs)
    plain = encoder.predict(inputs)
    other.enable_lora(2, alpha=4)
    adapt(other)
    check_calls(model)
    adapted = encoder.predict(inputs)
    assert difference(adapted, encoder(inputs)) < 1e-4 < 0.1 < difference(adapted, plain)
    other.merge_lora()
    check_calls(model)
    encoder.quantize("int8")
    kernel = encoder.blocks[0].intermediate_dense.kernel
    kernel.assign(np.zeros(kernel.shape, "int8"))
    check_calls(model)


def test_freezing_other_weights_of_the_same_shapes_changes_no_outputs(make_model, assert_close):
    model = make_model(num_layers=2)
    first, second = model.backbone.blocks
    inputs = model.preprocessor(TEXTS)
    for frozen in (first, second):  # on JAX the values of both have the same shapes
        first.trainable = second.trainable = True
        frozen.trainable = False
        assert_close(model.predict(inputs), model(inputs))


def moved(model, *data):
    """Trains, and returns the paths of the weights that were changed."""
    before = weights(model)
    model.fit(*data)
    return {path for path, value in weights(model).items() if np.any(value != before[path])}


def test_the_next_fit_trains_what_is_trainable_and_recomputes_as_told(model, inputs, monkeypatch):
    model.compile()
    data = inputs, np.arange(8) % 2
    everything = moved(model, *data)
    first, second = model.backbone.embeddings, *model.backbone.blocks
    first.trainable = False
    assert everything - moved(model, *data) == {variable.path for variable in first.weights}
    first.trainable, second.trainable = True, False
    model.backbone.remat, recomputed = True, []
    recompute = blocks._Block.recomputed
    monkeypatch.setattr(
        blocks._Block, "recomputed", lambda *a: recomputed.append(a) or recompute(*a)
    )
    assert everything - moved(model, *data) == {variable.path for variable in second.weights}
    assert recomputed


@pytest.mark.parametrize(
    "kind",
    ["frozen", slow("quantized and adapted"), slow("frozen later")],
)
def test_a_saved_model_trains_on_as_if_it_had_not_been_saved(
    make_model, inputs, reloaded, difference, tmp_path, kind
):
    model, data = make_model(num_layers=2), (inputs, np.arange(8) % 2)
    if kind == "quantized and adapted":
        model.quantize("int8")
        model.enable_lora(2, alpha=4)
        adapt(model)
    if kind == "frozen":
        model.backbone.freeze(up_to=1)
    model.compile(AdamW(0.01), run_eagerly=True)
    model.fit(*data)
    if kind == "frozen later":
        model.backbone.freeze(up_to=1)
    model.save_to_preset(tmp_path / "preset")  # whose adapters are merged, and stay in the model
    merged = BertClassifier.from_preset(tmp_path / "preset")  # which rounds int8's kernels again
    assert difference(merged(inputs), model(inputs)) < (0.1 if "quantized" in kind else 1e-5)
    loaded = reloaded(model)
    for each in (model, loaded):
        each.fit(*data, epochs=2, shuffle=False)
    for ours, theirs in (
        (model.variables, loaded.variables),
        (model.trainable_variables, loaded.trainable_variables),
        (model.optimizer.variables, loaded.optimizer.variables),
    ):
        assert [v.path for v in theirs] == [v.path for v in ours]
        assert all(map(np.array_equal, theirs, ours))
    model.save_weights(tmp_path / "model.weights.h5")
    before = model.get_weights()
    model.fit(*data)
    model.load_weights(tmp_path / "model.weights.h5")
    assert all(map(np.array_equal, model.get_weights(), before))
