import bz2
import datetime
import decimal
import gzip
import json
import warnings

import numpy as np
import pytest

from keras_bert.readers.table import read_table


def test_a_field_may_have_any_length(write):
    assert read_table(write("text\n" + "x" * 200_000))["text"] == ["x" * 200_000]


def test_quotes_are_plain_characters_where_a_file_says_so(write, refused):
    path = write('text\tlabel\n"Yes", he said\t1\n"Open\t0\n5" disk\t1\n')
    assert read_table(path, quoting=False)["text"] == ['"Yes", he said', '"Open', '5" disk']
    refused("line 2.*quoting=False", read_table, path)


def test_a_table_shows_its_file_rows_and_columns(write):
    path = write("\ufefftext\tlabel\na\t1\nb\nc\t1\n")
    table = read_table(path, malformed="skip")
    shown = f"Table({str(path)!r}: 2 rows; columns text, label; skipped malformed rows: 1)"
    assert repr(table) == shown
    assert repr(read_table(write("\t".join(["x"] * 99)), header=False)).endswith("20, 21,...)")


def test_columns_have_numbers_where_there_is_no_header(write):
    table = read_table(write("gj04\t1\t\tOne.\ngj04\t0\t*\tTwo.\n"), header=False)
    assert table.columns == ["0", "1", "2", "3"]
    assert table["3"] == ["One.", "Two."]
    assert table.class_numbers("1", ["0", "1"]).tolist() == [1, 0]


def test_blank_lines_are_skipped_but_one_column_keeps_them(write):
    two = read_table(write("a\tb\n\n1\t2\n\n\n"))
    assert two["a"] == ["1"] and two.lines == [3]
    assert read_table(write("a\nx\n\ny\n"))["a"] == ["x", "", "y"]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a\tb\n1\t2\n1\t2\t3\n", "rows.tsv", r"rows\.tsv, line 3: 3 columns.*has 2"),
        ('a,b\n"x\ny",2\n1\n', "rows.csv", r"rows\.csv, line 4: 1 columns.*has 2"),
        ('a,b\n"x" y,2\n', "rows.csv", r"line 2: malformed row"),
        ('a,b\n1,2\n"x,2\n', "rows.csv", r"line 3: malformed row"),
        ("a\ta\n1\t2\n", "rows.tsv", "two columns are named 'a'"),
        ("", "rows.tsv", "is empty"),
        ("a\tb\n", "rows.tsv", "no rows below its header"),
        ("a\tb\n1\t2\n1\tZürich\n", "rows.tsv", r"rows\.tsv, line 3: not UTF-8 \(byte 0xfc\)"),
        (None, "nowhere.tsv", r"nowhere\.tsv does not exist"),
    ],
)
def test_malformed_files_are_refused_with_file_and_line(write, tmp_path, text, name, message):
    if text is not None:
        write(text.encode("latin-1"), name)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_a_missing_column_names_those_there_are_and_the_closest(write):
    table = read_table(write("Sentiment\tText\n1\tx\n"))
    with pytest.raises(ValueError, match=r"column 'text'.*Sentiment, Text\. Did you mean 'Text'"):
        table["text"]
    with pytest.raises(ValueError, match=r"Sentiment, Text\.$"):
        table["zzzz"]
    assert "Text" in table and "text" not in table


def test_class_names_are_sorted_and_numbers_by_size(write):
    table = read_table(write("a\tb\nneutral\t10\nbad\t9\nbad\t0\n"))
    assert table.class_names("a") == ["bad", "neutral"]
    assert table.class_names("b") == ["0", "9", "10"]
    assert table.class_numbers("b", table.class_names("b")).tolist() == [2, 1, 0]


def test_an_unknown_label_is_refused_with_its_line_and_the_known_ones(write, refused):
    table = read_table(write('text,label\n"two\nlines",bad\nx,god\n', "dev.csv"))
    with pytest.raises(ValueError, match=r"dev\.csv, line 4: .*'god'.*bad, good\. .*'good'"):
        table.class_numbers("label", ["bad", "good"])
    table = read_table(write("text\tlabel\nx\tbad\ny\t\n"))
    refused(r"line 3: the label in column 'label' is empty", table.class_names, "label")


def test_scores_are_finite_numbers(write, refused):
    table = read_table(write("a\tb\tc\n1.5\tx\t1e100\n-2e-1\tnan\t0\n"))
    assert table.scores("a").dtype == np.float32
    np.testing.assert_allclose(table.scores("a"), [1.5, -0.2], rtol=1e-6)
    refused("line 2: 'x' in column 'b'", table.scores, "b")
    refused("line 2: '1e100' in column 'c'", table.scores, "c")
    refused("line 2: '1_0' in column 'a'", read_table(write("a\n1_0\n")).scores, "a")


def test_malformed_rows_can_be_skipped_and_are_listed(write):
    table = read_table(write('a\tb\n1\t2\n"1\n\n1\t2\t3\n3\t"4\n'), quoting=False, malformed="skip")
    assert (table["a"], table["b"]) == (["1", "3"], ["2", '"4'])
    assert (table.lines, table.malformed) == ([2, 6], [3, 5])
    assert read_table(write("1\t2\n1\n"), header=False, malformed="skip").malformed == [2]
    assert read_table(write("a\tb\n1\t2\n"), malformed="skip").malformed == []


