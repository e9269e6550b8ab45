import numpy as np

from keras_bert.models.answering import answer_dicts


def test_each_example_gets_python_values():
    answers = {
        "label": np.array(["é", "b"], object),
        "score": np.array([0.5, 2]),
        "place": np.array([3, 4]),
        "is_null": np.array([True, False]),
        "labels": np.array([["x", "y"], ["x", "y"]]),
        "probabilities": np.array([[0.25, 0.75], [1, 0]]),
    }
    first, second = answer_dicts(answers)
    probabilities = first.pop("probabilities")
    assert isinstance(probabilities, np.ndarray) and probabilities.tolist() == [0.25, 0.75]
    assert first.pop("labels") == ["x", "y"]
    assert first == {"label": "é", "score": 0.5, "place": 3, "is_null": True}
    assert [*map(type, first.values())] == [str, float, int, bool]
    assert second["label"] == "b" and second["is_null"] is False


def test_answers_may_differ_in_length():
    answers = {
        "tags": [np.array(tags, object) for tags in (["O", "B-LOC"], [], ["O"])],
        "score": [np.array(scores) for scores in ([0.5, 1.5], [], [2.5])],
        "probabilities": np.split(np.arange(6).reshape(3, 2), [2, 2]),
    }
    first, second, third = answer_dicts(answers)
    assert [row["tags"] for row in (first, second, third)] == [["O", "B-LOC"], [], ["O"]]
    assert [row["score"].tolist() for row in (first, second, third)] == [[0.5, 1.5], [], [2.5]]
    assert first["probabilities"].tolist() == [[0, 1], [2, 3]]
    assert second["probabilities"].shape == (0, 2)


def test_bytes_that_are_no_utf8_do_not_raise():
    for texts in ([b"\xe9", b"a\xff"], ["\udce9", "a\udcff"]):
        found = answer_dicts({"answer": np.array(texts, object)})
        assert [row["answer"] for row in found] == ["\ufffd", "a\ufffd"]


def test_no_examples_give_no_answers():
    assert answer_dicts({"label": np.array([], object)}) == []
