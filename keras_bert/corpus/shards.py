"""The folder of a prepared corpus: shards of tokenized documents, described by `corpus.json`.

    corpus.json                        description, written last: if it exists, so does the rest
    vocab.txt                          vocabulary of the token ids
    shard-00000-of-00025.tfrecord      uncompressed TFRecord of tf.train.Example

A record is a document, or a piece of a very long one:

    token_ids          bytes   little-endian `token_dtype`, all sentences joined, no special tokens
    sentence_lengths   bytes   little-endian uint32, tokens of each sentence
    document_id        int64   unique in the corpus; the pieces of a document share it

Each file is written to a temporary name and renamed when it is complete.
"""

import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_bert.corpus.documents import by_document
from keras_bert.files.json_files import JsonFields, read_json, write_json
from keras_bert.files.remote import read_text, size_and_time
from keras_bert.files.whole import whole_file
from keras_bert.messages import from_extra
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocabulary import vocabulary_sha256

CORPUS_FILE = "corpus.json"
VOCABULARY_FILE = "vocab.txt"
FORMAT = 1
SHARD_COUNTS = ("num_records", "num_documents", "num_sentences", "num_tokens")
COUNTS = (*SHARD_COUNTS, "num_unknown")
FIELDS = (*SHARD_COUNTS, "vocabulary_size", "vocabulary_sha256", "lowercase", "shards")
SHARD_FIELDS = (*SHARD_COUNTS, "num_bytes", "name")


def token_dtype(vocabulary_size: int) -> str:
    """Returns the smallest dtype that holds every token id: "uint16" or "uint32"."""
    return "uint16" if vocabulary_size <= 2**16 else "uint32"


def shard_name(index: int, count: int) -> str:
    """Returns the file name of shard `index` of `count`."""
    return f"shard-{index:05d}-of-{count:05d}.tfrecord"


class Corpus:
    """A finished corpus folder that `prepare_corpus` wrote, checked against its `corpus.json`.

    Attributes: `folder`, `vocabulary`, `vocabulary_size`, `vocabulary_sha256`, `lowercase`,
    `token_dtype`, `num_documents`, `num_sentences`, `num_tokens`, `num_records`, `shards` (list of
    dicts, one per shard, of "name", "num_bytes" and the same four counts), `shard_paths`,
    `vocabulary_path`, and `description`, the content of `corpus.json`. Its "num_unknown" counts the
    [UNK] tokens, "longest_document" its tokens, and "languages" the documents of each language.

    Raises:
        ValueError: if the folder does not exist, its preparation was interrupted, a shard is
            missing or differs in size from what was written, or `vocab.txt` is another vocabulary.

    Example:
    ```python
    corpus = keras_bert.Corpus("corpus")
    tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
    corpus.num_documents, corpus.num_tokens
    ```
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = os.fspath(folder)
        self.description = _read_description(self.folder)
        for name in FIELDS:
            setattr(self, name, self.description[name])
        self.shard_paths = [os.path.join(self.folder, shard["name"]) for shard in self.shards]
        self.vocabulary_path = os.path.join(self.folder, VOCABULARY_FILE)
        lines = read_text(self.vocabulary_path).removesuffix("\n").split("\n")
        self.vocabulary = [token.strip() for token in lines]
        self.token_dtype = token_dtype(len(self.vocabulary))
        self._check_files()

    def __repr__(self):
        counts = [
            f"documents: {self.num_documents:,}",
            f"sentences: {self.num_sentences:,}",
            f"tokens: {self.num_tokens:,}",
        ]
        if languages := self.description.get("languages"):  # counted by `prepare_corpus`
            unknown = self.description.get("num_unknown", 0) / max(self.num_tokens, 1)
            longest = self.description.get("longest_document", 0)
            counts += [f"[UNK]: {unknown:.2%}", f"longest document: {longest:,} tokens"]
            for language in list(languages)[:9]:
                counts.append(f"documents in {language}: {languages[language]:,}")
        counts.append(f"shards: {len(self.shards):,}")
        return f"Corpus({self.folder!r}, {', '.join(counts)})"

    def check_tokenizer(self, tokenizer: BertTokenizer) -> None:
        """Raises a ValueError unless `tokenizer` produces this corpus's token ids."""
        lowercase = getattr(tokenizer, "lowercase", None)
        self.check_same("The tokenizer", tokenizer.get_vocabulary(), lowercase)

    def check_same(self, name: str, vocabulary: list[str], lowercase: bool | None) -> None:
        """Raises a ValueError unless something has this corpus's vocabulary and casing."""
        if (vocabulary, lowercase) != (self.vocabulary, self.lowercase):
            raise ValueError(
                f"{name} has a different vocabulary or casing than the corpus in {self.folder}. "
                f"Use BertTokenizer({self.vocabulary_path!r}, lowercase={self.lowercase}), or "
                "prepare the corpus again."
            )

    def _check_files(self):
        if vocabulary_sha256(self.vocabulary) != self.vocabulary_sha256:
            raise ValueError(
                f"{self.vocabulary_path} is not the vocabulary that this corpus was prepared with. "
                "Put that vocab.txt back, or prepare the corpus again."
            )
        for shard, path in zip(self.shards, self.shard_paths, strict=True):
            num_bytes, _ = size_and_time(path) or (0, 0)
            if num_bytes != shard["num_bytes"]:
                raise ValueError(
                    f"{path} has {num_bytes:,} of {shard['num_bytes']:,} bytes: it is missing or "
                    "was changed. Copy the folder again, or prepare the corpus again."
                )


