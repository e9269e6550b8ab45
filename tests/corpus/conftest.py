"""Corpora whose token ids encode their position and document."""

import numpy as np
import pytest

from keras_bert.corpus.shards import ShardWriter, finish_corpus, shard_name

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Words:
    """The parts of a tokenizer that a corpus uses."""

    lowercase = True

    def __init__(self, size, continuation_every=0):
        self._tokens = SPECIAL + [
            f"##w{i}" if continuation_every and i % continuation_every else f"w{i}"
            for i in range(size)
        ]

    def get_vocabulary(self):
        return self._tokens


class Documents:
    """Documents of random sentences; the id of a token is its position in the corpus plus 5."""

    def __init__(self, num_documents=60, seed=0, mean_sentences=20, mean_tokens=14):
        rng = np.random.default_rng(seed)
        self.sentence_lengths = [
            1 + rng.poisson(mean_tokens - 1, 1 + rng.poisson(mean_sentences - 1))
            for _ in range(num_documents)
        ]
        self.lengths = np.array([lengths.sum() for lengths in self.sentence_lengths])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.num_tokens = int(self.starts[-1])

    def document_of(self, token_id):
        return int(np.searchsorted(self.starts, token_id - 5, side="right") - 1)

    def sentences(self):
        """The documents as lists of sentences, each a list of token ids."""
        documents = []
        for start, lengths in zip(self.starts, self.sentence_lengths, strict=False):
            ends = start + 5 + np.cumsum(lengths)
            documents.append([list(range(e - n, e)) for e, n in zip(ends, lengths, strict=True)])
        return documents

    def write(self, folder, num_shards=3, continuation_every=0):
        folder.mkdir(exist_ok=True)
        words = Words(self.num_tokens, continuation_every)
        counts = []
        for index in range(num_shards):
            with ShardWriter(folder / shard_name(index, num_shards), "uint16") as shard:
                for d in range(index, len(self.lengths), num_shards):
                    ids = np.arange(self.starts[d], self.starts[d + 1]) + 5
                    shard.write(d, ids, self.sentence_lengths[d])
            counts.append(shard.counts)
        return finish_corpus(folder, words, counts)


@pytest.fixture(scope="session")
def documents():
    return Documents()


@pytest.fixture(scope="session")
def corpus(documents, tmp_path_factory):
    return documents.write(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def documents_of():
    return Documents
