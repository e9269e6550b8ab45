"""The folder of a prepared corpus: shards of tokenized documents, and `corpus.json` above them.

    corpus.json                        what the corpus is; written last: where it is, all is there
    vocab.txt                          the vocabulary that made the ids
    shard-00000-of-00025.tfrecord      uncompressed TFRecord of tf.train.Example

A record is a document, or a piece of a very long one:

    token_ids          bytes   little-endian `token_dtype`, all sentences joined, no special tokens
    sentence_lengths   bytes   little-endian uint32, tokens of each sentence
    document_id        int64   unique in the corpus; the pieces of one document share it

Every file is written under a temporary name and renamed when it is whole. Paths may be anything
that `tf.io.gfile` opens.
"""

import contextlib
import errno
import hashlib
import json
import os
import uuid

import numpy as np
import tensorflow as tf

CORPUS_FILE = "corpus.json"
VOCABULARY_FILE = "vocab.txt"
FORMAT = 1
SENTENCE_LENGTH_DTYPE = "uint32"
TEMPORARY_SUFFIX = ".unfinished"

RECORD_FEATURES = {
    "token_ids": tf.io.FixedLenFeature([], tf.string),
    "sentence_lengths": tf.io.FixedLenFeature([], tf.string),
    "document_id": tf.io.FixedLenFeature([], tf.int64),
}
"""For `tf.io.parse_example`; decode the byte features with `tf.io.decode_raw`."""

COUNTS = ("num_records", "num_documents", "num_sentences", "num_tokens")


def token_dtype(vocabulary_size):
    """Name of the smallest dtype that holds every token id: "uint16" or "uint32"."""
    return "uint16" if vocabulary_size <= 2**16 else "uint32"


def vocabulary_sha256(vocabulary):
    """Hash by which a corpus knows its vocabulary: of the tokens joined by newlines."""
    return hashlib.sha256("\n".join(vocabulary).encode("utf-8")).hexdigest()


def shard_name(index, count):
    """File name of shard `index` of `count`."""
    return f"shard-{index:05d}-of-{count:05d}.tfrecord"


class ShardWriter:
    """Writes one shard; it gets its name only when the `with` block ends without an error.

    Args:
        path: where the whole shard will stand.
        dtype: "uint16" or "uint32", the corpus' `token_dtype`.

    After the block, `counts` is the shard's entry in `corpus.json`.

    Raises:
        OSError: when the disk is full or the folder cannot be written; nothing stays behind.

    Example:
    ```python
    with ShardWriter(f"{folder}/{shard_name(0, 1)}", "uint16") as shard:
        shard.write(document_id=7, token_ids=[12, 13, 14, 12], sentence_lengths=[3, 1])
    shard.counts["num_tokens"]  # 4
    ```
    """

    def __init__(self, path, dtype):
        self.path = os.fspath(path)
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.counts = {"name": os.path.basename(self.path), **dict.fromkeys(COUNTS, 0)}
        self._last_document_id = None

    def write(self, document_id, token_ids, sentence_lengths):
        """Adds a record; the pieces of one document must follow one another."""
        lengths = np.asarray(sentence_lengths, "<u4")
        tokens = np.asarray(token_ids, self.dtype)
        if lengths.sum() != len(tokens):
            raise ValueError(
                f"sentence_lengths must add up to the number of token_ids, {len(tokens)}; "
                f"they add up to {lengths.sum()}"
            )
        example = tf.train.Example()
        feature = example.features.feature
        feature["token_ids"].bytes_list.value.append(tokens.tobytes())
        feature["sentence_lengths"].bytes_list.value.append(lengths.tobytes())
        feature["document_id"].int64_list.value.append(document_id)
        with _clear_write_errors(self.path):
            # Maps have no order of their own; equal records shall be equal bytes.
            self._writer.write(example.SerializeToString(deterministic=True))
        self.counts["num_records"] += 1
        self.counts["num_documents"] += document_id != self._last_document_id
        self.counts["num_sentences"] += len(lengths)
        self.counts["num_tokens"] += len(tokens)
        self._last_document_id = document_id

    def __enter__(self):
        self._temporary = _temporary_name(self.path)
        with _clear_write_errors(self.path):
            self._writer = tf.io.TFRecordWriter(self._temporary)
        return self

    def __exit__(self, error_type, error, traceback):
        try:
            with _clear_write_errors(self.path):
                self._writer.close()
                if error_type is None:
                    self.counts["num_bytes"] = tf.io.gfile.stat(self._temporary).length
                    tf.io.gfile.rename(self._temporary, self.path, overwrite=True)
        except OSError:
            if error_type is None:  # otherwise the first error says more
                raise
        finally:
            _remove_if_there(self._temporary)


