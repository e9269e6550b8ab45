import numpy as np

from keras_bert.models.answering import answer_dicts


def test_each_example_gets_python_values_perhaps_of_its_own_length():
    answers = {
        "label": np.array(["é", "b"], object),
        "score": np.array([0.5, 2]),
        "place": np.array([3, 4]),
        "is_null": np.array([True, False]),
        "labels": np.array([["x", "y"], ["x", "y"]]),
        "tags": [np.array(tags, object) for tags in (["O", "B-LOC"], [])],
        "probabilities": np.split(np.arange(4).reshape(2, 2), [2]),
    }
    first, second = answer_dicts(answers)
    assert [row.pop("probabilities").tolist() for row in (first, second)] == [[[0, 1], [2, 3]], []]
    same = {"labels": ["x", "y"]}
    expected = {"label": "é", "score": 0.5, "place": 3, "is_null": True, "tags": ["O", "B-LOC"]}
    assert first == {**expected, **same} and second["is_null"] is False and second["tags"] == []
    assert [type(first[name]) for name in ("label", "score", "place")] == [str, float, int]
    assert answer_dicts({"label": np.array([], object)}) == []


def test_bytes_that_are_no_utf8_do_not_raise():
    for texts in ([b"\xe9", b"a\xff"], ["\udce9", "a\udcff"]):
        found = answer_dicts({"answer": np.array(texts, object)})
        assert [row["answer"] for row in found] == ["\ufffd", "a\ufffd"]
