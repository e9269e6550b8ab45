"""Files of examples: rows of texts and labels, in columns that have names."""

import csv
import difflib
import io
import itertools
import os
import sys

import numpy as np

from keras_bert.files.utf8 import read_utf8


class Table:
    """What `read_table` gives: columns of strings, and where each row stands in its file.

    `table["text"]` is a column, a list of strings; `len(table)` the number of rows.

    Args:
        path: the file it comes from, for messages.
        columns: list of str, the names.
        rows: list of lists of str, each as long as `columns`.
        lines: list of int, the line in the file at which each row begins.
        malformed: list of int, the lines of rows that were passed over.

    Raises:
        ValueError: on a column that isn't there, with those that are.
    """

    def __init__(self, path, columns, rows, lines, malformed=()):
        self.path = path
        self.columns = columns
        self.lines = lines
        self.malformed = list(malformed)
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def __contains__(self, column):
        return column in self.columns

    def __getitem__(self, column):
        if column not in self.columns:
            raise ValueError(
                f"{self.path} has no column {column!r}. Its columns are: "
                f"{', '.join(self.columns)}.{_suggestion(column, self.columns)}"
            )
        position = self.columns.index(column)
        return [row[position] for row in self._rows]

    def class_names(self, column):
        """The different values of a column of labels, sorted; numbers by their size.

        Args:
            column: str, its name.

        Returns:
            A list of str.

        Raises:
            ValueError: if the column isn't there, or a label is empty.
        """
        labels = self[column]
        if "" in labels:
            raise ValueError(
                f"{self.path}, line {self.lines[labels.index('')]}: the label in column "
                f"{column!r} is empty. Give the row a label or remove it."
            )
        names = set(labels)
        numbers = all(name.isdecimal() for name in names)
        return sorted(names, key=(lambda name: (int(name), name)) if numbers else None)

    def class_numbers(self, column, names):
        """A column of labels as the places of its values in `names`.

        Args:
            column: str, its name.
            names: list of str, the classes.

        Returns:
            `[n]` int32.

        Raises:
            ValueError: at the first label that `names` lacks, with its line and the known ones.
        """
        numbers = {name: number for number, name in enumerate(names)}
        for line, label in zip(self.lines, self[column], strict=True):
            if label not in numbers:
                raise ValueError(
                    f"{self.path}, line {line}: the label {label!r} in column {column!r} is none "
                    f"of the {len(names)} classes: {', '.join(names)}."
                    f"{_suggestion(label, names)} Mend the row, or train with this class too."
                )
        return np.array([numbers[label] for label in self[column]], "int32")

    def scores(self, column):
        """A column of numbers, for regression.

        Args:
            column: str, its name.

        Returns:
            `[n]` float32.

        Raises:
            ValueError: at the first value that is not a finite number, with its line.
        """
        return self.numbers([column])[:, 0]

    def numbers(self, columns):
        """Columns of numbers, side by side.

        Args:
            columns: list of str, K names.

        Returns:
            `[n, K]` float32.

        Raises:
            ValueError: at the first value that is not a finite number, with its line.
        """
        values = np.zeros((len(self), len(columns)), "float32")
        for number, column in enumerate(columns):
            for row, text in enumerate(self[column]):
                try:
                    values[row, number] = float(text)
                except ValueError:
                    values[row, number] = np.nan
                if not np.isfinite(values[row, number]):
                    raise ValueError(
                        f"{self.path}, line {self.lines[row]}: {text!r} in column {column!r} is "
                        "not a finite number. Mend the row, or leave it out."
                    )
        return values

    def label_lists(self, column, separator="|"):
        """A column of several labels a row.

        Args:
            column: str, its name.
            separator: str, what stands between labels.

        Returns:
            A list of lists of str; of an empty cell an empty one.
        """
        parts = (cell.split(separator) for cell in self[column])
        return [[part.strip() for part in row if part.strip()] for row in parts]