class Corpus:
    """A finished corpus folder, checked: what `corpus.json` says, and its shards all there.

    Args:
        folder: what `prepare_corpus` wrote.

    Attributes: `folder`, `vocabulary_size`, `vocabulary_sha256`, `lowercase`, `token_dtype`,
    `num_documents`, `num_sentences`, `num_tokens`, `num_records`, `shards` (list of dicts, one a
    shard: "name", "num_bytes" and the same four counts), `shard_paths`, `vocabulary_path`, and
    `description`, the whole of `corpus.json`.

    Raises:
        ValueError: when there is no such folder, preparation was cut off, a shard is missing or
            has another size than when it was written.

    Example:
    ```python
    corpus = keras_bert.Corpus("corpus")
    tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
    corpus.num_documents, corpus.num_tokens
    ```
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        self.description = _read_description(self.folder)
        for name in (*COUNTS, "vocabulary_size", "vocabulary_sha256", "lowercase", "token_dtype"):
            setattr(self, name, self._value(name))
        self.shards = self._value("shards")
        self.shard_paths = [os.path.join(self.folder, shard["name"]) for shard in self.shards]
        self.vocabulary_path = os.path.join(self.folder, VOCABULARY_FILE)
        self._check_shards()

    def check_tokenizer(self, tokenizer):
        """Raises a ValueError unless `tokenizer` is one that would make this corpus' ids."""
        vocabulary = tokenizer.get_vocabulary()
        if vocabulary_sha256(vocabulary) != self.vocabulary_sha256:
            raise ValueError(
                f"The corpus in {self.folder} was made with another vocabulary "
                f"({self.vocabulary_size} tokens, SHA-256 {self.vocabulary_sha256[:12]}...) than "
                f"the tokenizer's ({len(vocabulary)} tokens, SHA-256 "
                f"{vocabulary_sha256(vocabulary)[:12]}...). Use "
                f"BertTokenizer({self.vocabulary_path!r}, lowercase={self.lowercase}), or prepare "
                "the corpus again with your tokenizer."
            )
        if tokenizer.lowercase != self.lowercase:
            raise ValueError(
                f"The corpus in {self.folder} was made with lowercase={self.lowercase}; the "
                f"tokenizer has lowercase={tokenizer.lowercase}. Use BertTokenizer("
                f"{self.vocabulary_path!r}, lowercase={self.lowercase})."
            )

    def _value(self, name):
        if name not in self.description:
            raise ValueError(
                f"{os.path.join(self.folder, CORPUS_FILE)} has no {name!r}: it is not a corpus "
                "that prepare_corpus wrote. Prepare the corpus again."
            )
        return self.description[name]

    def _check_shards(self):
        for shard, path in zip(self.shards, self.shard_paths, strict=True):
            if not tf.io.gfile.exists(path):
                raise ValueError(
                    f"The corpus in {self.folder} lacks its shard {shard['name']}. Copy the whole "
                    "folder, or prepare the corpus again."
                )
            size = tf.io.gfile.stat(path).length
            if size != shard["num_bytes"]:
                raise ValueError(
                    f"{path} has {size:,} bytes and was written with {shard['num_bytes']:,}: it "
                    "was cut off or changed. Copy the folder again, or prepare the corpus again."
                )


def finish_corpus(folder, tokenizer, shards, **more):
    """Writes `vocab.txt` and then `corpus.json`, which turns a folder of shards into a corpus.

    Args:
        folder: where the shards stand.
        tokenizer: the `BertTokenizer` that made the ids.
        shards: list of `ShardWriter.counts`, in order.
        more: anything else to keep in `corpus.json` (JSON-serialisable).

    Returns:
        `Corpus`.
    """
    folder = os.fspath(folder)
    vocabulary = tokenizer.get_vocabulary()
    write_whole(os.path.join(folder, VOCABULARY_FILE), "\n".join(vocabulary) + "\n")
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
    text = json.dumps(description, indent=1, ensure_ascii=False) + "\n"
    write_whole(os.path.join(folder, CORPUS_FILE), text)
    return Corpus(folder)


def write_whole(path, text):
    """Writes a small text file so that `path` is either as it was or whole."""
    temporary = _temporary_name(path)
    try:
        with _clear_write_errors(path):
            with tf.io.gfile.GFile(temporary, "wb") as file:
                file.write(text.encode("utf-8"))
            tf.io.gfile.rename(temporary, path, overwrite=True)
    finally:
        _remove_if_there(temporary)


def remove_unfinished(folder):
    """Removes what a run that was killed has left under temporary names."""
    for name in tf.io.gfile.listdir(os.fspath(folder)):
        if name.endswith(TEMPORARY_SUFFIX):
            _remove_if_there(os.path.join(folder, name))


def _temporary_name(path):
    # A name of its own for each writer: under Beam two workers may write the same shard.
    return f"{path}.{uuid.uuid4().hex[:8]}{TEMPORARY_SUFFIX}"


def _remove_if_there(path):
    with contextlib.suppress(tf.errors.OpError):
        tf.io.gfile.remove(path)


@contextlib.contextmanager
def _clear_write_errors(path):
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        raise OSError(
            errno.ENOSPC,
            f"The disk was full while {path} was written; nothing half-written was left. Free "
            f"some space and start the same command again. ({error.message})",
        ) from error
    except tf.errors.OpError as error:
        raise OSError(f"{path} cannot be written: {error.message}") from error


def _read_description(folder):
    path = os.path.join(folder, CORPUS_FILE)
    if not tf.io.gfile.isdir(folder):
        raise ValueError(
            f"There is no corpus folder {folder}. Make one with prepare_corpus, or check the path."
        )
    if not tf.io.gfile.exists(path):
        raise ValueError(
            f"{folder} has no {CORPUS_FILE}: preparing the corpus was cut off, or this is another "
            "folder. Start the same prepare_corpus again; it goes on where it was."
        )
    with tf.io.gfile.GFile(path, "rb") as file:
        text = file.read()
    try:
        description = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}). Prepare the corpus again.") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        found = description.get("format") if isinstance(description, dict) else None
        raise ValueError(
            f"{path} has format {found!r}; this version reads format {FORMAT}. Prepare the corpus "
            "again."
        )
    return description
