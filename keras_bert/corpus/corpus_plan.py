"""The plan of a corpus: which bytes of which input files go into which shard.

Made from names and sizes only, so that the shards do not depend on who writes them, or when.
"""

import dataclasses
import hashlib
import json
import os
import re

import tensorflow as tf

from keras_bert.corpus.decoding import detect_encoding
from keras_bert.corpus.shards import vocabulary_sha256
from keras_bert.corpus.text_documents import TEXT_FORMATS, can_be_cut
from keras_bert.corpus.wikipedia_dump import check_dump

MIN_SLICE_BYTES = 2**21
MAX_SLICE_BYTES = 2**25
NUM_SLICES = 64  # a large corpus has at least so many, for as many cores

# About how many bytes of text a byte of the file holds.
_EXPANSION = {"text": 1, "xml": 1, "xml.bz2": 4}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the records depend on, beside input and tokenizer; see `prepare_corpus`."""

    text_format: str = "prose"
    document_separator: str | None = None
    language: str = "en"
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Span:
    """Bytes `start` to `stop` of a file, to be moved to the next document boundaries.

    `document_id` is set where the file is one document and this is a part of it.
    """

    path: str
    kind: str
    start: int
    stop: int
    size: int
    document_id: int | None = None


@dataclasses.dataclass(frozen=True)
class Slice:
    """The unit of work: the spans that become shard number `index`."""

    index: int
    spans: tuple[Span, ...]

    @property
    def num_bytes(self):
        """Bytes of input."""
        return sum(span.stop - span.start for span in self.spans)

    @property
    def num_text_bytes(self):
        """About how many bytes these are unpacked."""
        return sum((span.stop - span.start) * _EXPANSION[span.kind] for span in self.spans)


def check_settings(settings):
    """Raises a ValueError for settings that no corpus can be made with."""
    if settings.text_format not in TEXT_FORMATS:
        raise ValueError(
            f"text_format must be one of {', '.join(TEXT_FORMATS)}; it is "
            f"{settings.text_format!r}. 'sentences' is a sentence a line with a blank line "
            "between documents; 'prose' is anything else."
        )
    if settings.document_separator is not None:
        if settings.text_format == "sentences":
            raise ValueError(
                "document_separator is for text_format='prose'; with 'sentences' a blank line "
                "ends a document. Leave it out."
            )
        try:
            re.compile(settings.document_separator)
        except re.error as error:
            raise ValueError(
                f"document_separator {settings.document_separator!r} is not a regular "
                f"expression: {error}"
            ) from error


def find_inputs(inputs, reports):
    """Files named by `inputs`, as `(path, kind, size)`; folders give what they hold, sorted.

    Raises:
        ValueError: for files that are missing, of an unknown kind, given twice, or none at all.
    """
    inputs = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    files, seen = [], set()
    for path in map(os.fspath, inputs):
        if not tf.io.gfile.exists(path):
            raise ValueError(f"There is no input file {path}. Check the path.")
        found = _files_below(path, reports) if tf.io.gfile.isdir(path) else [path]
        for name in found:
            name = name if "://" in name else os.path.abspath(name)
            if name in seen:
                raise ValueError(f"{name} is given twice. Name each input once.")
            seen.add(name)
            files.append((name, _kind(name), tf.io.gfile.stat(name).length))
    if not files:
        raise ValueError(
            f"No input files in {', '.join(map(str, inputs)) or 'an empty list'}: give .txt files, "
            "MediaWiki dumps (.xml, .xml.bz2), or folders that hold some."
        )
    return files


def plan_slices(files, settings):
    """Groups small files and cuts huge ones into slices of about the same size.

    Raises:
        ValueError: when a file is not what its name says.
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


def first_document_id(slice_index):
    """Ids of the documents that begin in a slice count up from here."""
    return slice_index << 32


def plan_description(slices, settings, tokenizer):
    """What a corpus was, or is to be, made from; two plans with equal ones give equal shards."""
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
        f"{path} is of no known kind: text files end in .txt, MediaWiki dumps in .xml or "
        ".xml*.bz2. Rename it, or unpack it first."
    )


def _files_below(folder, reports):
    found = []
    for parent, _, names in tf.io.gfile.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                _kind(path)
            except ValueError:
                reports.add("files in input folders that are not .txt or dumps, left out", 1, path)
            else:
                found.append(path)
    return sorted(found)
