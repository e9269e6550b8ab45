"""Reader of rows of fields, separated by tabs or commas."""

import csv
import io

from keras_bert.files.remote import read_text
from keras_bert.messages import shown


def separated_rows(
    path: str, delimiter: str, quoting: bool
) -> tuple[list[tuple[int, list[str]]], list[tuple[int, str]]]:
    """Reads a file's rows, each with the line where it starts; blank lines are left out.

    Returns:
        `(rows, malformed)`: the rows that have as many fields as the first, and for each of the
        others its line and what is wrong.

    Raises:
        ValueError: if the file is empty or not UTF-8, or a quote isn't closed.
    """
    reader = csv.reader(
        io.StringIO(read_text(path), newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=quoting,
    )
    rows = []
    malformed = []
    line = 1
    try:
        for row in reader:
            width = len(rows[0][1]) if rows else len(row)
            if len(row) == width and row:
                rows.append((line, row))
            elif row:
                wrong = f"{len(row)} columns, but the first row has {width}: {shown(row, 120)}"
                malformed.append((line, wrong))
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line}: malformed row ({error}).") from error
    if not rows:
        raise ValueError(f"{path} is empty.")
    return rows, malformed
