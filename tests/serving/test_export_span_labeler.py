"""A span labeler served: answers to raw questions, with their spans, in graph."""

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


def make(null_threshold):
    keras.utils.set_random_seed(2)
    backbone = keras_bert.BertBackbone(
        len(WORDS), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    preprocessor = keras_bert.BertPreprocessor(keras_bert.BertTokenizer(WORDS), sequence_length=16)
    model = keras_bert.BertSpanLabeler(
        backbone,
        preprocessor,
        document_stride=4,
        max_question_length=5,
        max_answer_length=6,
        null_threshold=null_threshold,
    )
    generator = np.random.default_rng(5)  # a new model gives every word nearly the same scores
    for weight in model.weights:
        if weight.path.endswith(("kernel", "embeddings")):
            weight.assign(generator.normal(0, 0.7, weight.shape))
    return model


@pytest.fixture(scope="module")
def questions():
    """Two hundred: short, empty, on contexts longer than a sequence, of other scripts."""
    generator = np.random.default_rng(6)
    pairs = [
        ("a", ""),
        ("", " \n"),
        ("", "a"),
        ("中 (b)", "e\u0301 «ä» 😀 c'd,"),
        ("a b " * 9, "b"),
    ]
    while len(pairs) < 200:
        words = [*LETTERS, "abc", "(de)", "fg,", "ñ", "中", "😀"]
        sizes = generator.integers(1, [8, 60])
        pairs.append(tuple(" ".join(generator.choice(words, size)) for size in sizes))
    return [{"question": question, "context": context} for question, context in pairs]


def columns(questions):
    return {name: tf.constant([one[name] for one in questions]) for name in questions[0]}


def check(answers, expected, questions):
    """Asserts that served answers, as lists, are those that `predict` gave."""
    for row, (question, one) in enumerate(zip(questions, expected, strict=True)):
        for name in ("answer", "start", "end"):
            assert answers[name][row] == one[name], (row, name)
        for name in ("score", "null_odds"):
            assert abs(answers[name][row] - one[name]) < 1e-4
        data = question["context"].encode()
        text = data[answers["start_byte"][row] : answers["end_byte"][row]].decode()
        assert text == one["answer"]


def as_lists(answers):
    decode = lambda values: [v.decode() if isinstance(v, bytes) else v for v in values]  # noqa: E731
    return {name: decode(values.numpy().tolist()) for name, values in answers.items()}


@pytest.fixture(scope="module", params=[None, -8.5], ids=["always answers", "may not answer"])
def served(request, tmp_path_factory, questions):
    """`(folder, what predict says)`."""
    model = make(request.param)
    folder = tmp_path_factory.mktemp("served") / "questions"
    model.export(str(folder))
    expected = model.predict(questions, verbose=0)
    none = sum(not one["answer"] for one in expected)
    assert none == 2 if request.param is None else 20 < none < 180
    return folder / "1", expected


def test_answers_are_those_of_predict_together_and_alone(served, questions):
    folder, expected = served
    ask = tf.saved_model.load(str(folder)).signatures["serving_default"]
    check(as_lists(ask(**columns(questions))), expected, questions)
    for row in range(12):
        alone = as_lists(ask(**columns(questions[row : row + 1])))
        check(alone, expected[row : row + 1], questions[row : row + 1])
    none = {name: values[:0] for name, values in columns(questions).items()}
    assert all(values.shape == (0,) for values in ask(**none).values())


def test_answers_in_a_process_where_this_library_is_not(served, questions, tmp_path):
    folder, expected = served
    script = tmp_path / "ask.py"
    script.write_text(
        "import json, sys\n"
        "sys.modules['keras_bert'] = None\n"
        "import tensorflow as tf, tensorflow_text\n"
        "ask = tf.saved_model.load(sys.argv[1]).signatures['serving_default']\n"
        "asked = json.load(open(sys.argv[2]))\n"
        "columns = {n: tf.constant([q[n] for q in asked]) for n in ('question', 'context')}\n"
        "plain = lambda v: v.decode() if isinstance(v, bytes) else v\n"
        "found = {n: [plain(x) for x in v.numpy().tolist()] for n, v in ask(**columns).items()}\n"
        "json.dump(found, open(sys.argv[3], 'w'))\n"
    )
    asked, found = tmp_path / "asked.json", tmp_path / "found.json"
    asked.write_text(json.dumps(questions))
    command = [sys.executable, script, folder, asked, found]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr[-2000:]
    check(json.loads(found.read_text()), expected, questions)


def test_a_question_needs_its_context(served):
    ask = tf.saved_model.load(str(served[0])).signatures["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="a context of its own"):
        ask(question=tf.constant(["a", "b"]), context=tf.constant(["a"]))


def test_warm_up_requests_are_pairs(tmp_path):
    with pytest.raises(ValueError, match=r"pairs \(question, context\)"):
        make(None).export(str(tmp_path / "served"), warmup_texts=["a"])
    assert not (tmp_path / "served").exists()
