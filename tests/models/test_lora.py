"""LoRA: adapters and the head are trained, saved alone, loaded and merged."""

import numpy as np
import pytest
from keras import ops
from safetensors import safe_open
from safetensors.numpy import save

from keras_bert import BertClassifier, BertReranker

LABELS = np.arange(8) % 2


def make(make_backbone, values=None, **arguments):
    """Makes a classifier, with the weights of another one's encoder if they are given."""
    model = BertClassifier(make_backbone(**arguments), num_classes=2, dropout=0.0)
    restore(model, values or {})
    return model


def restore(model, values):
    for weight in model.backbone.weights:
        weight.assign(values.get(weight.path, weight))


def encoder(model):
    return {w.path: ops.convert_to_numpy(w) for w in model.backbone.weights if "lora" not in w.path}


@pytest.fixture
def adapted(make_backbone, tmp_path):
    """`(model, its encoder's weights, file of adapters)`, the adapters as if they were trained."""
    model = make(make_backbone)
    before = encoder(model)
    model.enable_lora(rank=2, alpha=4)
    for variable in model.trainable_variables:
        variable.assign(np.linspace(-0.5, 0.5, np.prod(variable.shape)).reshape(variable.shape))
    model.save_lora(tmp_path / "adapters.safetensors")
    return model, before, tmp_path / "adapters.safetensors"


@pytest.mark.usefixtures("eager_compile")
def test_only_adapters_and_the_head_are_trained_after_everything_was(make_backbone, inputs):
    model = make(make_backbone)
    model.fit(inputs, LABELS, verbose=0)
    before = encoder(model)
    model.enable_lora(rank=2)
    model.fit(inputs, LABELS, epochs=2, verbose=0)
    *adapters, kernel, bias = model.trainable_variables
    assert (kernel.path, bias.path) == ("logits/kernel", "logits/bias")
    assert len(adapters) == 8 and all("/lora_kernel_" in v.path for v in adapters)
    after = encoder(model)
    assert all(np.array_equal(after[path], value) for path, value in before.items())
    assert all(np.any(v) for v in adapters)


def test_a_file_of_adapters_gives_the_same_model_and_so_do_merged_ones(
    adapted, make_backbone, inputs, assert_close, difference, tmp_path
):
    model, before, path = adapted
    merged = make(make_backbone, before)
    assert difference(model(inputs), merged(inputs)) > 1e-3
    merged.load_lora(path)
    assert difference(model(inputs), merged(inputs)) == 0.0
    assert path.stat().st_size < 4 * model.backbone.count_params()
    merged.merge_lora()
    model.save_to_preset(tmp_path / "preset")
    loaded = BertClassifier.from_preset(tmp_path / "preset")
    for each in (merged, loaded):
        assert_close(model(inputs), each(inputs))
    fresh = make(make_backbone)
    for kind in ("trainable_variables", "weights"):
        paths = [v.path for v in getattr(fresh, kind)]
        assert [v.path for v in getattr(merged, kind)] == paths
        assert [v.path for v in getattr(loaded, kind)] == paths
    merged.enable_lora(rank=1)


def test_merged_weights_are_not_rounded_to_the_compute_dtype(make_backbone, tmp_path):
    model = make(make_backbone, dtype="mixed_bfloat16")
    before = encoder(model)
    model.enable_lora(rank=2)  # which changes nothing yet
    model.save_to_preset(tmp_path / "preset")
    model.save_to_hugging_face(tmp_path / "theirs")
    model.merge_lora()
    loaded = [BertClassifier.from_preset(tmp_path / name) for name in ("preset", "theirs")]
    for each in (model, *loaded):
        assert all(np.array_equal(encoder(each)[path], value) for path, value in before.items())


def test_what_cannot_be_adapted_is_refused(adapted, make_backbone, tmp_path, refused):
    model, _, path = adapted
    plain, other = make(make_backbone), tmp_path / "other"
    other.write_bytes(b"something else")
    refused("rank .* got 0", plain.enable_lora, 0)
    refused("alpha .* got nan", plain.enable_lora, 1, float("nan"))
    refused("alpha .* got 'x'", plain.enable_lora, 1, "x")
    refused("call enable_lora first", plain.save_lora, path)
    refused("has LoRA adapters already", model.enable_lora, 2)
    refused("is not a file that save_lora wrote", plain.load_lora, other)


def test_a_file_of_another_task_or_encoder_is_refused(adapted, make_backbone, refused):
    model, before, path = adapted
    others = {
        "task is BertClassifier.*model's BertReranker": BertReranker(model.backbone),
        '"hidden_dim": 16.*"hidden_dim": 32': make(make_backbone, hidden_dim=32),
        "checksum": make(make_backbone),
        r"logits/kernel is \(16, 2\).*\(16, 3\)": BertClassifier(model.backbone, 3),
    }
    model.merge_lora()
    restore(model, before)
    for match, other in others.items():
        refused(match, other.load_lora, path)
        assert not [v.path for v in other.weights if "lora" in v.path]
    model.load_lora(path)


def test_a_changed_file_is_refused(adapted, make_backbone, refused):
    _, before, path = adapted
    with safe_open(path, "numpy") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    model, name = make(make_backbone, before), "block_0/attention/query_key_value/lora_kernel_a"
    for change, match in (
        (lambda tensor: tensor.T, r"lora_kernel_a is \(2, 16\)"),
        (lambda tensor: tensor.astype("int64"), "safetensors is damaged"),
        (lambda tensor: np.where(tensor > 0, tensor, np.nan), "lora_kernel_a .*NaN"),
        (lambda tensor: tensor * np.inf, "lora_kernel_a .*NaN"),
        (lambda tensor: tensor + 1, "safetensors is damaged"),
        ({"alpha": "8.0"}, "safetensors is damaged"),
        ({"alpha": "inf"}, "alpha .*got inf"),
        ({"rank": "-2"}, "rank .*got -2"),
        ({"task": "BertEmbedder"}, "task is BertEmbedder"),
    ):
        is_named = isinstance(change, dict)
        changed = tensors if is_named else {**tensors, name: change(tensors[name])}
        path.write_bytes(save(changed, {**metadata, **change} if is_named else metadata))
        refused(match, model.load_lora, path)


def test_adapters_of_a_quantized_encoder_are_merged_and_loaded_on_the_same(
    adapted, make_backbone, inputs, difference, tmp_path
):
    _, before, _ = adapted
    models = [make(make_backbone, before) for _ in range(2)]
    for model in models:
        model.quantize("int8")
    first, second = models
    first.enable_lora(2)
    for variable in first.trainable_variables:
        variable.assign(np.cos(np.arange(np.prod(variable.shape))).reshape(variable.shape))
    first.save_lora(tmp_path / "adapters")
    second.load_lora(tmp_path / "adapters")
    expected = first(inputs)
    assert difference(second(inputs), expected) == 0
    first.merge_lora()
    largest = np.abs(ops.convert_to_numpy(expected)).max()
    assert difference(first(inputs), expected) < 0.05 * largest  # kernels are rounded to int8 again
    assert all("int8" not in variable.dtype for variable in first.trainable_variables)
