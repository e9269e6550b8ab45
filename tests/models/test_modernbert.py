"""ModernBERT: its files, packed rows and weights, and what it refuses.

`test_transformers_parity.py` compares it with transformers.
"""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert import BertEmbedder, BertPretrainer, ModernBertBackbone


@pytest.fixture
def small():
    return ModernBertBackbone(
        30, num_layers=4, num_heads=2, hidden_dim=16, intermediate_dim=24, window=2
    )


def test_older_files_say_the_same(small, tmp_path):
    config = {"num_layers": 5, "global_every": 4, "global_theta": 5e4, "local_theta": 3e3}
    backbone = ModernBertBackbone.from_config({**small.get_config(), **config})
    backbone.save_to_hugging_face(tmp_path)
    path = tmp_path / "config.json"
    new = json.loads(path.read_text())
    old = {
        name: value for name, value in new.items() if name not in ("layer_types", "rope_parameters")
    }
    old |= {
        "global_attn_every_n_layers": 4,
        "global_rope_theta": 5e4,
        "local_rope_theta": 3e3,
    }
    assert old.keys() != new.keys()
    for theirs in (new, old):
        path.write_text(json.dumps(theirs))
        loaded = ModernBertBackbone.from_preset(tmp_path)
        assert loaded.get_config() == {**backbone.get_config(), "name": loaded.name}


def test_each_sequence_of_a_packed_row_has_its_own_mean(small, assert_close):
    backbone = ModernBertBackbone.from_config({**small.get_config(), "pooling": "mean"})
    ids = np.arange(24, dtype="int32")[None] + 5
    packed = {"token_ids": ids, "sequence_ids": np.repeat([1, 2], (13, 11))[None]}
    packed["cls_positions"] = np.array([[0, 13]])
    parts = (ids[:, :13], ids[:, 13:])
    alone = [backbone({"token_ids": part})["pooled_output"] for part in parts]
    assert_close(backbone(packed)["pooled_output"], np.stack(alone, axis=1))


def test_initial_weights_are_smaller_before_residuals():
    wide = ModernBertBackbone(400, 8, 2, 128, 200)
    for name, deviation in (("query_key_value", 0.02), ("output_dense", 0.005)):
        [kernel] = [v for v in wide.blocks[1].attention.variables if name in v.path]
        values = ops.convert_to_numpy(kernel)
        outside = abs(values) > 2 * deviation + 1e-7
        # On PyTorch, Keras takes the first of four normal draws that lies inside, if one does.
        assert outside.mean() <= (1e-4 if keras.backend.backend() == "torch" else 0)
        assert values.std() == pytest.approx(0.88 * deviation, rel=0.05)  # without its tails
    assert not [v.path for v in wide.variables if v.path.endswith(("bias", "beta"))]


def test_layers_are_kept_in_their_order(small, tmp_path, refused):
    task = BertEmbedder(small)
    task.save_to_preset(tmp_path / "own")
    small.save_to_hugging_face(tmp_path / "theirs")
    for folder in ("own", "theirs"):
        load = BertEmbedder.from_preset
        kept = load(tmp_path / folder, keep_layers=(0, 2)).backbone
        assert [block.window for block in kept.blocks] == [None, 2]
        for layers in ((1,), (0, 3), (1, 2)):
            refused(
                "must begin with 0 and have one",
                load,
                tmp_path / folder,
                keep_layers=layers,
            )


CONFIGS = [
    ({"attention_bias": True}, "attention_bias.*True"),
    ({"norm_bias": True}, "norm_bias.*True"),
    ({"decoder_bias": False}, "decoder_bias.*False"),
    ({"classifier_activation": "silu"}, "classifier_activation.*silu"),
    ({"hidden_activation": "snake"}, "hidden_activation.*snake"),
    ({"classifier_pooling": "max"}, "classifier_pooling.*max"),
    ({"layer_types": ["sliding_attention", "full_attention"]}, "layer_types"),
    ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_type.*yarn"),
    ({"rope_scaling": {"factor": 2.0}}, "rope_scaling"),
]


def test_files_of_another_architecture_are_refused(small, tmp_path, refused):
    small.save_to_hugging_face(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for changed, message in CONFIGS:
        (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
        refused(message, ModernBertBackbone.from_preset, tmp_path)


def test_wrong_arguments_are_refused(small, refused):
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 24}
    for changed, message in (
        ({"pooling": "max"}, "pooling.*max"),
        ({"window": 0}, "window must be at least 1"),
        ({"num_heads": 3}, "hidden_dim=16 and num_heads=3"),
        ({"num_heads": 16}, "head_dim must be even; got 1"),
    ):
        refused(message, ModernBertBackbone, 30, **{**sizes, **changed})
    short = ModernBertBackbone(30, **sizes, max_sequence_length=8)
    refused("Sequences of 9 tokens don't fit", short, {"token_ids": np.ones((1, 9), "int32")})
    refused("no next sentences: pass next_sentence=False", BertPretrainer, small)
