"""Reader of TSV, CSV, JSONL and Parquet files: rows of texts and labels in named columns."""

import contextlib
import csv
import dataclasses
import json
import os
import re
import warnings

import numpy as np

from keras_bert.files.parquet import class_names_in, parquet_rows
from keras_bert.files.remote import files_at, packing, read_text
from keras_bert.messages import check_one_of, did_you_mean, is_missing, shortened, shown

_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+")


@dataclasses.dataclass(repr=False, eq=False)
class Table:
    """Columns of strings from `read_table`, with the line of each row, or its number in Parquet.

    `table["text"]` is a column, a list of strings; `len(table)` is the number of rows.

    Args:
        path: str, the file.
        columns: the names of the columns.
        rows: lists of strings.
        lines: the line in the file where each row starts.
        malformed: the lines of skipped rows.
        unit: what `lines` counts, `"line"` or `"row"`.
    """

    path: str
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
    malformed: list[int]
    unit: str = "line"

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        skipped = f"; skipped malformed rows: {len(self.malformed):,}" if self.malformed else ""
        columns = shortened(", ".join(self.columns))
        return f"Table({self.path!r}: {len(self):,} rows; columns {columns}{skipped})"

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def __getitem__(self, column: str) -> list[str]:
        if column not in self.columns:
            raise ValueError(
                f"{self.path} has no column {column!r}. Its columns are: "
                f"{', '.join(shortened(name) for name in self.columns)}."
                f"{did_you_mean(column, self.columns)}{_delimiter_hint(self.columns)}"
            )
        position = self.columns.index(column)
        return [row[position] for row in self.rows]

    def error(self, row: int, message: str) -> ValueError:
        """Returns a ValueError that names the file and the line of a row."""
        return ValueError(f"{self.path}, {self.unit} {self.lines[row]}: {message}")

    def texts(self, column: str) -> list[str]:
        """Returns a column, with a warning if some of its texts are empty: `[CLS] [SEP]`."""
        texts = self[column]
        empty = [row for row, text in enumerate(texts) if not text.strip()]
        if empty:
            first = self.lines[empty[0]]
            warnings.warn(
                f"{self.path}: column {column!r} has no text in {len(empty):,} of {len(self):,} "
                f"rows, first at {self.unit} {first}. The model reads these as empty texts.",
                stacklevel=2,
            )
        return texts

    def class_names(self, column: str) -> list[str]:
        """Lists the distinct values of a column of labels, sorted, with numbers sorted by value.

        "1.0" and "1" are one class, and so are "True" and "true"; its name is the first of them.
        """
        labels = self[column]
        if "" in labels:
            message = f"the label in column {column!r} is empty. Fill it, or remove the row."
            raise self.error(labels.index(""), message)
        spelled = {_class_of(label): label for label in reversed(labels)}
        names = sorted(spelled)
        if all(map(str.isdecimal, names)):
            names.sort(key=int)
        return [spelled[name] for name in names]

    def class_numbers(self, column: str, names: list[str]) -> np.ndarray:
        """Converts a column of labels to their indices in `names`, `[n]` int32.

        Raises:
            ValueError: at the first label missing from `names`, with its line and the classes.
        """
        indices = {_class_of(name): index for index, name in enumerate(names)}
        numbers = []
        for row, label in enumerate(self[column]):
            index = indices.get(_class_of(label))
            if index is None:
                classes = f"{len(names)} classes: {', '.join(names)}.{did_you_mean(label, names)}"
                wrong = f"the label {label!r} in column {column!r} is none of the {classes}"
                raise self.error(row, f"{wrong} Fix the row, or add the class to training.")
            numbers.append(index)
        return np.array(numbers, "int32")

    def scores(self, column: str) -> np.ndarray:
        """Converts a column to finite numbers, `[n]` float32, for regression."""
        return self.numbers([column])[:, 0]

    def numbers(self, columns: list[str]) -> np.ndarray:
        """Converts K columns to numbers, `[n, K]` float32.

        Raises:
            ValueError: at the first value that is not a finite number, with its line.
        """
        arrays = []
        for column in columns:
            cells = self[column]
            numbers = np.array(list(map(_float, cells)))
            with np.errstate(over="ignore"):  # beyond float32 is infinite
                numbers = numbers.astype("float32")
            for row in np.flatnonzero(~np.isfinite(numbers)):
                wrong = f"{cells[row]!r} in column {column!r} is not a finite number"
                raise self.error(row, f"{wrong}. Fix the row, or remove it.")
            arrays.append(numbers)
        return np.stack(arrays, axis=1)

    def label_lists(self, column: str, separator: str = "|") -> list[list[str]]:
        """Splits a column of several labels per row; an empty cell gives an empty list.

        In JSONL and Parquet files, a cell may also be a list.
        """
        lists = []
        for cell in self[column]:
            labels = [label.strip() for label in _split_cell(cell, separator)]
            lists.append([label for label in labels if label])
        return lists


