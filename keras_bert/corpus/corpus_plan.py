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
from collections.abc import Iterable, Iterator, Set

from keras_bert.corpus.documents import Settings, by_document
from keras_bert.corpus.row_files import JsonLinesSpan, ParquetSpan
from keras_bert.corpus.shards import shard_name
from keras_bert.corpus.text_files import Span, TextSpan
from keras_bert.files.remote import files_at, is_remote, size_and_time
from keras_bert.reports import Reports
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import vocabulary_sha256

MIN_SLICE_BYTES = 2**21
MAX_SLICE_BYTES = 2**25
ID_BITS = 32  # of the number of a document in its slice
NUM_SLICES = 64  # a large corpus has at least this many, to occupy as many cores

KINDS = {  # by a regular expression that is found in a file's name, in lower case
    r"(?<!^vocab)\.txt(\.gz|\.bz2|\.zst)?$": TextSpan,  # a vocabulary is no text
    r"\.jsonl$|\.jsonl?(\.gz|\.bz2|\.zst)$": JsonLinesSpan,
    r"\.parquet$": ParquetSpan,
}
KIND_NAMES = "texts (.txt, .jsonl; perhaps compressed: .gz, .bz2, .zst) and .parquet"

OTHER_FILES = "files in input folders that are neither texts nor rows, skipped"
REPEATED = "files that are inputs already, and links to them, skipped"


@dataclasses.dataclass(frozen=True)
class Slice:
    """Unit of work: the spans that become a shard, without `repeated` documents.

    Its documents begin in it, but a slice may be a part of a single document, which begins in an
    earlier one: the slice number `first`. Their ids count up from `first << ID_BITS`.
    """

    index: int
    shard: str
    spans: tuple[Span, ...]
    first: int
    repeated: Set[int] = frozenset()

    @property
    def text_bytes(self) -> int:
        """Approximate number of bytes of text."""
        return sum(span.text_bytes for span in self.spans)

    def documents(
        self, settings: Settings, reports: Reports
    ) -> Iterator[tuple[int, str | None, list[str]]]:
        """Yields `(id, language, passages)`; the parts of a long document are consecutive."""
        document_id = self.first << ID_BITS
        for span in self.spans:
            passages = span.passages(settings, reports)
            for _, parts in by_document(passages):
                if document_id not in self.repeated:
                    for _, language, texts in parts:
                        yield document_id, language, texts
                document_id += 1


def find_inputs(
    inputs: str | os.PathLike | Iterable[str | os.PathLike], reports: Reports
) -> list[Span]:
    """Lists the input files as spans; the files of a folder are sorted."""
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    inputs = [os.fspath(path) for path in inputs]
    files = {}  # by the file that a link leads to
    for path in inputs:
        for name in files_at(path):
            kind = _kind(name)
            if kind is None:
                if name == path:
                    raise ValueError(
                        f"{name} has an unknown kind or compression. Inputs are {KIND_NAMES}. "
                        "Rename it, or decompress it first."
                    )
                reports.add(OTHER_FILES, 1, name)
                continue
            target = name
            if not is_remote(name):
                name = os.path.abspath(name)
                target = os.path.realpath(name)
            if target in files:
                reports.add(REPEATED, 1, name)
                continue
            state = size_and_time(name)
            if state is None:
                raise ValueError(f"{name} is a link to a file that doesn't exist. Remove it.")
            size, changed = state
            files[target] = kind(name, 0, size, size, changed)
    if not files:
        raise ValueError(
            f"No input files in {', '.join(inputs) or 'an empty list'}. Inputs are "
            f"{KIND_NAMES}, or folders of these."
        )
    return list(files.values())


def _kind(path):
    name = os.path.basename(path).lower()
    for pattern, kind in KINDS.items():
        if re.search(pattern, name):
            return kind
    return None


def plan_slices(files: list[Span], settings: Settings) -> list[Slice]:
    """Groups small files and cuts large ones into slices of about the same size."""
    total = sum(file.text_bytes for file in files)
    slice_bytes = min(max(total // NUM_SLICES, MIN_SLICE_BYTES), MAX_SLICE_BYTES)
    groups = []  # the spans of each slice
    room = -1  # bytes, in the last slice
    for file in files:
        can_be_cut = file.can_be_cut()
        num_parts = -(-file.text_bytes // slice_bytes)
        if num_parts > 1 and can_be_cut:
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
    slices = []
    for index, spans in enumerate(groups):
        is_one_document = isinstance(spans[0], TextSpan) and settings.separator is None
        if not is_one_document or spans[0].start == 0:
            first = index
        shard = shard_name(index, len(groups))
        slices.append(Slice(index, shard, tuple(spans), first))
    return slices


def plan_description(
    slices: list[Slice],
    settings: Settings,
    tokenizer: BertTokenizer,
) -> dict:
    """Describes everything that the shards depend on: equal descriptions give equal shards."""
    bounds = []
    for slice_ in slices:
        for span in slice_.spans:
            bounds.append([span.path, span.start, span.stop, span.changed])
    config = tokenizer.get_config()
    vocabulary = config.pop("vocabulary")
    return {
        **dataclasses.asdict(settings),
        **config,
        "inputs": hashlib.sha256(json.dumps(bounds).encode()).hexdigest(),
        "num_slices": len(slices),
        "vocabulary": vocabulary_sha256(vocabulary),
    }
