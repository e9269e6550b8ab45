import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from keras_bert import Batching, BertMultipleChoicePreprocessor

GOOD = {"context": "a", "choices": ["b", "c"], "label": 0}
QUESTIONS = [
    {"context": "a b", "choices": ["c", "d e"], "label": 1},
    {"context": "f", "choices": ["g", "h", "i"], "label": 0},
]


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertMultipleChoicePreprocessor(tokenizer, sequence_length=14)


def test_every_choice_is_packed_with_its_context(preprocessor):
    """Of two to six choices, some longer than a sequence, some missing; contexts may be empty."""
    examples = []
    for lengths in ((0, 3), (5, 0, 12), (12, 4, 0, 1), (8, 12, 12, 5, 2), (1,), (3, 0)):
        context, *others = (" ".join("abcdefghijkl"[:length]) for length in lengths)
        examples.append({"context": context, "choices": ["b", "a", *others], "label": 1})
    contexts = [example["context"] for example in examples for _ in range(6)]
    choices = [example["choices"] + [""] * (6 - len(example["choices"])) for example in examples]
    is_there = np.array(choices)[..., None] != ""
    pairs = preprocessor(contexts, sum(choices, []))
    expected = {name: values.reshape(6, 6, 14) * is_there for name, values in pairs.items()}
    rows, numbers = preprocessor.read(examples, with_labels=True), [3, 0, 5, 4, 2, 1]
    assert np.array_equal(rows.num_tokens(), expected["padding_mask"].sum(axis=2).max(axis=1))
    inputs, labels = rows.batch(np.array(numbers), Batching(pad_to="longest"))
    assert labels.tolist() == [1] * 6
    for name, values in inputs.items():
        assert np.array_equal(values, expected[name][numbers])


def test_buckets_count_the_tokens_of_all_choices(preprocessor):
    long = {"context": "a " * 20, "choices": ["b", "c", "d", "e", "f"], "label": 0}
    rows = preprocessor.read([long] * 4 + [GOOD] * 5, with_labels=True)
    data = rows.batches(Batching(bucket_lengths=(8, 14), tokens_per_batch=5 * 14 * 3))
    assert [inputs["token_ids"].shape for inputs, _ in data] == [
        (3, 5, 14),
        (5, 5, 8),
        (1, 5, 14),
    ]


def test_labels_and_weights_may_be_apart(preprocessor, refused):
    without = [{**question, "label": None} for question in QUESTIONS]
    for questions, labels in ((QUESTIONS, None), (without, [1, 0])):
        [(_, found, weights)] = preprocessor.batches(questions, labels, [1, 2])
        assert found.tolist() == [1, 0] and weights.tolist() == [1, 2]
    for labels in ([[0, 1], [1, 0]], [True, False]):
        refused("question's choices, from 0, .B.; got", preprocessor.batches, without, labels)


def test_the_answer_is_the_most_probable_choice(assert_close, preprocessor):
    logits = np.array([[1, 3, -1e9], [2, 0, 1]], "float32")
    found = preprocessor.answers(logits, preprocessor.read(QUESTIONS))
    assert found["label"].tolist() == [1, 0] and found["choice"] == ["d e", "g"]
    first, second = softmax(logits, axis=1)
    assert_close(found["probabilities"], [first[:2], second])
    assert preprocessor.answers(logits)["probabilities"].shape == (2, 3)


def test_examples_that_are_no_questions_are_named(preprocessor, refused):
    for examples, message in (
        ([GOOD, "a"], "number 1 is 'a'"),
        (tf.data.Dataset.from_tensors("a"), "number 0 is"),
        (np.array("a"), "number 0 is"),
        ([GOOD, {**GOOD, "context": 3}], "number 1 is"),
        ([{**GOOD, "choices": "bc"}], "a dict of a string and of two or more strings"),
        ([GOOD, {**GOOD, "choices": ["b", ""]}], "number 1 is .*'b', ''"),
        ([{**GOOD, "label": 2}], "question's choices.*got 2 at .0."),
        ([{"context": "a", "choices": ["b", "c"]}], "got .None"),
        ([{**GOOD, "choices": ["", "b", "c"]}], "question's choices.*got 0 at"),
    ):
        refused(message, preprocessor.read, examples, with_labels=True)