def read_table(
    path: str | os.PathLike,
    *,
    header: bool = True,
    delimiter: str | None = None,
    quoting: bool = True,
    malformed: str = "error",
    encoding: str = "utf-8",
) -> Table:
    r"""Reads a TSV, CSV, JSONL, JSON or Parquet file of examples.

    Blank lines are skipped, except in files of one column, where they are empty texts. A `.jsonl`
    or `.json` file has a JSON object in each line, or all of them in a list, perhaps under a key of
    its own. Their keys are the columns; one that is missing is an empty text. There and in a
    `.parquet` file, null is an empty text and a list its JSON; class numbers that Hugging Face's
    `datasets` wrote are their names.

    Args:
        path: the file of text, perhaps compressed (.gz, .bz2, .zst), or of Parquet; any
            path that `tf.io.gfile` can open, or `hf://datasets/user/name@revision/file` in a data
            set of the Hugging Face Hub. A pattern, such as `data/train-*.parquet`, must match one.
        header: bool, whether the first row names the columns. Those without a name are "0", "1",
            ..., by their place.
        delimiter: str; by default "," if the name ends in `.csv`, otherwise a tab.
        quoting: bool, whether double quotes may enclose fields. Pass False for files whose quotes
            are plain characters, such as GLUE's.
        malformed: `"error"`, or `"skip"` to skip rows with other columns than the first;
            the `Table`'s `malformed` then lists their lines.
        encoding: str, of files of text, such as "cp1252". UTF-16 is known by its mark.

    Returns:
        A `Table`.

    Raises:
        ValueError: if the file is in another encoding, is empty or has only a header, repeats a
            column's name, or has a malformed row. The message names the file and line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.csv")
    >>> with open(path, "w") as file:
    ...     print('text,label\n"Good, but long.",1\nBad.,0', file=file)
    >>> read_table(path)["text"]
    ['Good, but long.', 'Bad.']
    """
    check_one_of("malformed", malformed, ("error", "skip"))
    paths = files_at(os.fspath(path))
    if len(paths) != 1:
        names = shortened(", ".join(map(os.path.basename, paths)), 400)
        raise ValueError(f"{path} stands for {len(paths)} files: {names}. Give one of them.")
    [path] = paths
    name = path.lower().removesuffix(packing(path))
    table = Table(path, [], [], [], [])
    if name.endswith(".parquet"):
        table.unit = "row"
        header = True
        parsed = _parquet(path)
    else:
        text = read_text(path, encoding)
        if not text or text.isspace():
            raise ValueError(
                f"{path} is empty. It needs a row of column names and rows of examples."
            )
        if name.endswith((".jsonl", ".json")):
            header = True
            parsed = _json(path, text)
        else:
            default = "," if name.endswith(".csv") else "\t"
            parsed = _csv(path, text, delimiter or default, quoting)
    for line, row, wrong in parsed:
        if wrong is None:
            table.rows.append(row)
            table.lines.append(line)
        elif malformed == "error":
            raise ValueError(f"{path}, line {line}: {wrong}")
        else:
            table.malformed.append(line)
    if header:
        _take_header(table)
    else:
        table.columns = [str(index) for index in range(len(table.rows[0]))]
    return table


def _parquet(path):
    """Yields, like `_json`, a header and the rows of a Parquet file."""
    class_names = class_names_in(path)
    for number, _, row in parquet_rows(path):
        if number == 1:
            yield 0, list(row), None
        for column, names in class_names.items():
            if column in row:
                row[column] = _named(row[column], names)
        yield number, list(map(_cell, row.values())), None


def _named(value, names):
    """Returns the name of a class number, None for a missing one; or those of a list."""
    if isinstance(value, list):
        return [_named(number, names) for number in value]
    if not isinstance(value, int) or value >= len(names):
        return value
    return None if value < 0 else names[value]


