"""The function that every worker runs: turns one slice of the input into one shard."""

import collections
import hashlib
import itertools
import operator
import os

import numpy as np

from keras_bert.corpus.sentences import split_passages
from keras_bert.corpus.shards import shard_name, token_dtype
from keras_bert.corpus.slices import Settings, Slice, first_document_id
from keras_bert.corpus.write_shard import write_shard
from keras_bert.files.json_files import write_json
from keras_bert.reports import Reports
from keras_bert.text.tokenizer import BertTokenizer

PROGRESS_FOLDER = "progress"
MAX_RECORD_TOKENS = 2**15
BATCH_CHARACTERS = 2**17
MAX_WAITING_TOKENS = 2**24  # 32 or 64 MB: more than a slice has, unless one document is huge

SHORT = "documents with fewer than min_tokens, left out"
REPEATED = "repeated documents, left out"
CUT_SENTENCES = f"sentences of more than {MAX_RECORD_TOKENS:,} tokens, split"


def done_path(folder: str, slice_: Slice, num_slices: int) -> str:
    """Returns the path of a slice's progress file, which is written after its shard."""
    name = f"{shard_name(slice_.index, num_slices)}.json"
    return os.path.join(folder, PROGRESS_FOLDER, name)


def write_slice(
    slice_: Slice, num_slices: int, folder: str, settings: Settings, tokenizer: BertTokenizer
) -> dict:
    """Reads a slice, tokenizes it and writes its shard.

    The shard is a pure function of the arguments and the input files. Returns a dict of "shard"
    (its entry in `corpus.json`) and "reports".
    """
    reports = Reports()
    dtype = token_dtype(tokenizer.vocabulary_size())
    rng = np.random.default_rng([settings.seed, slice_.index])
    parts = _documents(slice_, settings, reports)
    parts = split_passages(part for part in parts if part[0] not in slice_.repeated)
    documents = _tokenized(parts, tokenizer, dtype)
    records = _records(documents, settings.min_tokens, reports)
    path = os.path.join(folder, shard_name(slice_.index, num_slices))
    contents = {"num_unknown": 0, "longest_document": 0, "languages": collections.Counter()}
    records = _counted(_shuffled(records, rng), tokenizer.unk_token_id, contents)
    counts = write_shard(path, dtype, records) | contents
    document_id = slice_.spans[0].document_id
    if counts["num_records"] and document_id not in (None, first_document_id(slice_.index)):
        counts |= {"num_documents": 0, "languages": {}}  # its only document began in an earlier one
    if slice_.repeated:
        reports.add(REPEATED, len(slice_.repeated))
    done = {"shard": counts, "reports": reports.as_dict()}
    write_json(done_path(folder, slice_, num_slices), done, indent=None)
    return done


def document_hashes(slice_: Slice, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of a slice's documents, int64, and hashes of their texts, uint64."""
    ids, hashes = [], []
    documents = _documents(slice_, settings, Reports())
    for document_id, parts in itertools.groupby(documents, operator.itemgetter(0)):
        digest = hashlib.blake2b(digest_size=8)
        for _, _, passages in parts:
            digest.update("\n".join([*passages, ""]).encode())
        ids.append(document_id)
        hashes.append(int.from_bytes(digest.digest(), "little"))
    return np.array(ids, "int64"), np.array(hashes, "uint64")


def _documents(slice_, settings, reports):
    """Yields `(document, language, passages)`; the parts of a long document are consecutive."""
    next_id = first_document_id(slice_.index)
    for span in slice_.spans:
        last_number = document_id = None
        for number, language, passages in span.reader.passages(span, settings, reports):
            if number != last_number:
                document_id = next_id if span.document_id is None else span.document_id
                next_id, last_number = next_id + 1, number
            yield document_id, language, passages


def _tokenized(documents, tokenizer, dtype):
    """Yields `(document, token_ids, sentence_lengths)`, tokenized in large batches."""
    batch, parts, num_characters = [], [], 0

    def tokenize():
        token_ids, lengths = tokenizer.flat_ids(batch)
        token_ids = token_ids.astype(dtype)
        splits = np.concatenate([[0], np.cumsum(lengths)])
        begin = 0
        for document, num_sentences in parts:
            end = begin + num_sentences
            kept = lengths[begin:end]
            yield document, token_ids[splits[begin] : splits[end]], kept[kept > 0]
            begin = end

    for document, sentences in documents:
        batch += sentences
        num_characters += sum(map(len, sentences))
        if parts and parts[-1][0] == document:
            parts[-1] = (document, parts[-1][1] + len(sentences))
        else:
            parts.append((document, len(sentences)))
        if num_characters > BATCH_CHARACTERS:
            yield from tokenize()
            batch, parts, num_characters = [], [], 0
    yield from tokenize()


def _records(parts, min_tokens, reports):
    """Joins the parts of each document, and splits documents longer than a record."""
    for document, group in itertools.groupby(parts, operator.itemgetter(0)):
        token_ids, lengths = np.zeros(0, "uint8"), np.zeros(0, "uint8")
        least = min_tokens
        for _, new_ids, new_lengths in group:
            token_ids = np.concatenate([token_ids, new_ids])
            lengths = np.concatenate([lengths, _without_long(new_lengths, reports)])
            while len(token_ids) > MAX_RECORD_TOKENS:
                count = np.searchsorted(np.cumsum(lengths), MAX_RECORD_TOKENS, side="right")
                end = lengths[:count].sum()
                yield document, token_ids[:end], lengths[:count]
                token_ids, lengths, least = token_ids[end:], lengths[count:], 1
        if len(token_ids) >= least:
            yield document, token_ids, lengths
        elif len(token_ids):
            reports.add(SHORT, 1)


def _without_long(lengths, reports):
    """Splits sentences longer than a record."""
    if num_long := np.count_nonzero(lengths > MAX_RECORD_TOKENS):
        reports.add(CUT_SENTENCES, int(num_long))
        lengths = np.hstack([np.diff([*range(0, n, MAX_RECORD_TOKENS), n]) for n in lengths])
    return lengths


def _shuffled(records, rng):
    """Yields records with the documents in random order, so that neighbors are unrelated.

    A document that is too large to wait for its end follows those before it.
    """
    waiting, num_tokens, passed_on = {}, 0, None
    for record in records:
        document, token_ids, _ = record
        if document == passed_on:
            yield record
            continue
        waiting.setdefault(document, []).append(record)
        num_tokens += len(token_ids)
        if num_tokens > MAX_WAITING_TOKENS:
            unfinished = waiting.pop(document)
            yield from _in_random_order(waiting, rng)
            yield from unfinished
            waiting, num_tokens, passed_on = {}, 0, document
    yield from _in_random_order(waiting, rng)


def _in_random_order(documents, rng):
    documents = [*documents.values()]
    for index in rng.permutation(len(documents)):
        yield from documents[index]


def _counted(records, unk_token_id, contents):
    """Yields records with the ids of their documents alone, and adds what they hold."""
    last, num_tokens = None, 0
    for document, token_ids, lengths in records:
        if document != last:
            last, num_tokens = document, 0
            contents["languages"].update(filter(None, document[1:]))
        num_tokens += len(token_ids)
        contents["longest_document"] = max(contents["longest_document"], num_tokens)
        contents["num_unknown"] += int(np.count_nonzero(token_ids == unk_token_id))
        yield document[0], token_ids, lengths
