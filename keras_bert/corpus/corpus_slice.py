"""The function that every worker runs: turns one slice of the input into one shard."""

import collections
import hashlib
import os

import numpy as np

from keras_bert.corpus.corpus_plan import Slice
from keras_bert.corpus.documents import Settings, by_document
from keras_bert.corpus.sentences import split_sentences
from keras_bert.corpus.shards import token_dtype, write_shard
from keras_bert.files.json_files import write_json
from keras_bert.reports import Reports
from keras_bert.text.tokenizer import BertTokenizer

PROGRESS_FOLDER = "progress"
MAX_RECORD_TOKENS = 2**15
BATCH_CHARACTERS = 2**17
MAX_WAITING_TOKENS = 2**24  # 32 or 64 MB
OBJECT_TOKENS = 2**6  # what a waiting record takes besides its tokens

SHORT = "documents with fewer than min_tokens, left out"
REPEATED = "repeated documents, left out"
CUT_SENTENCES = f"sentences of more than {MAX_RECORD_TOKENS:,} tokens, split"


def done_path(folder: str, slice_: Slice) -> str:
    """Returns the path of a slice's progress file, which is written after its shard."""
    return os.path.join(folder, PROGRESS_FOLDER, f"{slice_.shard}.json")


def write_slice(slice_: Slice, folder: str, settings: Settings, tokenizer: BertTokenizer) -> None:
    """Reads a slice, tokenizes it and writes its shard, then its progress file.

    The shard is a pure function of the arguments and the input files. The progress file has the
    "shard", its entry in `corpus.json`, and "reports".
    """
    reports = Reports()
    dtype = token_dtype(tokenizer.vocabulary_size())
    documents = _tokenized(slice_.documents(settings, reports), tokenizer, dtype)
    languages = collections.Counter()
    records = _records(documents, settings.min_tokens, languages, reports)
    rng = np.random.default_rng([settings.seed, slice_.index])
    path = os.path.join(folder, slice_.shard)
    shard = write_shard(path, dtype, _shuffled(records, rng), tokenizer.unk_token_id)
    if slice_.first < slice_.index:  # the document counts in the slice in which it begins
        shard["num_documents"] = 0
        languages.clear()
    elif slice_.repeated:
        reports.add(REPEATED, len(slice_.repeated))
    done = {"shard": {**shard, "languages": languages}, "reports": reports.as_dict()}
    write_json(done_path(folder, slice_), done, indent=None)


def document_hashes(slice_: Slice, settings: Settings) -> list[tuple[int, bytes]]:
    """Returns the id of each document of a slice, and a hash of its text."""
    hashes = []
    documents = slice_.documents(settings, Reports())
    for document_id, parts in by_document(documents):
        digest = hashlib.blake2b(digest_size=12)
        for _, _, passages in parts:
            for passage in passages:
                digest.update(f"{passage}\n".encode())
        hashes.append((document_id, digest.digest()))
    return hashes


def _tokenized(documents, tokenizer, dtype):
    """Yields `((id, language), token_ids, sentence_lengths)`, tokenized in large batches."""
    for batch in _sentence_batches(documents):
        sentences = [sentence for part in batch.values() for sentence in part]
        token_ids, lengths = tokenizer.flat_ids(sentences)
        token_ids = token_ids.astype(dtype)
        for document, part in batch.items():
            document_lengths = lengths[: len(part)]
            num_tokens = document_lengths.sum()
            yield document, token_ids[:num_tokens], document_lengths[document_lengths > 0]
            lengths = lengths[len(part) :]
            token_ids = token_ids[num_tokens:]


def _sentence_batches(documents):
    """Yields dicts `{(id, language): sentences}`, with many sentences together."""
    batch = collections.defaultdict(list)
    num_characters = 0
    for document_id, language, texts in documents:
        sentences = batch[document_id, language]
        if language is None:
            sentences += texts
        else:
            for paragraph in texts:
                sentences += split_sentences(paragraph, language)
        num_characters += sum(map(len, texts))
        if num_characters > BATCH_CHARACTERS:
            yield batch
            batch = collections.defaultdict(list)
            num_characters = 0
    if batch:
        yield batch


def _records(parts, min_tokens, languages, reports):
    """Joins the parts of each document, and splits documents longer than a record."""
    for (document_id, language), group in by_document(parts):
        token_ids = lengths = np.zeros(0, "uint8")
        least = min_tokens
        for _, new_ids, new_lengths in group:
            token_ids = np.concatenate([token_ids, new_ids])
            lengths = np.concatenate([lengths, _without_long(new_lengths, reports)])
            while len(token_ids) > MAX_RECORD_TOKENS:
                count = np.searchsorted(np.cumsum(lengths), MAX_RECORD_TOKENS, side="right")
                end = lengths[:count].sum()
                yield document_id, token_ids[:end], lengths[:count]
                token_ids = token_ids[end:]
                lengths = lengths[count:]
                least = 0  # of the rest
        if len(token_ids) < least:
            reports.add(SHORT, 1)
            continue
        if language:
            languages[language] += 1
        if len(token_ids):
            yield document_id, token_ids, lengths


def _without_long(lengths, reports):
    num_long = np.count_nonzero(lengths > MAX_RECORD_TOKENS)
    if num_long:
        reports.add(CUT_SENTENCES, int(num_long))
        pieces = [np.diff([*range(0, length, MAX_RECORD_TOKENS), length]) for length in lengths]
        lengths = np.concatenate(pieces)
    return lengths


def _shuffled(records, rng):
    """Yields records with the documents in random order, so that neighbors are unrelated.

    A document that is too large to wait for its end follows those before it.
    """
    waiting = []
    num_tokens = 0
    for _, document in by_document(records):
        pieces = []
        for record in document:
            pieces.append(record)
            num_tokens += len(record[1]) + OBJECT_TOKENS
            if num_tokens > MAX_WAITING_TOKENS:
                yield from _in_random_order(waiting, rng)
                yield from pieces
                yield from document
                waiting = []
                num_tokens = 0
                break
        else:
            waiting.append(pieces)
    yield from _in_random_order(waiting, rng)


def _in_random_order(documents, rng):
    for index in rng.permutation(len(documents)):
        yield from documents[index]
