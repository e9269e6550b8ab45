import json

import numpy as np
import pandas as pd
import pytest

import _tables

PETS = "Name,Description,Age,Fee\nRex,A good dog,3,7\nTom,NA,1.50,8\n"
ROWS = [{"text": "café", "label": 1}, {"text": "b", "label": 0}]
FILES = {
    "a.tsv": "text\tlabel\ncafé\t1\nb\t0\n",
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "floats.csv": "text,label\ncafé,1.0\nb,0.0\n",
}


@pytest.mark.parametrize("name", [*FILES, "a.parquet"])
def test_files_are_read_as_one_table(write, tmp_path, name):
    path = tmp_path / name
    if name in FILES:
        write(FILES[name], name)
    else:
        pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')
        pd.DataFrame(ROWS).to_parquet(path)
    table = _tables.read_table(path)
    assert _tables.column(table, "text") == ["café", "b"]
    assert _tables.classes(table, "label") == (["1", "0"], ["0", "1"])
    labels = _tables.numbers(table, "label")
    np.testing.assert_array_equal(labels, np.array([1, 0], "float32"), strict=True)


def test_texts_are_filled_into_templates(write, refused):
    table = _tables.read_table(write(PETS, "pets.csv"))
    texts = _tables.filled(table, "{Name}. {Description}, {Age} years.")
    assert texts == ["Rex. A good dog, 3 years.", "Tom. NA, 1.50 years."]
    for template in ("{Nmae}.", "{Name", "{}", "{Name.x}"):
        refused(
            "pets.csv.*the columns are: Name, Description",
            _tables.filled,
            table,
            template,
        )


def test_labels_and_numbers_are_checked(write, refused):
    table = _tables.read_table(write("a,b,tags\n1,x,a | b\n10,,\n9,x,b|\n", "a.csv"))
    assert _tables.classes(table, "a")[1] == ["1", "9", "10"]
    assert _tables.label_lists(table, "tags") == [["a", "b"], [], ["b"]]
    refused(r"a\.csv, row 2: the label '' in column 'b'", _tables.classes, table, "b")
    refused(
        "row 3: the label '9'.*none of the classes",
        _tables.classes,
        table,
        "a",
        ["1", "10"],
    )
    refused("row 1: 'x' in column 'b' is not a finite", _tables.numbers, table, "b")
    refused("no column 'A'.*Its columns are: a, b", _tables.column, table, "A")
    lines = '{"tags": ["a", "b|c"]}\n{"tags": null, "n": 3}\n{"tags": "a", "n": null}'
    lists = _tables.read_table(write(lines, "a.jsonl"))
    assert _tables.label_lists(lists, "tags") == [["a", "b|c"], [], ["a"]]
    assert _tables.filled(lists, "{n}")[1:] == ["3", ""]
    for text in ("", "a,b\n", "a,b\n1,2\n1,2,3\n"):
        refused(r"a\.csv", _tables.read_table, write(text, "a.csv"))
