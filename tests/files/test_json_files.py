import json

import pytest

from keras_bert.files.json_files import JsonFields


def fields(**values):
    return JsonFields("config.json", values)


RIGHT = [
    ("integer", 3),
    ("integer", 768.0),
    ("number", 0.5),
    ("number", 3),
    ("boolean", True),
    ("boolean", 0),
    ("text", "x"),
    ("texts", ["x"]),
]


def test_values_of_the_right_type_are_returned_and_the_default_of_others():
    for read, value in RIGHT:
        assert getattr(fields(a=value), read)("a") == value
        for none in (fields(a=None), fields()):
            assert getattr(none, read)("a") == ([] if read == "texts" else None)
            assert read == "texts" or getattr(none, read)("a", 7) == 7
            assert "a" not in none and not none.fields("a") and not [*none.listed_fields("a")]
    assert fields(a={"b": 1}).fields("a").integer("b") == 1 and "a" in fields(a=0)
    assert type(fields(a=0).boolean("a")) is bool and type(fields(a=8.0).integer("a")) is int


WRONG = [
    (
        "integer",
        "8",
        "config.json: a must be an integer from 0 to 2,147,483,647; got '8'",
    ),
    ("integer", True, "an integer"),
    ("integer", 10**18, "from 0 to"),
    ("number", "1", "a number from .*; got '1'"),
    ("number", float("nan"), "a number from"),
    ("boolean", "no", "true or false; got 'no'"),
    ("text", 5, "a string; got 5"),
    ("texts", ["x", 1], "a list of strings"),
    ("inner_path", "../x", "a path within the folder; got '../x'"),
    ("inner_path", "/etc/passwd", "a path within the folder"),
    ("inner_path", "a\\..\\..\\x", "a path within the folder"),
]


def test_other_values_are_refused_with_the_file_and_the_key(refused):
    for read, value, message in WRONG:
        refused(message, getattr(fields(a=value), read), "a")
        inner = JsonFields("config.json", {"a": value}, "inner")
        refused(r"config.json: inner\.a must be", getattr(inner, read), "a")


def test_objects_of_a_list_are_named_by_their_place():
    first, second = fields(a=[{"b": 1}, {"b": "x"}]).listed_fields("a")
    assert first.integer("b") == 1
    with pytest.raises(ValueError, match=r"a\[1\].b must be an integer"):
        second.integer("b")
    with pytest.raises(ValueError, match="a must be a list of objects") as error:
        [*fields(a=json.loads("[" * 900 + "]" * 900)).listed_fields("a")]
    assert len(str(error.value)) < 200
