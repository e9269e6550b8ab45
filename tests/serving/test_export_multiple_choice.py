"""A multiple choice served: answers to raw questions of any number of choices, in graph."""

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


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    model = keras_bert.BertMultipleChoice(backbone, preprocessor)
    generator = np.random.default_rng(5)  # a new model gives every choice nearly the same score
    for weight in model.weights:
        if weight.path.endswith(("kernel", "embeddings")):
            weight.assign(generator.normal(0, 0.7, weight.shape))
    return model


@pytest.fixture(scope="module")
def questions():
    """Two hundred, of two to five choices: short, empty, too long, of other scripts."""
    generator = np.random.default_rng(6)
    words = [*LETTERS, "abc", "(de)", "fg,", "ñ", "中", "😀"]
    made = [
        {"context": "", "choices": [" ", "a"]},
        {"context": "中 (b)", "choices": ["e\u0301 «ä» 😀", "c'd,", "c d"]},
        {"context": "a b " * 9, "choices": ["b " * 30, "b", "\u200b"]},
    ]
    while len(made) < 200:
        texts = [" ".join(generator.choice(words, n)) for n in generator.integers(1, 14, 6)]
        made.append({"context": texts[0], "choices": texts[1 : generator.integers(3, 7)]})
    return made


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "choices"
    model.export(str(folder))
    return folder / "1"


def columns(questions):
    most = max(len(question["choices"]) for question in questions)
    padded = [q["choices"] + [""] * (most - len(q["choices"])) for q in questions]
    return {"context": [q["context"] for q in questions], "choices": padded}


def ask(folder, questions, signature="serving_default"):
    signature = tf.saved_model.load(str(folder)).signatures[signature]
    answers = signature(**{name: tf.constant(v) for name, v in columns(questions).items()})
    return {name: values.numpy().tolist() for name, values in answers.items()}


def check(answers, expected):
    """Asserts that served answers, as lists, are those that `predict` gave."""
    for row, one in enumerate(expected):
        shares = answers["probabilities"][row]
        assert np.abs(
            np.array(shares[: len(one["probabilities"])]) - one["probabilities"]
        ).max() < (1e-5)
        assert not any(shares[len(one["probabilities"]) :])
        choice = answers["choice"][row]
        choice = choice.decode() if isinstance(choice, bytes) else choice
        assert (answers["label"][row], choice) == (one["label"], one["choice"])


def test_answers_are_those_of_predict_together_and_alone(model, exported, questions):
    expected = model.predict(questions, verbose=0)
    assert {one["label"] for one in expected} == {0, 1, 2, 3, 4}
    check(ask(exported, questions), expected)
    for row in range(3):
        check(ask(exported, questions[row : row + 1]), expected[row : row + 1])


def test_answers_in_a_process_where_this_library_is_not(model, exported, questions, tmp_path):
    script = tmp_path / "ask.py"
    script.write_text(
        "import json, sys\n"
        "sys.modules['keras_bert'] = None\n"
        "import tensorflow as tf, tensorflow_text\n"
        "ask = tf.saved_model.load(sys.argv[1]).signatures['serving_default']\n"
        "asked = {n: tf.constant(v) for n, v in json.load(open(sys.argv[2])).items()}\n"
        "found = {n: v.numpy().tolist() for n, v in ask(**asked).items()}\n"
        "found['choice'] = [text.decode() for text in found['choice']]\n"
        "json.dump(found, open(sys.argv[3], 'w'))\n"
    )
    asked, found = tmp_path / "asked.json", tmp_path / "found.json"
    asked.write_text(json.dumps(columns(questions)))
    command = [sys.executable, script, exported, asked, found]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-2000:]
    check(json.loads(found.read_text()), model.predict(questions, verbose=0))


def test_a_choice_of_nothing_keeps_its_place_and_has_no_probability(model, exported):
    full = ask(exported, [{"context": "a b", "choices": ["c", "d e", "f"]}])
    gaps = ask(exported, [{"context": "a b", "choices": ["", "c", "", "d e", "f", ""]}])
    assert np.array(gaps["probabilities"])[0, [0, 2, 5]].tolist() == [0, 0, 0]
    shares = np.array(gaps["probabilities"])[0, [1, 3, 4]]
    assert np.abs(shares - full["probabilities"][0]).max() < 1e-5
    assert gaps["choice"] == full["choice"]
    nothing = ask(exported, [{"context": "a", "choices": ["", ""]}])
    assert nothing["probabilities"] == [[0.0, 0.0]] and nothing["choice"] == [b""]


def test_token_ids_have_a_signature_of_their_own(model, exported, questions):
    data = keras_bert.choice_dataset(
        questions[:8], preprocessor=model.preprocessor, batch_size=8, labelled=False
    )
    [inputs] = data
    answers = tf.saved_model.load(str(exported)).signatures["token_ids"](**inputs)
    expected = model.predict(questions[:8], verbose=0)
    assert answers["label"].numpy().tolist() == [one["label"] for one in expected]
    assert np.abs(answers["logits"] - model.predict(inputs, verbose=0)).max() < 1e-5


def test_every_context_needs_choices(exported):
    signature = tf.saved_model.load(str(exported)).signatures["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="a row of choices"):
        signature(context=tf.constant(["a", "b"]), choices=tf.constant([["a", "b"]]))


def test_warm_up_requests_are_answered(model, exported, tmp_path, monkeypatch):
    from keras_bert.serving import export_saved_model

    written = []
    monkeypatch.setattr(
        export_saved_model, "write_warmup_requests", lambda *given: written.append(given)
    )
    model.export(tmp_path / "served", warmup_texts=[("a b", ["c", "d", "e"])])
    model.export(tmp_path / "served", version=2)
    signatures = tf.saved_model.load(str(exported)).signatures
    requests = [[*requests] for _, _, requests in written]
    assert [name for name, _ in requests[0]] == ["serving_default", "token_ids"]
    assert [inputs["choices"] for _, inputs in requests[0][:1]] == [[["c", "d", "e"]]]
    assert len(requests[1]) == 3
    for name, inputs in sum(requests, []):
        answers = signatures[name](**{n: tf.constant(v) for n, v in inputs.items()})
        assert answers["probabilities"].shape[0] == 1
        assert np.isclose(np.sum(answers["probabilities"]), 1)
    for wrong in ("a", ("a", "b"), (["a"], ["b"]), ("a", ["b"], "c")):
        with pytest.raises(ValueError, match=r"pairs \(context, choices\)"):
            model.export(tmp_path / "refused", warmup_texts=[wrong])
    assert not (tmp_path / "refused").exists()
