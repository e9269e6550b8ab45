"""The plan of a corpus: which bytes of which input files go into which shard.

The plan depends only on file names and sizes, so the shards don't depend on which worker writes
them, or when.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_bert.corpus.decoding import detect_encoding
from keras_bert.corpus.text_documents import can_be_cut
from keras_bert.corpus.wikipedia_dump import check_dump
from keras_bert.reports import Reports
from keras_bert.text.vocabulary import vocabulary_sha256

if TYPE_CHECKING:
    from keras_bert.text.tokenizer import BertTokenizer


MIN_SLICE_BYTES = 2**21
MAX_SLICE_BYTES = 2**25
NUM_SLICES = 64  # a large corpus has at least this many, to occupy as many cores

# Approximate bytes of text per byte of the file.
_EXPANSION = {"text": 1, "xml": 1, "xml.bz2": 4}

OTHER_FILES = "files in input folders that are neither .txt nor dumps, skipped"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of `prepare_corpus` that determine the records, for given inputs and tokenizer."""

    text_format: str = "prose"
    document_separator: str | None = None
    language: str = "en"
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Span:
    """Bytes `start` to `stop` of a file; readers move both ends to the next document boundary.

    `document_id` is set if the file is a single document and this span is only one part.
    """

    path: str
    kind: str
    start: int
    stop: int
    size: int
    document_id: int | None = None


@dataclasses.dataclass(frozen=True)
class Slice:
    """Unit of work: the spans that become shard number `index`."""

    index: int
    spans: tuple[Span, ...]

    @property
    def num_bytes(self) -> int:
        """Number of bytes in the input files."""
        return sum(span.stop - span.start for span in self.spans)

    @property
    def num_text_bytes(self) -> int:
        """Approximate number of bytes of text, after decompression."""
        return sum((span.stop - span.start) * _EXPANSION[span.kind] for span in self.spans)


def find_inputs(
    inputs: str | os.PathLike | Iterable[str | os.PathLike], reports: Reports
) -> list[tuple[str, str, int]]:
    """Lists the input files as `(path, kind, size)`; the files of a folder are sorted.

    Raises:
        ValueError: if a file is missing, has an unknown kind or is given twice, or if there are
            no files.
    """
    inputs = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    files, seen = [], set()
    for path in map(os.fspath, inputs):
        if not tf.io.gfile.exists(path):
            raise ValueError(f"The input file {path} does not exist. Check the path.")
        found = _files_below(path, reports) if tf.io.gfile.isdir(path) else [path]
        for name in found:
            name = name if "://" in name else os.path.abspath(name)
            if name in seen:
                raise ValueError(f"{name} is given twice. Give each input once.")
            seen.add(name)
            files.append((name, _kind(name), tf.io.gfile.stat(name).length))
    if not files:
        raise ValueError(
            f"No input files in {', '.join(map(str, inputs)) or 'an empty list'}. Give .txt files, "
            "MediaWiki dumps (.xml, .xml.bz2), or folders that contain such files."
        )
    return files


def plan_slices(files: list[tuple[str, str, int]], settings: Settings) -> list[Slice]:
    """Groups small files and cuts large ones into slices of about the same size.

    Raises:
        ValueError: if a file's content does not match the kind that its name implies.
    """
    total = sum(size * _EXPANSION[kind] for _, kind, size in files)
    slice_bytes = min(max(total // NUM_SLICES, MIN_SLICE_BYTES), MAX_SLICE_BYTES)
    slices, group, group_bytes = [], [], 0

    def close_group():
        nonlocal group, group_bytes
        if group:
            slices.append(Slice(len(slices), tuple(group)))
        group, group_bytes = [], 0

    for path, kind, size in files:
        detect_encoding(path) if kind == "text" else check_dump(path, kind)
        num_parts = -(-size * _EXPANSION[kind] // slice_bytes)
        if num_parts > 1 and (kind != "text" or can_be_cut(path)):
            close_group()
            whole = kind == "text" and settings.text_format == "prose"
            whole = whole and settings.document_separator is None
            document_id = first_document_id(len(slices)) if whole else None
            cuts = [size * part // num_parts for part in range(num_parts + 1)]
            for start, stop in zip(cuts, cuts[1:], strict=False):
                span = Span(path, kind, start, stop, size, document_id)
                slices.append(Slice(len(slices), (span,)))
        else:
            if group_bytes + size * _EXPANSION[kind] > slice_bytes:
                close_group()
            group.append(Span(path, kind, 0, size, size))
            group_bytes += size * _EXPANSION[kind]
    close_group()
    return slices


def first_document_id(slice_index: int) -> int:
    """Returns the id of the first document of a slice; later ids count up from it."""
    return slice_index << 32


def plan_description(slices: list[Slice], settings: Settings, tokenizer: "BertTokenizer") -> dict:
    """Describes everything that the shards depend on: equal descriptions give equal shards."""
    spans = [
        [dataclasses.astuple(span), tf.io.gfile.stat(span.path).mtime_nsec]
        for slice_ in slices
        for span in slice_.spans
    ]
    config = tokenizer.get_config()
    return {
        **dataclasses.asdict(settings),
        **{name: config[name] for name in config if name != "vocabulary"},
        "inputs": hashlib.sha256(json.dumps(spans).encode()).hexdigest(),
        "num_slices": len(slices),
        "vocabulary": vocabulary_sha256(tokenizer.get_vocabulary()),
    }


def _kind(path):
    name = os.path.basename(path).lower()
    if name.endswith(".txt"):
        return "text"
    if name.endswith(".xml"):
        return "xml"
    if name.endswith(".bz2") and ".xml" in name:
        return "xml.bz2"
    raise ValueError(
        f"{path} has an unknown kind: text files end in .txt, MediaWiki dumps in .xml or "
        ".xml*.bz2. Rename it, or decompress it first."
    )


def _files_below(folder, reports):
    found = []
    for parent, _, names in tf.io.gfile.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                _kind(path)
            except ValueError:
                reports.add(OTHER_FILES, 1, path)
            else:
                found.append(path)
    return sorted(found)
