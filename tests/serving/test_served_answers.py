"""Every task served: the same answers as `answer`, alone and together, here and elsewhere."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing.forms import take

OFTEN = ["windows", "questions without answers", "choices"]  # an export takes long
OTHERS = ["classes", "words", "documents", "score", "labels", "questions", "vectors"]
TASKS = [*OFTEN, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
STRANGER = """
import json, sys
sys.modules["keras_bert"] = None
import tensorflow as tf, tensorflow_text
def plain(x):
    return [plain(v) for v in x] if isinstance(x, list) else x.decode() if type(x) is bytes else x
found = {}
for name, (folder, columns) in json.load(open(sys.argv[1])).items():
    columns = {name: tf.constant(values) for name, values in columns.items()}
    answers = tf.saved_model.load(folder).signatures["serving_default"](**columns)
    found[name] = {name: plain(values.numpy().tolist()) for name, values in answers.items()}
json.dump(found, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def elsewhere(served, run_python, tmp_path_factory):
    """Answers of every task's SavedModel in a process where this library is not."""
    folder = tmp_path_factory.mktemp("elsewhere")
    tasks = [served(name) for name in OFTEN + OTHERS]
    asked = {task.name: (str(task.folder), task.columns) for task in tasks}
    classes = served("classes").folder.parent
    asked["classes"] = (str(folder / "moved/1"), asked["classes"][1])
    classes.rename(folder / "moved")  # a SavedModel may be moved
    (folder / "asked.json").write_text(json.dumps(asked))
    run_python("-c", STRANGER, "asked.json", "found.json", cwd=folder)
    (folder / "moved").rename(classes)
    return json.loads((folder / "found.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", OFTEN + OTHERS)
def test_answers_elsewhere_are_those_of_the_task(served, elsewhere, same_answers, name):
    same_answers(elsewhere[name], served(name).answers)


@pytest.mark.parametrize("name", TASKS)
def test_each_example_is_answered_as_if_it_were_alone(served, same_answers, name):
    one = served(name)
    answers = one.task.answer(take(one.examples, slice(0, 8)))  # the odd ones, and two others
    for row, answer in enumerate(answers):
        same_answers(one.ask(take(one.columns, slice(row, row + 1))), [answer])
    tensors = {key: tf.constant(values)[:0] for key, values in one.columns.items()}
    none = one.signatures["serving_default"](**tensors)
    assert {values.shape[0] for values in none.values()} == {0}


@pytest.mark.parametrize("name", TASKS)
def test_token_ids_have_a_signature_of_their_own(assert_close, served, same_answers, name):
    one = served(name)
    task, examples = one.task, take(one.examples, slice(0, 4))
    x = next(iter(task.preprocessor.batches(examples, with_labels=False)))
    found = one.ask(x, "token_ids")
    outputs = task.predict(x, verbose=0)
    outputs = outputs if isinstance(outputs, dict) else {task.output_name: outputs}
    for key, values in outputs.items():
        assert_close(np.array(found[key]), values)
    answers = task.answer(x)
    assert set(found) == {*outputs, *answers[0]}
    same_answers({key: found[key] for key in answers[0]}, answers)


@pytest.mark.slow
def test_pairs_are_answered(served, same_answers):
    one = served("classes")
    texts, others = one.columns["text"][:8], one.columns["text"][-8:]
    pairs = [list(pair) for pair in zip(texts, others, strict=True)]
    answers = one.task.answer((texts, others))
    same_answers(one.ask({"text": pairs}), answers)
    same_answers(one.ask({"text": pairs[:1]}), answers[:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="texts or .* pairs"):
        one.ask({"text": [["a", "b", "c"]]})


def test_a_choice_of_nothing_keeps_its_place_and_has_no_probability(assert_close, served):
    ask = served("choices").ask
    full = ask({"context": ["a b"], "choices": [["c", "d e", "f"]]})
    gaps = ask({"context": ["a b"], "choices": [["", "c", "", "d e", "f", ""]]})
    assert np.array(gaps["probabilities"])[0, [0, 2, 5]].tolist() == [0, 0, 0]
    shares = np.array(gaps["probabilities"])[0, [1, 3, 4]]
    assert_close(shares, np.array(full["probabilities"][0]), size=10.0)
    assert gaps["choice"] == full["choice"]
    nothing = ask({"context": ["a"], "choices": [["", ""]]})
    assert nothing["probabilities"] == [[0.0, 0.0]] and nothing["choice"] == [""]


WRONG = [
    ("questions without answers", {"question": ["a", "b"], "context": ["a"]}, "a context of"),
    ("choices", {"context": ["a", "b"], "choices": [["a", "b"]]}, "a row of choices"),
    ("windows", {"text": ["a", "b"], "features": [[1.0, 2.0]]}, "give each text its features"),
    ("windows", {"text": ["a"], "features": [[1.0, np.inf]]}, "features must be finite"),
]


def test_requests_that_cannot_be_answered_are_refused(served):
    for name, columns, message in WRONG:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            served(name).ask(columns)