def write_shard(
    path: str | os.PathLike,
    dtype: str,
    records: Iterable[tuple],
    unk_token_id: int = 1,
) -> dict[str, Any]:
    """Writes a shard whole or not at all; returns its entry in `corpus.json`.

    Records are `(document_id, token_ids, sentence_lengths)`, those of a document consecutive.
    """
    dtype = np.dtype(dtype).newbyteorder("<")
    counts = dict.fromkeys((*COUNTS, "num_bytes", "longest_document"), 0)
    with whole_file(path, "wb") as file:
        for document_id, pieces in by_document(records):
            document_length = 0
            for _, token_ids, sentence_lengths in pieces:
                lengths = np.asarray(sentence_lengths, "<u4")
                tokens = np.asarray(token_ids, dtype)
                record = _tfrecord(_example(document_id, lengths.tobytes(), tokens.tobytes()))
                file.write(record)
                counts["num_bytes"] += len(record)
                counts["num_records"] += 1
                counts["num_sentences"] += len(lengths)
                counts["num_unknown"] += int(np.count_nonzero(tokens == unk_token_id))
                document_length += len(tokens)
            counts["num_documents"] += 1
            counts["num_tokens"] += document_length
            counts["longest_document"] = max(counts["longest_document"], document_length)
    return {"name": os.path.basename(path), **counts}


def finish_corpus(
    folder: str | os.PathLike, tokenizer: BertTokenizer, shards: list[dict], **more: Any
) -> Corpus:
    """Writes `vocab.txt`, then `corpus.json` with the entries of `write_shard` and `more`."""
    vocabulary = tokenizer.get_vocabulary()
    with whole_file(os.path.join(folder, VOCABULARY_FILE)) as file:
        file.writelines(f"{token}\n" for token in vocabulary)
    description = {
        "format": FORMAT,
        "vocabulary_size": len(vocabulary),
        "vocabulary_sha256": vocabulary_sha256(vocabulary),
        "lowercase": bool(tokenizer.lowercase),
        "token_dtype": token_dtype(len(vocabulary)),
        **{name: sum(shard[name] for shard in shards) for name in COUNTS},
        **more,
        "shards": list(shards),
    }
    write_json(os.path.join(folder, CORPUS_FILE), description, indent=1)
    return Corpus(folder)


def _example(document_id, sentence_lengths, token_ids):
    """Serializes a `tf.train.Example`; its features are sorted, as protobuf sorts them."""
    features = (
        (b"document_id", 3, _varint(document_id)),  # int64_list
        (b"sentence_lengths", 1, sentence_lengths),  # bytes_list
        (b"token_ids", 1, token_ids),
    )
    entries = []
    for name, kind, value in features:
        feature = _field(kind, _field(1, value))
        entries.append(_field(1, _field(1, name) + _field(2, feature)))
    return _field(1, b"".join(entries))


def _field(number, contents):
    """Encodes a field of Protocol Buffers that holds a string, bytes or a message."""
    return _varint(number << 3 | 2) + _varint(len(contents)) + contents


def _varint(value):
    """Encodes an int of Protocol Buffers."""
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _tfrecord(data):
    """Adds the length of a record and the Castagnoli checksums of both, as TFRecord has them."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def _masked_crc(data):
    with from_extra("corpus"):
        import google_crc32c
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _read_description(folder):
    path = os.path.join(folder, CORPUS_FILE)
    description = read_json(path)
    if description.get("format") != FORMAT:
        wrong = f"has format {description.get('format')!r}" if description else "is missing"
        raise ValueError(
            f"{path} {wrong}: a corpus has one of format {FORMAT}. Make it of texts with "
            "prepare_corpus (recipes/prepare_corpus.py), or rerun that if it was interrupted."
        )
    fields = JsonFields(path, description)
    for record in (fields, *fields.listed_fields("shards")):
        for name in FIELDS if record is fields else SHARD_FIELDS:
            if name not in record:
                raise record.error(name, "given", None)
        for name in COUNTS:
            record.integer(name, high=2**63)
        record.inner_path("name")
    return description
