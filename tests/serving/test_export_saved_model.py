import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"the a film book is was good bad so .".split(),
]
TEXTS = ["the film was good.", "so", "a bad book is a bad book is a bad film " * 3]


def make(num_classes=3, **options):
    keras.utils.set_random_seed(2)
    tokenizer = keras_bert.BertTokenizer(WORDS)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=16)
    model = keras_bert.BertClassifier(
        backbone, num_classes, **{"preprocessor": preprocessor, **options}
    )
    generator = np.random.default_rng(4)  # a new model gives every text nearly the same scores
    for weight in model.weights:
        weight.assign(np.asarray(weight) + generator.normal(0, 0.3, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return make(label_names=["bad", "fair", "good"])


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "films"
    model.export(str(folder))
    return folder / "1"


def ask(folder, texts, signature="serving_default"):
    return tf.saved_model.load(str(folder)).signatures[signature](text=tf.constant(texts))


def softmax(logits):
    return np.asarray(tf.nn.softmax(logits))


def test_scores_of_texts_and_pairs_are_those_of_predict(model, exported):
    answers = ask(exported, TEXTS)
    expected = softmax(model.predict(TEXTS, verbose=0))
    assert np.ptp(expected, axis=0).max() > 0.02  # texts differ
    assert np.abs(answers["probabilities"] - expected).max() < 1e-5
    best = [model.label_names[i].encode() for i in expected.argmax(axis=1)]
    assert answers["label"].numpy().tolist() == best
    assert answers["labels"].numpy().tolist() == [[b"bad", b"fair", b"good"]] * 3
    pairs = [[text, "so is a book"] for text in TEXTS]
    expected = softmax(model.predict((TEXTS, ["so is a book"] * 3), verbose=0))
    assert np.abs(ask(exported, pairs)["probabilities"] - expected).max() < 1e-5
    assert ask(exported, TEXTS[:1])["probabilities"].shape == (1, 3)


def test_a_text_has_the_same_scores_alone_and_among_longer_ones(model, exported):
    expected = softmax(model.predict(TEXTS, verbose=0))
    alone = [ask(exported, [text])["probabilities"][0] for text in TEXTS]
    assert np.abs(np.stack(alone) - expected).max() < 1e-5


def test_mixed_bfloat16_is_served_as_it_predicts(model, tmp_path):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = make()
    finally:
        keras.config.set_dtype_policy("float32")
    mixed.export(tmp_path / "served")
    rounding = 2.0**-8  # of a bfloat16; between other numbers of rows, sums may be added otherwise
    predicted = softmax(mixed.predict(TEXTS, verbose=0))
    answers = ask(tmp_path / "served" / "1", TEXTS)
    assert answers["probabilities"].dtype == tf.float32
    assert np.ptp(predicted, axis=0).max() > 5 * rounding
    assert np.abs(answers["probabilities"] - predicted).max() < rounding
    for text, row in zip(TEXTS, predicted, strict=True):
        alone = ask(tmp_path / "served" / "1", [text])["probabilities"]
        assert np.abs(alone - row).max() < rounding
    # The same weights in float32: near, but not what is served.
    difference = np.abs(answers["probabilities"] - softmax(model.predict(TEXTS, verbose=0))).max()
    assert 1e-5 < difference < 4 * rounding


def test_token_ids_have_a_signature_of_their_own(model, exported):
    inputs = model.preprocessor(TEXTS)
    answers = tf.saved_model.load(str(exported)).signatures["token_ids"](**inputs)
    assert np.abs(answers["logits"] - model.predict(TEXTS, verbose=0)).max() < 1e-5


STRANGER = """
import json, sys
sys.modules["keras_bert"] = None
import tensorflow as tf, tensorflow_text
answers = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](
    text=tf.constant(json.loads(sys.argv[2])))
print(json.dumps(answers["probabilities"].numpy().tolist()))
"""


def test_it_may_be_moved_to_where_this_library_is_not(model, tmp_path):
    model.export(tmp_path / "films")
    moved = tmp_path / "elsewhere"
    (tmp_path / "films").rename(moved)
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, str(moved / "1"), json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    expected = softmax(model.predict(TEXTS, verbose=0))
    assert np.abs(np.array(json.loads(done.stdout)) - expected).max() < 1e-5


def test_regression_gives_a_score(tmp_path):
    model = make(num_classes=1)
    model.export(tmp_path / "served")
    answers = ask(tmp_path / "served" / "1", TEXTS)
    assert set(answers) == {"score"}
    assert np.abs(answers["score"] - model.predict(TEXTS, verbose=0)[:, 0]).max() < 1e-5


def test_what_cannot_be_exported_says_why(model, exported, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="exists already. Export with version=2"):
        model.export(exported.parent)
    with pytest.raises(ValueError, match="no preprocessor"):
        make(preprocessor=None).export(tmp_path / "served")
    with pytest.raises(ValueError, match="has no answers to give.*save_to_preset"):
        keras_bert.BertPretrainer(model.backbone).export(tmp_path / "served")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="KERAS_BACKEND=tensorflow"):
        model.export(tmp_path / "served")
    assert not (tmp_path / "served").exists()


def test_a_full_disk_leaves_nothing_behind(model, monkeypatch, tmp_path):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    with pytest.raises(OSError, match="can't be written, and nothing of it was left"):
        model.export(tmp_path / "served")
    assert not (tmp_path / "served").exists()
