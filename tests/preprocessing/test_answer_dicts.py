import numpy as np
import tensorflow as tf

from keras_bert.preprocessing.answer_dicts import answer_dicts


def test_each_example_gets_python_values():
    answers = {
        "label": tf.constant(["é", "b"]),
        "score": tf.constant([0.5, 2]),
        "place": np.array([3, 4]),
        "is_null": tf.constant([True, False]),
        "labels": tf.constant([["x", "y"], ["x", "y"]]),
        "probabilities": tf.constant([[0.25, 0.75], [1, 0]]),
    }
    first, second = answer_dicts(answers)
    probabilities = first.pop("probabilities")
    assert isinstance(probabilities, np.ndarray) and probabilities.tolist() == [0.25, 0.75]
    assert first == {
        "label": "é",
        "score": 0.5,
        "place": 3,
        "is_null": True,
        "labels": ["x", "y"],
    }
    assert [type(first[name]) for name in ("label", "score", "place", "is_null")] == [
        str, float, int, bool
    ]  # fmt: skip
    assert second["label"] == "b" and second["is_null"] is False


def test_ragged_answers_differ_in_length():
    answers = {
        "tags": tf.ragged.constant([["O", "B-LOC"], [], ["O"]]),
        "score": tf.ragged.constant([[0.5, 1.5], [], [2.5]]),
        "probabilities": tf.RaggedTensor.from_row_lengths(
            tf.reshape(tf.range(6.0), [3, 2]), [2, 0, 1]
        ),
    }
    first, second, third = answer_dicts(answers)
    assert [row["tags"] for row in (first, second, third)] == [["O", "B-LOC"], [], ["O"]]
    assert [row["score"].tolist() for row in (first, second, third)] == [[0.5, 1.5], [], [2.5]]
    assert first["probabilities"].tolist() == [[0, 1], [2, 3]]
    assert second["probabilities"].shape == (0, 2)


def test_bytes_that_are_no_utf8_do_not_raise():
    surrogate = "\ud800".encode("utf-8", "surrogatepass")
    found = answer_dicts({"answer": tf.constant([surrogate, b"a\xff"])})
    assert [row["answer"] for row in found] == ["\ud800", "a\ufffd"]


def test_no_examples_give_no_answers():
    assert answer_dicts({"label": tf.constant([], tf.string)}) == []