def test_what_is_left_after_skipping_must_be_a_table(write):
    with pytest.raises(ValueError, match="no rows below its header.* Malformed rows: 2"):
        read_table(write("a\tb\n1\n2\n"), malformed="skip")
    with pytest.raises(ValueError, match="malformed must be one of .*; got 'drop'"):
        read_table(write("a\tb\n1\t2\n"), malformed="drop")


@pytest.mark.shared
def test_real_tables_are_read_whole(shared_data):
    sentiment, nli = (
        [read_table(shared_data / name / f"{split}.tsv") for split in ("train", "dev", "test")]
        for name in ("sentiment", "nli")
    )
    assert [*map(len, sentiment)] == [1707, 245, 488] and [*map(len, nli)] == [1666, 200, 400]
    for table in sentiment:
        assert table.class_names("Sentiment") == ["Negative", "Positive"]
        assert not any(text.startswith('"') and '""' in text for text in table["Text"])
    assert nli[1].class_names("gold_label") == ["contradiction", "entailment", "neutral"]


@pytest.mark.parametrize("rows", ['text;label\n"A, b";1\n', "text;label\nA;1\nB;0\n"])
def test_another_delimiter_is_named(write, rows):
    path = write(rows, "rows.csv")
    with pytest.raises(ValueError, match="first line holds ';'.*delimiter=';', or save it with"):
        read_table(path)["text"]
    assert read_table(path, delimiter=";")["label"][0] == "1"


def test_a_header_of_texts_is_shortened_in_messages(write):
    table = read_table(write(f"{'a long text ' * 99}\tlabel\nshort\t1\n"))
    with pytest.raises(ValueError, match=r"column 'text'.*a long text .*\.\.\., label") as caught:
        table["text"]
    assert len(str(caught.value)) < 300


def test_empty_texts_are_counted(write):
    table = read_table(write("text\tpair\na\tb\n\tc\nd\te\n \tf\n"))
    with pytest.warns(UserWarning, match="'text' has no text in 2 of 4 rows, first at line 3"):
        assert table.texts("text") == ["a", "", "d", " "]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.texts("pair") == ["b", "c", "e", "f"]


def test_parquet_holds_the_rows_of_a_csv(tmp_path, write, refused):
    arrow = pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')
    parquet = pytest.importorskip("pyarrow.parquet", reason='pip install ".[corpus]"')
    columns = {"text": ["A 字.", None, "B"], "label": [1, 0, 1], "raw": [b"x", b"y", None]}
    columns["tags"] = [["a"], [], None]
    columns["price"] = [decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]
    columns["day"] = [datetime.date(2020, 1, 2), None, None]
    parquet.write_table(arrow.table(columns), tmp_path / "rows.parquet", row_group_size=2)
    table = read_table(tmp_path / "rows.parquet")
    assert table["text"] == ["A 字.", "", "B"] and table["raw"] == ["x", "y", ""]
    assert table["label"] == ["1", "0", "1"] and table["tags"] == ['["a"]', "[]", ""]
    assert table["price"] == ["1.50", "", "2.00"] and table["day"] == ["2020-01-02", "", ""]
    with pytest.warns(UserWarning, match="no text in 1 of 3 rows, first at row 2"):
        table.texts("text")
    with pytest.raises(ValueError, match="rows.parquet, row 1: the label '1' in column 'label'"):
        table.class_numbers("label", ["0"])
    with pytest.raises(ValueError, match="no column 'body'. Its columns are: text, label, raw"):
        table["body"]
    parquet.write_table(arrow.table({"text": arrow.array([], "string")}), tmp_path / "no.parquet")
    refused("no.parquet has no rows", read_table, tmp_path / "no.parquet")


def test_compressed_files_and_patterns_are_read(tmp_path, refused):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text,label\nA.,1\n"))
    (tmp_path / "a.jsonl.bz2").write_bytes(bz2.compress(b'{"text": "A.", "label": 1}'))
    (tmp_path / "b.json").write_text('{"text": "A.", "label": 1}')
    for name in ("a.csv.gz", "*.bz2", "b.json"):
        table = read_table(tmp_path / name)
        assert table.rows == [["A.", "1"]] and table.columns == ["text", "label"]
    refused(r"a\.\* stands for 2 files: a.csv.gz, a.jsonl.bz2", read_table, tmp_path / "a.*")


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
        ("{}", "line 2: '{}'.*object with keys"),
        ("[" * 5000, r"line 2: '\[\["),
        (f'{{"a": {"9" * 5000}}}', "line 2: .*digits"),
    ],
)
def test_bad_lines_are_refused_or_skipped(write, line, message, refused):
    path = write(f'{{"a": 1}}\n{line}\n{{"a": true}}', "rows.jsonl")
    refused(message, read_table, path)
    table = read_table(path, malformed="skip")
    assert table["a"] == ["1", "true"] and table.malformed == [2]


def test_null_is_empty_and_lists_are_json(write, refused):
    lines = ['{"a": null, "n": 1}', '{"a": ["x", 2], "n": NaN}']
    table = read_table(write("\n".join(lines), "rows.jsonl"))
    assert table["a"] == ["", '["x", 2]']
    refused("no rows", read_table, write("text", "none.jsonl"), malformed="skip")
    refused("line 2: '' in column 'n' is not a finite number", table.scores, "n")
