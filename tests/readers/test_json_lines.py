import json

import pytest

from keras_bert.readers.table import read_table


def test_lines_of_json_are_rows(write):
    texts = ["plain", 'quo"te, tab\t', "line\u2028 separator", "new\nline", "北京", ""]
    rows = [json.dumps({"text": t, "n": i / 2}, ensure_ascii=False) for i, t in enumerate(texts)]
    table = read_table(write("\n".join([*rows[:3], "", *rows[3:], ""]), "rows.jsonl"))
    assert table.columns == ["text", "n"] and table["text"] == texts
    assert table.scores("n").tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert table.lines == [1, 2, 3, 5, 6, 7]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: '{'"),
        ("[1]", "line 2: '.1.'.*object"),
        ('{"b": 1}', """line 2: '{"b": 1}'.*keys a"""),
        ("[" * 5000, r"line 2: '\[\["),
        (f'{{"a": {"9" * 5000}}}', "line 2: .*digits"),
    ],
)
def test_bad_lines_are_refused_or_skipped(write, line, message):
    path = write(f'{{"a": 1}}\n{line}\n{{"a": true}}', "rows.jsonl")
    with pytest.raises(ValueError, match=message):
        read_table(path)
    table = read_table(path, malformed="skip")
    assert table["a"] == ["1", "true"] and table.malformed == [2]


def test_a_file_without_rows_is_refused(write):
    with pytest.raises(ValueError, match="is empty"):
        read_table(write("\n", "rows.jsonl"))
    with pytest.raises(ValueError, match="no rows"):
        read_table(write("text", "rows.jsonl"), malformed="skip")


def test_null_is_empty_and_lists_are_json(write):
    lines = ['{"a": null, "n": 1}', '{"a": ["x", 2], "n": NaN}']
    table = read_table(write("\n".join(lines), "rows.jsonl"))
    assert table["a"] == ["", '["x", 2]']
    with pytest.raises(ValueError, match="line 2: 'NaN' in column 'n' is not a finite number"):
        table.scores("n")
