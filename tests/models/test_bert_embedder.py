import keras
import numpy as np
import pytest

from keras_bert import BertBackbone, BertEmbedder, BertTask

TEXTS = ["a b c", "d", "", "e f g h i j k l m n o p q"]


@pytest.fixture
def backbone(make_backbone, randomized):
    return randomized(make_backbone(num_layers=1))


@pytest.fixture
def model(backbone, preprocessor):
    return BertEmbedder(backbone, preprocessor=preprocessor)


def test_a_text_gives_a_vector_of_length_one(model, backbone, preprocessor):
    vectors = model.predict(TEXTS, verbose=0)
    assert vectors.shape == (4, 16) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1.0, rtol=1e-6)
    prepared = {name: values.numpy() for name, values in preprocessor(TEXTS).items()}
    encoded = backbone.predict(prepared, verbose=0)["sequence_output"]
    tokens = prepared["padding_mask"][:, :, None]
    means = (encoded * tokens).sum(axis=1) / tokens.sum(axis=1)
    means /= np.linalg.norm(means, axis=-1, keepdims=True)
    np.testing.assert_allclose(vectors, means, atol=1e-6)


def test_a_text_has_one_vector_in_every_company(model, difference):
    together = model.predict(TEXTS, verbose=0)
    alone = np.concatenate([model.predict([text], verbose=0) for text in TEXTS])
    assert difference(together, alone) < 1e-6


def test_absent_inputs_are_no_padding_and_one_segment(backbone, inputs, difference):
    model = BertEmbedder(backbone, pooling="max", normalize=False)
    token_ids = inputs["token_ids"]
    full = {
        "token_ids": token_ids,
        "segment_ids": 0 * token_ids,
        "padding_mask": np.ones_like(token_ids),
    }
    assert difference(model({"token_ids": token_ids}), model(full)) < 1e-6
    assert difference(model({"token_ids": token_ids}), model(inputs)) > 1e-3


def test_a_saved_model_reads_text_as_before(model, difference, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is BertEmbedder and loaded.get_config() == model.get_config()
    assert difference(*(m.predict(TEXTS, verbose=0) for m in (model, loaded))) == 0.0


@pytest.mark.parametrize(("pooling", "normalize"), [("cls", True), ("max", False)])
def test_a_preset_keeps_the_pooling(backbone, inputs, difference, tmp_path, pooling, normalize):
    model = BertEmbedder(backbone, pooling, normalize)
    model.save_to_preset(tmp_path / "preset")
    loaded = BertTask.from_preset(tmp_path / "preset")
    assert (loaded.pooling, loaded.normalize) == (pooling, normalize)
    assert difference(model(inputs), loaded(inputs)) == 0.0
    other = BertEmbedder.from_preset(tmp_path / "preset", normalize=not normalize)
    assert (other.pooling, other.normalize) == (pooling, not normalize)


def test_any_preset_gives_an_embedder(backbone, inputs, tmp_path, difference):
    backbone.save_to_preset(tmp_path / "preset")
    model = BertTask.from_preset(tmp_path / "preset")
    assert type(model) is BertEmbedder and not model.load_report.new
    assert difference(model.backbone(inputs), backbone(inputs)) == 0.0
    assert type(BertBackbone.from_preset(tmp_path / "preset")) is BertBackbone


def test_an_exported_model_answers_text(tensorflow, model, tmp_path):
    model.export(tmp_path / "served")
    served = tensorflow.saved_model.load(str(tmp_path / "served" / "1"))
    answers = served.signatures["serving_default"](tensorflow.constant(TEXTS))
    assert set(answers) == {"embedding"}
    expected = model.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(answers["embedding"].numpy(), expected, atol=1e-6)


def test_vectors_are_float32_under_mixed_bfloat16(make_backbone, inputs):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = BertEmbedder(make_backbone(num_layers=1))
    finally:
        keras.config.set_dtype_policy("float32")
    vectors = model.predict(inputs, verbose=0)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1.0, rtol=1e-5)


def test_it_trains_by_a_loss_of_the_users(model):
    with pytest.raises(ValueError, match="no loss of its own. Compile it"):
        model.fit(TEXTS, np.zeros((4, 16)))
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="cosine_similarity")
    target = np.eye(16)[:4]
    losses = model.fit(TEXTS, target, epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0] - 0.05


def test_another_pooling_is_refused(backbone):
    with pytest.raises(ValueError, match="pooling must be one of mean, max, cls; got 'sum'"):
        BertEmbedder(backbone, pooling="sum")


def test_config_round_trip(backbone):
    model = BertEmbedder(backbone, pooling="cls", normalize=False)
    copy = BertEmbedder.from_config(model.get_config())
    assert copy.get_config() == model.get_config()
    assert (copy.pooling, copy.normalize) == ("cls", False)
