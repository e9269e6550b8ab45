"""The plan of a corpus: which bytes of which input files go into which shard.

The plan depends only on file names and sizes, so the shards don't depend on which worker writes
them, or when.
"""

import dataclasses
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable

from keras_bert.corpus.rows import JsonLinesReader, ParquetReader
from keras_bert.corpus.slices import Reader, Settings, Slice, Span, first_document_id
from keras_bert.corpus.text_documents import TextReader
from keras_bert.files.remote import files_at, is_remote, size_and_time
from keras_bert.reports import Reports
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import vocabulary_sha256

MIN_SLICE_BYTES = 2**21
MAX_SLICE_BYTES = 2**25
NUM_SLICES = 64  # a large corpus has at least this many, to occupy as many cores

READERS: tuple[Reader, ...] = (TextReader(), JsonLinesReader(), ParquetReader())
KINDS = "texts (.txt, .jsonl; perhaps compressed: .gz, .bz2, .zst) and .parquet"

OTHER_FILES = "files in input folders that are neither texts nor rows, skipped"
REPEATED = "files that are inputs already, and links to them, skipped"


def find_inputs(
    inputs: str | os.PathLike | Iterable[str | os.PathLike], reports: Reports
) -> list[Span]:
    """Lists the input files as spans; the files of a folder are sorted."""
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    inputs = [os.fspath(path) for path in inputs]
    files = []
    targets = set()
    for path in inputs:
        for name in files_at(path):
            reader = _reader(name)
            if reader is None:
                if name == path:
                    raise ValueError(
                        f"{name} has an unknown kind or compression. Inputs are {KINDS}. Rename "
                        "it, or decompress it first."
                    )
                reports.add(OTHER_FILES, 1, name)
                continue
            target = name
            if not is_remote(name):
                name = os.path.abspath(name)
                target = os.path.realpath(name)
            if target in targets:
                reports.add(REPEATED, 1, name)
                continue
            targets.add(target)
            state = size_and_time(name)
            if state is None:
                raise ValueError(f"{name} is a link to a file that doesn't exist. Remove it.")
            size, _ = state
            files.append(Span(name, reader, 0, size, size))
    if not files:
        raise ValueError(
            f"No input files in {', '.join(inputs) or 'an empty list'}. Inputs are "
            f"{KINDS}, or folders of these."
        )
    return files


def _reader(path):
    name = os.path.basename(path).lower()
    for reader in READERS:
        if re.search(reader.names, name):
            return reader
    return None


def plan_slices(files: list[Span], settings: Settings) -> list[Slice]:
    """Groups small files and cuts large ones into slices of about the same size."""
    total = sum(file.text_bytes for file in files)
    slice_bytes = min(max(total // NUM_SLICES, MIN_SLICE_BYTES), MAX_SLICE_BYTES)
    groups = []  # the spans of each slice
    room = -1  # bytes, in the last slice
    for file in files:
        can_be_cut = file.reader.can_be_cut(file.path)
        num_parts = -(-file.text_bytes // slice_bytes)
        if num_parts > 1 and can_be_cut:
            if file.reader.is_one_document and settings.separator is None:
                file = dataclasses.replace(file, document_id=first_document_id(len(groups)))
            cuts = [file.size * part // num_parts for part in range(num_parts + 1)]
            for start, stop in itertools.pairwise(cuts):
                groups.append([dataclasses.replace(file, start=start, stop=stop)])
            room = -1
            continue
        if file.text_bytes > room:
            groups.append([])
            room = slice_bytes
        groups[-1].append(file)
        room -= file.text_bytes
    return [Slice(index, tuple(spans)) for index, spans in enumerate(groups)]


def plan_description(
    slices: list[Slice],
    settings: Settings,
    tokenizer: BertTokenizer,
) -> dict:
    """Describes everything that the shards depend on: equal descriptions give equal shards."""
    bounds = []
    for slice_ in slices:
        for span in slice_.spans:
            _, changed = size_and_time(span.path)
            bounds.append([span.path, span.start, span.stop, changed])
    config = tokenizer.get_config()
    vocabulary = config.pop("vocabulary")
    return {
        **dataclasses.asdict(settings),
        **config,
        "inputs": hashlib.sha256(json.dumps(bounds).encode()).hexdigest(),
        "num_slices": len(slices),
        "vocabulary": vocabulary_sha256(vocabulary),
    }
