"""LoRA: adapters and the head are trained, saved alone, loaded and merged."""

import numpy as np
import pytest
from keras import ops

from keras_bert import AdamW, BertClassifier

LABELS = np.arange(8) % 2


def make(make_backbone, values=None, **arguments):
    """Makes a classifier, with the weights of another one's encoder if they are given."""
    model = BertClassifier(make_backbone(**arguments), num_classes=2, dropout=0.0)
    for weight in model.backbone.weights if values else []:
        weight.assign(values[weight.path])
    return model


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


def test_only_adapters_and_the_head_are_trained(make_backbone, inputs, eager):
    model = make(make_backbone, num_layers=1)
    before = encoder(model)
    model.enable_lora(rank=2)
    eager(model, optimizer=AdamW(0.01))
    model.fit(inputs, LABELS, epochs=2, verbose=0)
    *adapters, kernel, bias = model.trainable_variables
    assert (kernel.path, bias.path) == ("logits/kernel", "logits/bias")
    assert len(adapters) == 8 and all("/lora_kernel_" in v.path for v in adapters)
    after = encoder(model)
    assert all(np.array_equal(after[path], value) for path, value in before.items())
    assert all(np.any(v) for v in adapters)


def test_a_file_of_adapters_gives_the_same_model_on_the_same_encoder(
    adapted, make_backbone, inputs, difference
):
    model, before, path = adapted
    other = make(make_backbone, before)
    assert difference(model(inputs), other(inputs)) > 1e-3
    other.load_lora(path)
    assert difference(model(inputs), other(inputs)) == 0.0
    assert path.stat().st_size < 4 * model.backbone.count_params()


def test_merged_adapters_give_the_same_and_are_gone(adapted, make_backbone, inputs, assert_close):
    model, before, path = adapted
    merged = make(make_backbone, before)
    merged.load_lora(path)
    merged.merge_lora()
    assert_close(model(inputs), merged(inputs))
    fresh = make(make_backbone)
    for kind in ("trainable_variables", "weights"):
        assert [v.path for v in getattr(merged, kind)] == [v.path for v in getattr(fresh, kind)]
    with pytest.raises(ValueError, match="call enable_lora first"):
        merged.save_lora(path)
    merged.enable_lora(rank=1)


def test_presets_hold_merged_weights(adapted, inputs, assert_close, tmp_path):
    model, *_ = adapted
    model.save_to_preset(tmp_path / "preset")
    loaded = BertClassifier.from_preset(tmp_path / "preset")
    assert_close(model(inputs), loaded(inputs))
    assert not [w.path for w in loaded.weights if "lora" in w.path]


def test_what_cannot_be_adapted_is_refused(adapted, make_backbone, tmp_path):
    model, _, path = adapted
    with pytest.raises(ValueError, match="rank must be an int of at least 1; got 0"):
        make(make_backbone).enable_lora(0)
    with pytest.raises(ValueError, match="has LoRA adapters already"):
        model.enable_lora(2)
    compiled = make(make_backbone)
    compiled.compile("sgd", "mean_squared_error")
    with pytest.raises(ValueError, match="before compile"):
        compiled.enable_lora(2)
    with pytest.raises(ValueError, match=r"of another encoder .* block_0/.*lora_kernel_"):
        make(make_backbone, hidden_dim=32).load_lora(path)
    (tmp_path / "other").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not a file that save_lora wrote"):
        make(make_backbone).load_lora(tmp_path / "other")
