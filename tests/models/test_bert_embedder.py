"""Vectors of texts and of tokens."""

import keras
import numpy as np
import pytest

from keras_bert import BertEmbedder, BertTask

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]


@pytest.fixture
def backbone(make_backbone, randomized):
    return randomized(make_backbone())


@pytest.fixture
def deep(make_backbone, randomized):
    return randomized(make_backbone(num_layers=3))


@pytest.fixture
def model(backbone, preprocessor, eager):
    return eager(BertEmbedder(backbone, preprocessor=preprocessor), loss="cosine_similarity")


def test_any_preset_gives_an_embedder(backbone, inputs, tmp_path, difference):
    backbone.save_to_preset(tmp_path / "preset")
    model = BertTask.from_preset(tmp_path / "preset")
    assert type(model) is BertEmbedder and not model.load_report.new
    assert difference(model.backbone(inputs), backbone(inputs)) == 0.0


def test_chosen_layers_are_combined_before_pooling(deep, inputs, assert_close):
    model = BertEmbedder(deep, normalize=False, layers=[-1, 0, 2], combine="concat")
    states = [keras.ops.convert_to_numpy(state) for state in deep.hidden_states(inputs)]
    joined = np.concatenate([states[3], states[0], states[2]], axis=-1)
    tokens = inputs["padding_mask"][:, :, None]
    expected = (joined * tokens).sum(axis=1) / tokens.sum(axis=1)
    assert model.output.shape == (None, 48)
    assert_close(model(inputs), expected)


def test_no_pooling_gives_the_vectors_of_tokens(deep, inputs, assert_close):
    tokens = inputs["padding_mask"]
    last = BertEmbedder(deep, pooling=None, normalize=False)(inputs)
    expected = keras.ops.convert_to_numpy(deep(inputs)["sequence_output"])
    assert_close(last, expected * tokens[:, :, None])
    several = BertEmbedder(deep, pooling=None, layers=[-1, -2]).predict_on_batch(inputs)
    assert several.shape == (8, 12, 32)
    np.testing.assert_allclose(np.linalg.norm(several[tokens == 1], axis=-1), 1, rtol=1e-5)


def test_blocks_after_the_chosen_layers_are_not_computed(deep):
    model = BertEmbedder(deep, layers=[1])
    names = {operation.name for operation in model.operations}
    assert "block_0" in names and not names & {"block_1", "block_2", "pooler"}
    assert {w.path for w in deep.weights} <= {w.path for w in model.weights}  # all are saved
    trained = {w.path.partition("/")[0] for w in model.trainable_weights}
    assert "block_0" in trained and not trained & {"block_1", "block_2", "pooler"}


def test_weights_of_layers_train_while_the_encoder_is_frozen(deep, preprocessor, eager):
    deep.trainable = False
    model = BertEmbedder(deep, layers=[-1, 1], combine="weighted", preprocessor=preprocessor)
    before = deep.get_weights()
    assert len(model.trainable_weights) == 2
    eager(model, optimizer=keras.optimizers.Adam(0.05), loss="mse")
    model.fit(TEXTS, np.eye(16)[:4], verbose=0)
    assert all(map(np.array_equal, before, deep.get_weights()))
    shares = keras.ops.convert_to_numpy(model.get_layer("layer_combination").weights[0])
    assert np.abs(shares).min() > 0


def test_layers_are_saved_and_changed(assert_close, deep, inputs, randomized, tmp_path):
    model = randomized(BertEmbedder(deep, layers=[-1, 1], combine="weighted", pooling=None))
    model.save_to_preset(tmp_path)
    loaded = BertTask.from_preset(tmp_path)
    assert loaded.get_config() == model.get_config()
    assert_close(loaded(inputs), model(inputs), sums=0)
    other = {"layers": [1, 2, 3], "combine": "mean", "pooling": "max", "normalize": True}
    changed = BertEmbedder.from_preset(tmp_path, **other)
    assert_close(changed(inputs), BertEmbedder(deep, **other)(inputs))


def test_what_cannot_be_compared_or_served_is_named(
    tensorflow, model, backbone, preprocessor, tmp_path, refused
):
    tokens = BertEmbedder(backbone, pooling=None, preprocessor=preprocessor)
    refused("There are 4 texts but 2 others", model.similarity_pairwise, TEXTS, TEXTS[:2])
    refused("this needs one for the whole.*pooling=", tokens.similarity, "a", "b")
    refused("vector for each token.*pooling=", tokens.export, tmp_path / "served")
    refused("vector for each token.*pooling=", tokens.answer, ["a"])
    assert not (tmp_path / "served").exists()


def test_other_libraries_pool_the_last_layer(deep, tmp_path, refused):
    for arguments in ({"layers": [-1, -2]}, {"pooling": None}):
        model = BertEmbedder(deep, **arguments)
        message = "(layers|pooling)=.*; for transformers.*model.backbone"
        refused(message, model.save_to_hugging_face, tmp_path / "theirs")


def test_layers_and_poolings_that_are_not_there_are_refused(deep, refused):
    for arguments, message in (
        ({"layers": [-1, 4]}, "layers must be at most 3; got 4"),
        ({"layers": [-5]}, "layers must be at least -4; got -5"),
        ({"layers": ["-1"]}, "layers must be an integer; got '-1'"),
        ({"layers": "-1,-2"}, "layers .*got '-1,-2'"),
        ({"layers": [-1, -2], "combine": "max"}, "'sum', 'mean', 'weighted'; got 'max'"),
        ({"combine": "weighted"}, "at least 2; got 1"),
        ({"pooling": "sum"}, "pooling must be one of .*; got 'sum'"),
    ):
        refused(message, BertEmbedder, deep, **arguments)