def read_table(path, *, header=True, delimiter=None, quoting=None, malformed="error"):
    r"""Reads a TSV or CSV file of examples.

    A byte order mark and any line ends are read right; blank lines are passed over (but where
    there is one column, they are empty texts).

    Args:
        path: the file; anything that `tf.io.gfile` opens. UTF-8.
        header: bool, whether the first row names the columns. If not, they are named "0", "1",
            ..., as the files of GLUE need it.
        delimiter: str; by default "," for a name that ends in `.csv` and a tab for others.
        quoting: bool, whether fields may stand in double quotes. By default, as with CSV files
            always. TSV files come both ways: one is taken as quoted if that gives all rows the
            same number of columns, and as unquoted if only that does.
        malformed: what becomes of a row with more or fewer columns than the first: `"error"`, or
            `"skip"`, to pass over it; the `Table`'s `malformed` then lists its line.

    Returns:
        A `Table`.

    Raises:
        ValueError: if the file is not UTF-8, is empty or has but a header, repeats a column's
            name, can be read in two ways, or has a malformed row; with file and line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.csv")
    >>> with open(path, "w") as file:
    ...     print('text,label\n"Good, but long.",1\nBad.,0', file=file)
    >>> read_table(path)["text"]
    ['Good, but long.', 'Bad.']
    """
    path = os.fspath(path)
    if malformed not in ("error", "skip"):
        raise ValueError(f"malformed must be 'error' or 'skip'; got {malformed!r}.")
    text = _read_text(path)
    if delimiter is None:
        delimiter = "," if path.lower().endswith(".csv") else "\t"
    if quoting is None and (delimiter == "," or '"' not in text):
        quoting = delimiter == ","
    if quoting is None and malformed == "skip":
        raise ValueError(
            f"{path} has double quotes, and whether they enclose fields decides which rows are "
            "malformed. With malformed='skip', say quoting=True or quoting=False."
        )
    if quoting is None:
        rows, lines, skipped = _read_either(path, text, delimiter)
    else:
        rows, lines, skipped = _parse(path, text, delimiter, quoting, malformed)
    if not header:
        columns = [str(number) for number in range(len(rows[0]))]
        return Table(path, columns, rows, lines, skipped)
    if len(rows) == 1:
        raise ValueError(
            f"{path} has no rows below its header: {_shortened(rows[0])}."
            + (f" {len(skipped)} have another number of columns." if skipped else "")
        )
    columns = [name.strip() for name in rows[0]]
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{path}: two columns are named {repeated[0]!r} in the header: {', '.join(columns)}. "
            "Give each a name of its own, or read the file with header=False."
        )
    return Table(path, columns, rows[1:], lines[1:], skipped)


def _read_text(path):
    text = read_utf8(path)
    if not text.strip():
        raise ValueError(f"{path} is empty: a row of column names and rows of examples are needed.")
    return text


def _read_either(path, text, delimiter):
    """The rows of a file that may or may not quote."""
    readings, errors = [], []
    for quoting in (True, False):
        try:
            readings.append(_parse(path, text, delimiter, quoting))
        except ValueError as error:
            errors.append(str(error))
    if not readings:
        raise ValueError(
            f"{path} is malformed, read with quotes and without.\n  With quotes: {errors[0]}\n"
            f"  Without: {errors[1]}"
        )
    if len(readings) == 2 and readings[0][1] != readings[1][1]:
        pairs = itertools.zip_longest(readings[0][1], readings[1][1])
        line = next(unquoted for quoted, unquoted in pairs if quoted != unquoted)
        raise ValueError(
            f"{path} can be read in two ways: with {len(readings[0][0])} rows if double quotes "
            f"enclose fields, and with {len(readings[1][0])} if not (they part at line {line}). "
            "Say which with quoting=True or quoting=False."
        )
    return readings[0]


def _parse(path, text, delimiter, quoting, malformed="error"):
    """`(rows, lines, skipped)`: lists of fields, the line of each, and of what was passed over."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=quoting,
    )
    rows, lines, skipped, line = [], [], [], 1
    limit = csv.field_size_limit(sys.maxsize)  # texts may be of any length
    try:
        for row in reader:
            if not row and rows and len(rows[0]) == 1:
                row = [""]
            is_malformed = bool(row and rows) and len(row) != len(rows[0])
            if is_malformed and malformed == "error":
                raise ValueError(
                    f"{path}, line {line}: {len(row)} columns where the first row has "
                    f"{len(rows[0])}: {_shortened(row)}. Mend the row, or check the delimiter "
                    f"({delimiter!r}) and the quotes."
                )
            if is_malformed:
                skipped.append(line)
            elif row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {line}: malformed row ({error}). A double quote within a quoted field "
            "is written twice; if quotes have no meaning in this file, read it with quoting=False."
        ) from error
    finally:
        csv.field_size_limit(limit)
    return rows, lines, skipped


def _suggestion(name, names):
    folded = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def _shortened(row):
    shown = repr(row)
    return shown if len(shown) <= 120 else shown[:117] + "..."
