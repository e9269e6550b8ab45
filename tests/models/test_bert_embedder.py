"""Vectors of texts and of tokens."""

import keras
import numpy as np
import pytest

from keras_bert import BertEmbedder, BertTask


@pytest.fixture
def deep(make_backbone, randomized):
    return randomized(make_backbone(num_layers=3))


def test_chosen_layers_are_combined_before_pooling(deep, inputs, assert_close):
    states = [keras.ops.convert_to_numpy(state) for state in deep.hidden_states(inputs)]
    tokens = inputs["padding_mask"][:, :, None]
    joined = np.concatenate([states[3], states[0], states[2]], axis=-1)
    expected = (joined * tokens).sum(axis=1) / tokens.sum(axis=1)
    model = BertEmbedder(deep, normalize=False, layers=[-1, 0, 2], combine="concat")
    assert model.output.shape == (None, 48)
    assert_close(model(inputs), expected)
    of_tokens = BertEmbedder(deep, pooling=None, normalize=False)
    assert_close(of_tokens(inputs), states[3] * tokens)
    several = BertEmbedder(deep, pooling=None, layers=[-1, -2]).predict_on_batch(inputs)
    assert several.shape == (8, 12, 32)
    assert_close(np.linalg.norm(several, axis=-1), np.float32(tokens[..., 0]))


def test_blocks_after_the_chosen_layers_are_not_computed(deep):
    model = BertEmbedder(deep, layers=[1])
    names = {operation.name for operation in model.operations}
    assert "block_0" in names and not names & {"block_1", "block_2", "pooler"}
    assert {w.path for w in deep.weights} <= {w.path for w in model.weights}  # all are saved
    trained = {w.path.partition("/")[0] for w in model.trainable_weights}
    assert "block_0" in trained and not trained & {"block_1", "block_2", "pooler"}
    deep.trainable = False
    model = BertEmbedder(deep, layers=[-1, 1], combine="weighted")
    assert {w.path.partition("/")[0] for w in model.trainable_weights} == {"layer_combination"}


def test_layers_are_saved_and_changed(assert_close, deep, inputs, randomized, tmp_path):
    deep.save_to_preset(tmp_path / "encoder")
    model = BertTask.from_preset(tmp_path / "encoder")
    assert type(model) is BertEmbedder and not model.load_report.new
    model = randomized(BertEmbedder(deep, layers=[-1, 1], combine="weighted", pooling=None))
    model.save_to_preset(tmp_path / "task")
    loaded = BertTask.from_preset(tmp_path / "task")
    assert loaded.get_config() == model.get_config()
    assert_close(loaded(inputs), model(inputs), sums=0)
    other = {"layers": [1, 2, 3], "combine": "mean", "pooling": "max", "normalize": True}
    changed = BertEmbedder.from_preset(tmp_path / "task", **other)
    assert_close(changed(inputs), BertEmbedder(deep, **other)(inputs))


def test_vectors_of_tokens_are_not_compared_or_served(
    tensorflow, deep, preprocessor, tmp_path, refused
):
    tokens = BertEmbedder(deep, pooling=None, preprocessor=preprocessor)
    for message, call, *arguments in (
        ("needs one for the whole.*pooling=", tokens.similarity, "a", "b"),
        ("With pooling=None a text has a vector for each token", tokens.fit, (["a"], ["b"])),
        ("vector for each token.*pooling=", tokens.export, tmp_path / "served"),
        ("vector for each token.*pooling=", tokens.answer, ["a"]),
        ("pooling=.*; for transformers.*model.backbone", tokens.save_to_hugging_face, tmp_path),
    ):
        refused(message, call, *arguments)
    assert not list(tmp_path.iterdir())


def test_layers_and_poolings_that_are_not_there_are_refused(deep, tmp_path, refused):
    for arguments, message in (
        ({"layers": [-1, 4]}, "layers must be at most 3; got 4"),
        ({"layers": [-5]}, "layers must be at least -4; got -5"),
        ({"layers": ["-1"]}, "layers must be an integer; got '-1'"),
        ({"layers": "-1,-2"}, "layers .*got '-1,-2'"),
        ({"layers": [-1, -2], "combine": "max"}, "'sum', 'mean', 'weighted'; got 'max'"),
        ({"combine": "weighted"}, "at least 2; got 1"),
        ({"pooling": "sum"}, "pooling must be one of .*; got 'sum'"),
        ({"pooling": None, "truncate_dim": 3}, "pooling with truncate_dim must be"),
        ({"truncate_dim": 17}, "truncate_dim must be at most 16"),
        ({"matryoshka_dims": 8}, "matryoshka_dims must be .*got 8"),
        ({"matryoshka_dims": (32,)}, "from 1 to 16, .*32"),
    ):
        refused(message, BertEmbedder, deep, **arguments)
    several = BertEmbedder(deep, layers=[-1, -2])
    message = "layers=.*; for transformers.*model.backbone"
    refused(message, several.save_to_hugging_face, tmp_path / "theirs")
