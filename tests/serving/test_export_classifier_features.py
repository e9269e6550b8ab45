"""Classifiers served that take numbers beside texts, read windows, or give several labels."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert

LETTERS = "abcdefghijklmnopqrst"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
NAMES = ["low", "mid", "high"]
GENERATOR = np.random.default_rng(3)
TEXTS = [" ".join(GENERATOR.choice(list(LETTERS), size)) for size in (1, 5, 10, 11, 40, 23)] + [""]
FEATURES = GENERATOR.normal([50, 0], [10, 0.1], (len(TEXTS), 2)).astype("float32")


def make_model(**arguments):
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(
        keras_bert.BertTokenizer(WORDS), sequence_length=12, truncation="tail"
    )
    model = keras_bert.BertClassifier(
        backbone, 3, preprocessor, label_names=NAMES, num_features=2, **arguments
    )
    model.adapt_features(FEATURES)
    for weight in model.trainable_weights:  # a new model says nearly the same of every text
        weight.assign(GENERATOR.normal(0, 0.7, weight.shape))
    return model


@pytest.fixture(scope="module")
def windowed():
    return make_model(window_stride=4, window_pooling="max")


@pytest.fixture(scope="module")
def exported(windowed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "windows"
    windowed.export(str(folder))
    return folder / "1"


def check(answers, logits):
    probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(logits))
    assert np.abs(np.array(answers["probabilities"]) - probabilities).max() < 1e-5
    assert answers["label"] == [NAMES[number] for number in logits.argmax(axis=1)]
    assert answers["labels"] == [NAMES] * len(logits)


STRANGER = """
import json, sys
sys.modules["keras_bert"] = None
import tensorflow as tf, tensorflow_text
inputs = json.load(open(sys.argv[2]))
inputs = {"text": tf.constant(inputs["text"]), "features": tf.constant(inputs["features"])}
answers = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](**inputs)
def plain(x):
    return [plain(v) for v in x] if isinstance(x, list) else x.decode() if type(x) is bytes else x
print(json.dumps({name: plain(values.numpy().tolist()) for name, values in answers.items()}))
"""


def test_windows_and_features_are_answered_as_predict_does_where_this_library_is_not(
    windowed, exported, tmp_path
):
    path = tmp_path / "inputs.json"
    path.write_text(json.dumps({"text": TEXTS, "features": FEATURES.tolist()}))
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, str(exported), str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    logits = windowed.predict({"text": TEXTS, "features": FEATURES}, verbose=0)
    assert len(set(logits.argmax(axis=1))) > 1
    check(json.loads(done.stdout), logits)


def test_features_that_are_missing_or_no_numbers_are_refused(exported):
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    text = tf.constant(TEXTS[:2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="give each text its features"):
        serve(text=text, features=tf.constant(FEATURES[:1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="features must be finite"):
        serve(text=text, features=tf.constant([[1.0, np.nan], [0.0, 0.0]]))
    nothing = serve(text=tf.constant([], tf.string), features=tf.zeros((0, 2)))
    assert nothing["probabilities"].shape == (0, 3)


def test_several_labels_are_served(tmp_path):
    model = make_model(multi_label=True, threshold=0.3)
    model.export(str(tmp_path / "labels"))
    signatures = tf.saved_model.load(str(tmp_path / "labels" / "1")).signatures
    for text in (TEXTS, list(zip(TEXTS, TEXTS[::-1], strict=True))):
        answers = signatures["serving_default"](
            text=tf.constant(text), features=tf.constant(FEATURES)
        )
        logits = model.predict({"text": text, "features": FEATURES}, verbose=0)
        probabilities = 1 / (1 + np.exp(-logits))
        assert np.abs(answers["probabilities"].numpy() - probabilities).max() < 1e-5
        assert answers["is_label"].numpy().tolist() == (probabilities >= 0.3).tolist()
        assert 0 < answers["is_label"].numpy().mean() < 1
        assert answers["labels"].numpy()[-1].tolist() == [name.encode() for name in NAMES]
    inputs = {**model.preprocessor(TEXTS), "features": tf.constant(FEATURES)}
    prepared = signatures["token_ids"](**inputs)
    logits = model.predict({"text": TEXTS, "features": FEATURES}, verbose=0)
    assert np.abs(prepared["logits"].numpy() - logits).max() < 1e-5
