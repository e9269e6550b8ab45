"""Every task served: the same answers as `answer`, alone and together, here and elsewhere."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.preprocessing.forms import take
from tests.marks import slow

OFTEN = ["questions"]  # an export takes long
OTHERS = "windows choices classes features labels score tags documents vectors".split()
TASKS = [*OFTEN, *map(slow, OTHERS)]
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


@pytest.mark.slow
def test_answers_elsewhere_are_those_of_the_task(served, same_answers, run_python, tmp_path):
    """In a process where this library is not."""
    tasks = {name: served(name) for name in OFTEN + OTHERS}
    asked = {name: (task.path, task.columns) for name, task in tasks.items()}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    run_python("-c", STRANGER, "asked.json", "found.json", cwd=tmp_path)
    for name, answers in json.loads((tmp_path / "found.json").read_text()).items():
        same_answers(answers, tasks[name].task.answer(tasks[name].examples))


@pytest.mark.parametrize("name", TASKS)
def test_each_example_is_answered_as_if_it_were_alone(served, same_answers, name):
    one = served(name)
    for row, answer in enumerate(one.task.answer(one.examples)):
        same_answers(one.ask(one.columns, rows=slice(row, row + 1)), [answer])
    assert not any(one.ask(one.columns, rows=slice(0)).values())


@pytest.mark.parametrize("name", TASKS)
def test_token_ids_have_a_signature_of_their_own(assert_close, served, same_answers, name):
    one = served(name)
    task, examples = one.task, take(one.examples, slice(0, 4))
    x = next(iter(task.preprocessor.batches(examples, with_labels=False)))
    found = one.ask(x, "token_ids")
    outputs = task.predict(x)
    outputs = outputs if isinstance(outputs, dict) else {task.published.output: outputs}
    for key, values in outputs.items():
        assert_close(np.array(found[key]), values)
    answers = task.answer(x)
    assert set(found) == {*outputs, *answers[0]}
    same_answers({key: found[key] for key in answers[0]}, answers)


@pytest.mark.slow
def test_pairs_are_answered(served, same_answers):
    one = served("classes")
    texts = one.examples
    answers = one.task.answer((texts, texts[::-1]))
    pairs = {"text": [list(pair) for pair in zip(texts, texts[::-1], strict=True)]}
    same_answers(one.ask(pairs), answers)
    same_answers(one.ask(pairs, rows=slice(1)), answers[:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="texts or .* pairs"):
        one.ask({"text": [["a", "b", "c"]]})


def test_choices_of_nothing_have_no_probability(served):
    nothing = served("choices").ask({"context": ["a"], "choices": [["", ""]]})
    assert nothing["probabilities"] == [[0.0, 0.0]] and nothing["choice"] == [""]


WRONG = [
    ("questions", {"question": ["a", "b"], "context": ["a"]}, "a context of"),
    ("choices", {"context": ["a", "b"], "choices": [["a", "b"]]}, "a row of choices"),
    (
        "windows",
        {"text": ["a", "b"], "features": [[1.0, 2.0]]},
        "give each text its features",
    ),
    ("windows", {"text": ["a"], "features": [[1.0, np.inf]]}, "features must be finite"),
]


def test_requests_that_cannot_be_answered_are_refused(served):
    for name, columns, message in WRONG:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            served(name).ask(columns)
