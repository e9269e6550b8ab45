"""Tables: examples that pandas reads, and results."""

import csv
import json
import re
from pathlib import Path

import numpy as np

from keras_bert.files.remote import read_text
from keras_bert.files.whole import whole_file
from keras_bert.messages import did_you_mean, from_extra, is_missing, shown
from keras_bert.readers.separated import separated_rows


def read_table(path):
    """Reads a TSV, CSV, JSONL or Parquet file as a DataFrame; values of TSV and CSV are strings."""
    with from_extra("recipes"):
        import pandas as pd
    endings = Path(str(path).lower()).suffixes  # ".csv.gz" has two
    try:
        if ".parquet" in endings:
            table = pd.read_parquet(path)
        elif ".jsonl" in endings:
            lines = read_text(path).split("\n")
            table = pd.DataFrame([json.loads(x) for x in lines if x.strip()], dtype=object)
        else:
            mark = "," if ".csv" in endings else "\t"
            rows, malformed = separated_rows(str(path), mark, quoting=True)
            for line, wrong in malformed:
                raise ValueError(f"line {line}: {wrong}")
            table = pd.DataFrame([row for _, row in rows[1:]], columns=rows[0][1], dtype=str)
    except (ValueError, RecursionError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} can't be read: {error}") from error
    if table.empty:
        raise ValueError(f"{path} has no rows below its header.")
    table.attrs["path"] = str(path)
    return table


def write_table(path, rows):
    """Writes rows of cells, the first of them the header, as CSV or, by another ending, TSV."""
    delimiter = "," if str(path).endswith(".csv") else "\t"
    with whole_file(path) as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)


def column(table, name):
    """Returns a column as a list; a ValueError names the file and the closest column."""
    if name not in table:
        raise ValueError(
            f"{table.attrs['path']} has no column {name!r}. Its columns are: "
            f"{', '.join(map(str, table))}.{did_you_mean(name, list(table))}"
        )
    return table[name].tolist()


def filled(table, template):
    """Returns a text for each row: a template with the names of columns in braces."""
    try:
        cells = table.map(lambda cell: "" if is_missing(cell) else cell)
        return [template.format(**row) for row in cells.to_dict("records")]
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise ValueError(
            f"The template {template!r} doesn't fit {table.attrs['path']} ({error!r}). Write names "
            f"of columns in braces; the columns are: {', '.join(map(str, table))}."
        ) from error


def classes(table, name, names=None):
    """Returns a column of labels, str, and the classes: `names`, or those of the column, sorted."""
    labels = ["" if is_missing(label) else str(label) for label in column(table, name)]
    labels = [re.sub(r"^(-?\d+)\.0$", r"\1", label) for label in labels]  # 1.0 is another file's 1
    known = names or sorted(set(labels))
    if not names and all(map(str.isdecimal, known)):
        known.sort(key=int)
    for row, label in enumerate(labels, 1):
        if not label or label not in known:
            raise ValueError(
                f"{table.attrs['path']}, row {row}: the label {label!r} in column {name!r} is none "
                f"of the classes {shown(known)}. Fix the row, or add the class to training."
            )
    return labels, known


def label_lists(table, name):
    """Splits a column of several labels, `a|b`; lists of JSON and Parquet stay."""
    lists = []
    for cell in column(table, name):
        cell = "" if is_missing(cell) else cell
        labels = cell.split("|") if isinstance(cell, str) else cell
        lists.append([str(label).strip() for label in labels if str(label).strip()])
    return lists


def numbers(table, name):
    """Returns a column as finite numbers, `[n]` float32."""
    import pandas as pd

    cells = column(table, name)
    array = pd.to_numeric(table[name], errors="coerce").to_numpy("float32")
    for row in np.flatnonzero(~np.isfinite(array)):
        raise ValueError(
            f"{table.attrs['path']}, row {row + 1}: {cells[row]!r} in column {name!r} is not a "
            "finite number. Fix the row, or remove it."
        )
    return array
