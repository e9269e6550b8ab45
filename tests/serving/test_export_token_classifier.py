"""A token classifier served: entities of raw strings, with their spans, in graph."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert

LETTERS = "abcdefghijklmnopqrst"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *"(),.'中国"]
WORDS += [f"##{c}" for c in LETTERS]
NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    model = keras_bert.BertTokenClassifier(backbone, 5, preprocessor, label_names=NAMES)
    generator = np.random.default_rng(5)  # a new model gives every word nearly the same scores
    for weight in model.weights:
        if weight.path.endswith(("kernel", "embeddings")):
            weight.assign(generator.normal(0, 0.7, weight.shape))
    return model


@pytest.fixture(scope="module")
def texts():
    """Two hundred texts: short, empty, longer than a sequence, of other scripts."""
    generator = np.random.default_rng(6)
    texts = ["", " ", "a", "中国 (b)", "e\u0301 «ä» 😀 c'd,", "😀"]
    while len(texts) < 200:
        size = generator.integers(1, 60)
        words = generator.choice([*LETTERS, "abc", "(de)", "fg,", "ñ", "中", "😀"], size)
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "names"
    model.export(str(folder))
    return folder / "1"


@pytest.fixture(scope="module")
def expected(model, texts):
    return model.predict(texts)


def check(answers, expected, texts):
    """Asserts that served answers, as lists, are the entities that `predict` gave."""
    assert answers["num_entities"] == [len(entities) for entities in expected]
    assert sum(answers["num_entities"]) > 500
    for row, (text, entities) in enumerate(zip(texts, expected, strict=True)):
        for column, entity in enumerate(entities):
            for name in ("text", "type", "start", "end"):
                assert answers[f"entity_{name}"][row][column] == entity[name]
            assert abs(answers["entity_score"][row][column] - entity["score"]) < 1e-5
            start, end = (answers[f"entity_{n}_byte"][row][column] for n in ("start", "end"))
            assert text.encode()[start:end].decode() == entity["text"]
        assert set(answers["entity_type"][row][len(entities) :]) <= {""}


def as_lists(answers):
    def plain(values):
        decode = np.vectorize(lambda value: value.decode(), otypes=[object])
        values = values.numpy()
        return (decode(values) if values.dtype == object and values.size else values).tolist()

    return {name: plain(values) for name, values in answers.items()}


def test_entities_are_those_of_predict(expected, exported, texts):
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    check(as_lists(serve(text=tf.constant(texts))), expected, texts)


def test_each_text_is_answered_as_if_it_were_alone(exported, texts):
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    together = as_lists(serve(text=tf.constant(texts[:30])))
    for row in range(30):
        alone = as_lists(serve(text=tf.constant(texts[row : row + 1])))
        count = alone["num_entities"][0]
        assert together["num_entities"][row] == count
        assert together["entity_start"][row][:count] == alone["entity_start"][0]
    assert as_lists(serve(text=tf.constant([], tf.string)))["num_entities"] == []


STRANGER = """
import json, sys
sys.modules["keras_bert"] = None
import tensorflow as tf, tensorflow_text
texts = json.load(open(sys.argv[2]))
answers = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](text=tf.constant(texts))
def plain(x):
    return [plain(v) for v in x] if isinstance(x, list) else x.decode() if type(x) is bytes else x
print(json.dumps({name: plain(values.numpy().tolist()) for name, values in answers.items()}))
"""


def test_it_answers_where_this_library_is_not(expected, exported, texts, tmp_path):
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, str(exported), str(tmp_path / "texts.json")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    check(json.loads(done.stdout), expected, texts)


def test_token_ids_have_a_signature_of_their_own(model, exported):
    inputs = model.preprocessor(["a b c", "d"])
    answers = tf.saved_model.load(str(exported)).signatures["token_ids"](**inputs)
    logits = model.predict({name: value.numpy() for name, value in inputs.items()}, verbose=0)
    assert np.abs(answers["logits"] - logits).max() < 1e-5
    assert answers["label"].shape == (2, 16)
    assert answers["label"].numpy()[0, 1].decode() == NAMES[logits[0, 1].argmax()]


def test_warm_up_requests_are_texts(exported):
    requests = list(
        tf.data.TFRecordDataset(str(exported / "assets.extra" / "tf_serving_warmup_requests"))
    )
    assert len(requests) == 3  # two texts, and token ids
