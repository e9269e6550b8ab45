"""The dtype of a backbone or a task reaches all of its layers, and is saved with it."""

import json

import keras
import numpy as np
import pytest
from keras.dtype_policies import DTypePolicyMap

from keras_bert import BertBackbone, BertClassifier
from tests.marks import slow

HEAD = {"float32"}  # of scores, which would tie in half precision
INT8 = keras.dtype_policies.get("int8_from_float32")


def inputs_of(task):
    """Small numbers in the shapes of a task's inputs."""
    draw = np.random.default_rng(2)
    shapes = {name: (2, *(size or 4 for size in x.shape[1:])) for name, x in task.input.items()}
    return {name: draw.integers(0, 2, shape).astype("int32") for name, shape in shapes.items()}


@pytest.fixture
def int8_map():
    """Quantizes the projections of the first block."""
    return DTypePolicyMap("float32", {r"block_0/(attention/)?\w+_(dense|value)": INT8})


def policies(model):
    """Names of the policies of a model's layers, without inputs."""
    layers = (layer for layer in model._flatten_layers() if type(layer).__name__ != "InputLayer")
    return {layer.dtype_policy.name for layer in layers}


def modes(model):
    return [layer.quantization_mode for layer in model._flatten_layers()].count("int8")


UNDER_POLICIES = {
    "mixed_bfloat16": ["features", "questions", "choices", "documents", "weighted"],
    "mixed_float16": ["tags"],
    "bfloat16": ["pretrainer", "untied"],
}


@pytest.mark.parametrize("policy", UNDER_POLICIES)
def test_a_backbones_dtype_acts_as_the_global_policy_and_heads_answer_in_float32(
    make_backbone, make_case, under, difference, randomized, policy
):
    for name in UNDER_POLICIES[policy]:
        task = make_case(name, make_backbone(dtype=policy))
        expected = under(policy, lambda name=name: make_case(name, make_backbone()))
        assert policies(task) == policies(expected)
        scores = HEAD if name in ("features", "questions", "choices", "documents") else set()
        assert policies(task) == {policy} | scores
        pairs = zip(task.weights, expected.weights, strict=True)
        assert all((a.path, a.dtype) == (b.path, b.dtype) for a, b in pairs)
        randomized(task)
        expected.set_weights(task.get_weights())
        outputs = task(inputs_of(task))
        dtypes = {keras.backend.standardize_dtype(x.dtype) for x in keras.tree.flatten(outputs)}
        assert dtypes == {"float32"}, name
        assert difference(outputs, expected(inputs_of(task))) == 0.0


@pytest.mark.parametrize(
    "name",
    ["classes", slow("pretrainer")],
)
def test_every_file_keeps_the_dtype(make_backbone, make_case, difference, reloaded, tmp_path, name):
    whole = DTypePolicyMap("float32", {r".*(dense|value|embedding|logits|pooler)": INT8})
    settings = [
        ("mixed_bfloat16", {}),
        (whole, {}),
        ("mixed_bfloat16", {"dtype": "float32"}),
    ]
    for dtype, of_head in settings:  # which follows the encoder, or has its own
        task = make_case(name, make_backbone(dtype=dtype), **of_head)
        assert dtype is not whole or modes(task) >= 8
        x = inputs_of(task)
        task.save_to_preset(tmp_path / "preset")
        copy = type(task).from_config(json.loads(json.dumps(task.get_config())))
        copy.set_weights(task.get_weights())
        for loaded in (copy, reloaded(task), type(task).from_preset(tmp_path / "preset")):
            assert policies(loaded) == policies(task) and modes(loaded) == modes(task)
            assert policies(loaded.backbone) == policies(task.backbone)
            assert loaded.get_config() == task.get_config()
            assert difference(loaded(x), task(x)) == 0.0


def test_the_global_policy_is_not_saved(make_backbone, under, tmp_path):
    task = under("mixed_bfloat16", lambda: BertClassifier(make_backbone(), 2))
    assert "dtype" not in task.get_config() and "dtype" not in task.backbone.get_config()
    task.save_to_preset(tmp_path / "preset")
    assert policies(BertClassifier.from_preset(tmp_path / "preset")) == {"float32"}


def test_a_map_keeps_its_default_and_its_names(make_backbone, under):
    named = DTypePolicyMap(policy_map={"block_0/output_norm": keras.DTypePolicy("bfloat16")})
    config = json.loads(json.dumps(make_backbone(dtype=named).get_config()))
    copy = under("float16", lambda: BertBackbone.from_config(config))
    found = {layer.path: layer.compute_dtype for layer in copy._flatten_layers() if layer.path}
    assert found["block_0/output_norm"] == "bfloat16"
    assert {found["block_0"], found["embeddings/norm"]} == {"float32"}
    assert named["block_0/output_norm"].name == "bfloat16"


def test_quantizing_a_model_leaves_its_map_and_other_models_alone(
    make_backbone, inputs, int8_map, difference
):
    backbone = make_backbone(num_layers=2, dtype=int8_map)
    task, other = BertClassifier(backbone, 2), BertClassifier(backbone, 2)
    config = keras.quantizers.Int8QuantizationConfig(activation_quantizer=None)
    task.head.quantize(config=config)
    backbone.blocks[1].output_dense.quantize(config=config)
    assert other.head.quantization_mode is None
    assert BertClassifier(backbone, 2).head.quantization_mode is None
    assert len(int8_map) == 1 and modes(make_backbone(num_layers=2, dtype=int8_map)) == 4
    copy = BertClassifier.from_config(json.loads(json.dumps(task.get_config())))
    copy.set_weights(task.get_weights())
    assert modes(copy) == modes(task) == 6
    assert difference(copy(inputs), task(inputs)) == 0.0


def test_a_dtype_that_quantizes_every_layer_is_refused(make_backbone, int8_map, tmp_path, refused):
    make_backbone().save_to_preset(tmp_path / "preset")
    load, dtype = BertClassifier.from_preset, "int8_from_float32"
    refused(r"every layer.*quantize\('int8'\).*DTypePolicyMap", make_backbone, dtype=dtype)
    refused("every layer", BertClassifier, make_backbone(), 2, dtype=dtype)
    for quantized in (dtype, int8_map):
        refused(
            "load.*then.*quantize",
            load,
            tmp_path / "preset",
            num_classes=2,
            dtype=quantized,
        )


def test_from_preset_takes_a_dtype_which_is_saved_and_may_be_dropped(
    assert_close, make_backbone, tmp_path
):
    task = BertClassifier(make_backbone(), 2)
    task.save_to_preset(tmp_path / "preset")
    task.save_to_hugging_face(tmp_path / "theirs")
    for kind, folder in ((BertBackbone, "preset"), (BertClassifier, "theirs")):
        loaded = kind.from_preset(tmp_path / folder, dtype="mixed_bfloat16")
        assert policies(loaded) - HEAD == {"mixed_bfloat16"} and not loaded.load_report.new
        backbone = getattr(loaded, "backbone", loaded)
        assert_close(backbone.get_weights(), task.backbone.get_weights(), sums=0)
    loaded.save_to_preset(tmp_path / "again")
    for arguments, expected in (({}, "mixed_bfloat16"), ({"dtype": None}, "float32")):
        again = BertClassifier.from_preset(tmp_path / "again", **arguments)
        assert policies(again) - HEAD == {expected} - HEAD
