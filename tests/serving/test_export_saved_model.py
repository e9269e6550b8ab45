"""Exporting: precision, what can't be exported, and what is left when it fails."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the a film book is was good bad .".split()]
TEXTS = ["the film was good.", "so", "a bad book is a bad book is a bad film " * 3]


def make(**options):
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    model = keras_bert.BertClassifier(backbone, 3, **{"preprocessor": preprocessor, **options})
    generator = np.random.default_rng(4)  # a new model gives every text nearly the same scores
    for weight in model.weights:
        weight.assign(np.asarray(weight) + generator.normal(0, 0.3, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return make()


def softmax(logits):
    return np.asarray(tf.nn.softmax(logits))


def test_mixed_bfloat16_is_served_as_it_predicts(model, tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = make()
    finally:
        keras.config.set_dtype_policy("float32")
    mixed.export(tmp_path / "served")
    serve = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures["serving_default"]
    rounding = 2.0**-8  # of a bfloat16; between other numbers of rows, sums may be added otherwise
    predicted = softmax(mixed.predict(TEXTS, verbose=0))
    answers = serve(text=tf.constant(TEXTS))
    assert answers["probabilities"].dtype == tf.float32
    assert np.ptp(predicted, axis=0).max() > 5 * rounding
    assert np.abs(answers["probabilities"] - predicted).max() < rounding
    for text, row in zip(TEXTS, predicted, strict=True):
        alone = serve(text=tf.constant([text]))["probabilities"]
        assert np.abs(alone - row).max() < rounding
    # The same weights in float32: near, but not what is served.
    difference = np.abs(answers["probabilities"] - softmax(model.predict(TEXTS, verbose=0))).max()
    assert 1e-5 < difference < 4 * rounding
    # No request casts weights: the token table and all kernels are stored in bfloat16.
    loaded = tf.saved_model.load(str(tmp_path / "served" / "1"))
    assert {len(weight.shape) for weight in loaded.weights if weight.dtype == "float32"} <= {1}
    assert max(len(weight.shape) for weight in loaded.weights) == 2
    x = mixed.preprocessor(TEXTS)
    logits = loaded.signatures["token_ids"](**x)["logits"]
    np.testing.assert_array_equal(logits, mixed.predict_on_batch(x))


def test_what_cannot_be_exported_says_why(model, monkeypatch, tmp_path):
    (tmp_path / "there" / "1").mkdir(parents=True)
    with pytest.raises(ValueError, match="already exists. Export with version=2"):
        model.export(tmp_path / "there")
    with pytest.raises(ValueError, match="version must be at least 1; got 0"):
        model.export(tmp_path / "served", version=0)
    with pytest.raises(ValueError, match="no preprocessor"):
        make(preprocessor=None).export(tmp_path / "served")
    for reader in (None, model.preprocessor):
        pretrainer = keras_bert.BertPretrainer(model.backbone, preprocessor=reader)
        with pytest.raises(ValueError, match="has no answers for a text.*save_to_preset"):
            pretrainer.export(tmp_path / "served")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="KERAS_BACKEND=tensorflow"):
        model.export(tmp_path / "served")
    assert not (tmp_path / "served").exists()


def test_a_full_disk_leaves_nothing_behind(model, monkeypatch, tmp_path):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    with pytest.raises(OSError, match="The disk was full while .*served/1 was written"):
        model.export(tmp_path / "served")
    assert list((tmp_path / "served").iterdir()) == []


@pytest.mark.parametrize("version", ["1", "2"])
def test_what_another_process_exports_meanwhile_is_kept(model, monkeypatch, tmp_path, version):
    def save(module, folder, signatures):
        (tmp_path / "served" / version).mkdir(parents=True)
        (tmp_path / "served" / version / "saved_model.pb").touch()
        if version == "2":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", save)
    message = "1 already exists. Export with version=2" if version == "1" else "No space left"
    with pytest.raises((ValueError, OSError), match=message):
        model.export(tmp_path / "served", warmup_texts=[])
    assert [path.name for path in (tmp_path / "served").iterdir()] == [version]
    assert (tmp_path / "served" / version / "saved_model.pb").exists()


def test_no_message_names_the_unfinished_folder(model, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(tf.get_logger(), "propagate", True)
    level = tf.get_logger().level
    with caplog.at_level("INFO", logger="tensorflow"):
        tf.saved_model.save(tf.Module(), str(tmp_path / "plain"))
        assert "Assets written" in caplog.text  # what TensorFlow says by itself
        caplog.clear()
        model.export(tmp_path / "served")
    assert not caplog.text
    assert tf.get_logger().level == level
