"""Corpora whose token ids encode their position and document."""

from types import SimpleNamespace

import numpy as np
import pytest

import keras_bert
from keras_bert.corpus.pretraining_dataset import pretraining_dataset
from keras_bert.corpus.shards import finish_corpus, shard_name, write_shard
from keras_bert.text.vocabulary import SPECIAL_TOKENS

WORDS = [f"word{i}" for i in range(50)]


class Documents:
    """Documents of random sentences; the id of a token is its position in the corpus plus 5.

    Tokens with an even id continue the word of the one before.
    """

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

    def write(self, folder, num_shards=3):
        folder.mkdir(exist_ok=True)
        tokens = (f"##w{i}" if i % 2 else f"w{i}" for i in range(self.num_tokens))
        tokens = [*SPECIAL_TOKENS, *tokens]
        words = SimpleNamespace(get_vocabulary=lambda: tokens, lowercase=True)
        records = [
            (d, np.arange(self.starts[d], self.starts[d + 1]) + 5, lengths)
            for d, lengths in enumerate(self.sentence_lengths)
        ]
        shards = [(shard_name(i, num_shards), records[i::num_shards]) for i in range(num_shards)]
        counts = [write_shard(folder / name, "uint16", own) for name, own in shards]
        return finish_corpus(folder, words, counts)


@pytest.fixture(scope="session")
def documents():
    return Documents()


@pytest.fixture(scope="session")
def corpus(documents, tmp_path_factory):
    return documents.write(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def batches():
    """A function: a corpus's batches as arrays, those of an epoch by default."""

    def batches(corpus, count=None, **options):
        options = {"batch_size": 8, "sequence_length": 64, "epochs": 1, **options}
        dataset = pretraining_dataset(corpus, **options)
        return list((dataset if count is None else dataset.take(count)).as_numpy_iterator())

    return batches


@pytest.fixture(scope="session")
def one_epoch(corpus, batches):
    """The batches of an epoch with the default seed. Tracing a pipeline takes most of a test."""
    return batches(corpus)


@pytest.fixture(scope="session")
def one_epoch_in_rows(corpus, batches):
    return batches(corpus, batch_size=1)


@pytest.fixture(scope="session")
def restored_rows():
    """A function: sequences with the masked words put back, `(ids, length of A, of B, label)`."""

    def restored_rows(found):
        rows = []
        for x, y, weights in found:
            sequence_ids = x.get("sequence_ids", x.get("padding_mask"))
            for i, ids in enumerate(x["token_ids"].copy()):
                used = weights["masked_lm"][i] > 0
                ids[x["mask_positions"][i][used]] = y["masked_lm"][i][used]
                for slot in range(sequence_ids[i].max()):
                    places = sequence_ids[i] == slot + 1
                    second = int(x["segment_ids"][i, places].sum())
                    label = np.ravel(y["next_sentence"][i])[slot] if "next_sentence" in y else None
                    rows.append((ids[places], places.sum() - second - 2, second - 1, label))
        return rows

    return restored_rows


@pytest.fixture(scope="session")
def tokenizer():
    """A tokenizer of a full stop and `WORDS`."""
    return keras_bert.BertTokenizer([*SPECIAL_TOKENS, ".", *WORDS])


@pytest.fixture(scope="session")
def prepare(tokenizer):
    """`prepare_corpus` with this tokenizer or another, in this process and without a bar."""

    def prepare(inputs, output, tokenizer=tokenizer, **more):
        more = {"num_workers": 1, "progress": False, **more}
        return keras_bert.prepare_corpus(inputs, output, tokenizer, **more)

    return prepare
