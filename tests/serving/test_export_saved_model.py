"""Exporting: precision, what can't be exported, and what is left when it fails."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

import keras_bert
from keras_bert.serving.export_saved_model import save_quietly

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the a film book is was good bad .".split()]
TEXTS = ["the film was good.", "so", "a bad book is a bad book is a bad film " * 3]


def make():
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    model = keras_bert.BertClassifier(backbone, 3, preprocessor)
    generator = np.random.default_rng(4)  # a new model gives every text nearly the same scores
    for weight in model.weights:
        weight.assign(np.asarray(weight) + generator.normal(0, 0.3, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return make()


def test_mixed_bfloat16_is_served_as_it_predicts(model, tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = make()
    finally:
        keras.config.set_dtype_policy("float32")
    mixed.export(tmp_path / "served")
    loaded = tf.saved_model.load(str(tmp_path / "served" / "1"))
    serve = loaded.signatures["serving_default"]
    rounding = 2.0**-8  # of a bfloat16; between other numbers of rows, sums may be added otherwise
    model.run_eagerly = True
    predicted = softmax(mixed.predict(TEXTS, verbose=0), axis=1)
    answers = serve(text=tf.constant(TEXTS))
    assert answers["probabilities"].dtype == tf.float32
    assert np.ptp(predicted, axis=0).max() > 5 * rounding
    assert np.abs(answers["probabilities"] - predicted).max() < rounding
    for text, row in zip(TEXTS, predicted, strict=True):
        alone = serve(text=tf.constant([text]))["probabilities"]
        assert np.abs(alone - row).max() < rounding
    # The same weights in float32: near, but not what is served.
    exact = softmax(model.predict(TEXTS, verbose=0), axis=1)
    assert 1e-5 < np.abs(answers["probabilities"] - exact).max() < 4 * rounding
    # No request casts weights: the token table and all kernels are stored in bfloat16.
    assert {len(weight.shape) for weight in loaded.weights if weight.dtype == "float32"} <= {1}
    assert max(len(weight.shape) for weight in loaded.weights) == 2
    x = mixed.preprocessor(TEXTS)
    logits = loaded.signatures["token_ids"](**x)["logits"]
    np.testing.assert_array_equal(logits, mixed.predict_on_batch(x))


def test_what_cannot_be_exported_says_why(model, monkeypatch, tmp_path):
    (tmp_path / "there" / "1").mkdir(parents=True)
    backbone, reader = model.backbone, model.preprocessor
    for task, folder, version, message in (
        (model, "there", 1, "already exists. Export with version=2"),
        (model, "served", 0, "version must be at least 1; got 0"),
        (
            keras_bert.BertClassifier(backbone, 3),
            "served",
            1,
            r"set model.preprocessor = BertClassifierPreprocessor\(",
        ),
        (keras_bert.BertPretrainer(backbone), "served", 1, "has no answers for a text.*save_to_p"),
        (keras_bert.BertPretrainer(backbone, preprocessor=reader), "served", 1, "has no answers"),
    ):
        with pytest.raises(ValueError, match=message):
            task.export(tmp_path / folder, version=version)
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


def test_no_message_names_the_unfinished_folder(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(tf.get_logger(), "propagate", True)
    level = tf.get_logger().level
    with caplog.at_level("INFO", logger="tensorflow"):
        tf.saved_model.save(tf.Module(), str(tmp_path / "plain"))
        assert "Assets written" in caplog.text  # what TensorFlow says by itself
        caplog.clear()
        save_quietly(tf.Module(), str(tmp_path / "served"), {})
    assert not caplog.text and tf.get_logger().level == level
