import json

import pytest

from keras_bert.files.json_files import JsonFields


def fields(**values):
    return JsonFields("config.json", values)


def test_values_of_the_right_type_are_returned():
    found = fields(a=3, b=0.5, c=True, d="x", e=["x"], f={"g": 1}, h=[{"i": 2}], j=768.0, k=0)
    assert found.integer("a") == 3 and found.integer("j") == 768
    assert found.number("b") == 0.5 and found.number("a") == 3
    assert found.boolean("c") is True and found.boolean("k") is False
    assert found.text("d") == "x" and found.texts("e") == ["x"]
    assert found.fields("f").integer("g") == 1
    assert [each.integer("i") for each in found.listed_fields("h")] == [2]
    assert "a" in found and "z" not in found and not fields()


def test_missing_values_and_null_are_the_default():
    found = fields(a=None)
    for key in ("a", "z"):
        assert found.integer(key, 7) == found.number(key, 7) == 7 and found.text(key) is None
        assert found.texts(key) == [] and not found.fields(key) and not [*found.listed_fields(key)]


WRONG = [
    ("integer", "8", "config.json: a must be an integer from 0 to 2,147,483,647; got '8'"),
    ("integer", 1.5, "an integer"),
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
    with pytest.raises(ValueError, match=r"a\[1\].b must be an integer"):
        [each.integer("b") for each in fields(a=[{"b": 1}, {"b": "x"}]).listed_fields("a")]
    with pytest.raises(ValueError, match="a must be a list of objects") as error:
        [*fields(a=json.loads("[" * 900 + "]" * 900)).listed_fields("a")]
    assert len(str(error.value)) < 200
