"""Minimal pairs, in the formats of BLiMP and Zorro: read, and scored."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from _tables import column, read_table
from keras_bert.files.remote import read_text


def read_minimal_pairs(
    path: str | os.PathLike, limit: int | None = None
) -> dict[str, tuple[list[str], list[str]]]:
    r"""Reads pairs of a good and a bad sentence that differ in one point of grammar.

    Each file holds the pairs of one paradigm. BLiMP's (Warstadt et al. 2020) are `.jsonl`, with the
    keys `sentence_good` and `sentence_bad`; a `.tsv` or `.csv` may have columns of these names.
    Zorro's (Huebner et al. 2021) are `.txt`, where bad and good sentences take turns.

    Args:
        path: a file, or a folder of them.
        limit: int, the first pairs of each file to read; None for all.

    Returns:
        `{paradigm: (good, bad)}`, two lists of str for each file; its name is the paradigm's.

    Raises:
        ValueError: if there is no such file, a file lacks a column, or a `.txt` has an odd number
            of lines. The message names the file.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "agreement.txt")
    >>> with open(path, "w") as file:
    ...     print("it rain .\nit rains .", file=file)
    >>> read_minimal_pairs(path)
    {'agreement': (['it rains .'], ['it rain .'])}
    """
    path = Path(path)
    endings = (".jsonl", ".tsv", ".csv", ".txt")
    is_folder = path.is_dir()
    files = sorted(f for f in path.iterdir() if f.suffix in endings) if is_folder else [path]
    if not files or not path.exists():
        raise ValueError(
            f"{path} has no minimal pairs. Give a file of BLiMP (.jsonl) or Zorro (.txt), or a "
            "folder of them."
        )
    pairs = {}
    for file in files:
        if file.suffix == ".txt":
            bad, good = _read_turns(file)
        else:
            table = read_table(file)
            good, bad = column(table, "sentence_good"), column(table, "sentence_bad")
        pairs[file.stem] = good[:limit], bad[:limit]
    return pairs


def _read_turns(path):
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not lines or len(lines) % 2:
        raise ValueError(f"{path} has {len(lines)} sentences. Bad and good ones must take turns.")
    return lines[::2], lines[1::2]


def minimal_pair_accuracy(model: Any, good: list, bad: list, batch_size: int) -> float:
    """Computes the share of pairs in which the acceptable text is more probable; ties are half."""
    from _likelihoods import score_texts  # imports Keras, which reading needs not

    scores = score_texts(model, [*good, *bad], batch_size)
    likelihoods = np.reshape([score["log_likelihood"] for score in scores], (2, -1))
    difference = likelihoods[0] - likelihoods[1]
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))