def _take_header(table):
    if len(table.rows) < 2:
        header = shown(table.rows[0] if table.rows else [], 120)
        skipped = f" Malformed rows: {len(table.malformed)}." if table.malformed else ""
        raise ValueError(f"{table.path} has no rows below its header: {header}.{skipped}")
    table.columns = [name.strip() or str(n) for n, name in enumerate(table.rows.pop(0))]
    del table.lines[0]
    for name in table.columns:
        if table.columns.count(name) > 1:
            raise ValueError(
                f"{table.path}: two columns are named {name!r} in the header: "
                f"{', '.join(table.columns)}. Rename one, or read the file with header=False."
            )


def _class_of(label):
    """Returns what the writings of a class have in common."""
    if label.lower() in ("true", "false"):
        return label.lower()
    return label[:-2] if re.fullmatch(r"-?\d+\.0", label) else label


def _float(text):
    try:
        return float(text if "_" not in text else "nan")  # Python reads 1_0 as 10
    except ValueError:
        return np.nan


def _cell(value):
    """Returns a value of Parquet or JSON as text, "" for a missing one."""
    if is_missing(value):
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, (bool, int, float, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=_cell)
    return str(value)


def _split_cell(cell, separator):
    if cell.startswith("["):  # perhaps a list, which `_cell` wrote
        with contextlib.suppress(ValueError):
            return list(map(_cell, json.loads(cell)))
    return cell.split(separator)


def _csv(path, text, delimiter, quoting):
    """Yields `(line, fields, what is wrong with them)` of each row; the last is None if nothing."""
    reader = csv.reader(
        map(re.Match.group, _LINE.finditer(text)),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=quoting,
    )
    first = []
    line = 1
    limit = csv.field_size_limit(2**31 - 1)  # the most of a C long on Windows
    try:
        for row in reader:
            if not row and len(first) == 1:
                row = [""]  # an empty text
            first = first or row
            row = _of_width(row, first)
            if row and len(row) == len(first):
                yield line, row, None
            elif row:
                wrong = f"{len(row)} columns, but the first row has {len(first)}: {shown(row, 120)}"
                advice = f"Fix the row, or check the delimiter ({delimiter!r}) and the quotes."
                yield line, row, f"{wrong}. {advice}"
            line = reader.line_num + 1
    except csv.Error as error:
        advice = _delimiter_hint(first) or (
            " Double a quote inside a quoted field; if quotes have no meaning in this file, read "
            "it with quoting=False."
        )
        raise ValueError(f"{path}, line {line}: malformed row ({error}).{advice}") from error
    finally:
        csv.field_size_limit(limit)


def _of_width(row, first):
    """Drops empty fields that the first row lacks at its end, and adds those that are empty there.

    Separators at the end of lines make them.
    """
    width = len(first)
    if any(row[width:]) or any(first[len(row) :]):
        return row
    return [*row[:width], *first[len(row) :]]


def _json(path, text):
    """Yields, like `_csv`, a header of all keys, and objects of JSON; strings are kept."""
    columns = {}
    rows = []
    for number, line, row in _values(path, text):
        wrong = None
        if not isinstance(row, dict) or not row:
            reason = row if isinstance(row, Exception) else "no JSON object with keys"
            wrong = f"{shown(line)}: {reason}. Each line needs an object, whose keys are columns."
            row = {}
        columns |= dict.fromkeys(row)
        rows.append((number, row, wrong))
    yield 1, list(columns), None
    for number, row, wrong in rows:
        yield number, [_cell(row.get(name)) for name in columns], wrong


def _values(path, text):
    """Yields `(number, line, value)` of each item of a list, or of each line; or an error of it."""
    content = None
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(text)
    if isinstance(content, dict):
        lists = {key: rows for key, rows in content.items() if _holds_objects(rows)}
        if len(lists) > 1:
            raise ValueError(f"{path} has several lists, {', '.join(lists)}: save one of them.")
        if not lists and "\n" in text.strip():
            keys = shown(list(content), 120)
            raise ValueError(f"{path} is an object of {keys}, none of them a list of objects.")
        content = next(iter(lists.values()), None)
    if _holds_objects(content):
        for number, row in enumerate(content, start=1):
            yield number, str(row), row
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            value = error
        yield number, line, value


def _holds_objects(rows):
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)


def _delimiter_hint(header):
    """Returns advice for a header of one column that other characters seem to separate."""
    for mark in "\t;," if len(header) == 1 else "":
        if mark in header[0]:
            return (
                f" The first line holds {mark!r}: if that separates the columns, read the file "
                f"with delimiter={mark!r}, or save it with commas as .csv or with tabs as .tsv."
            )
    return ""
