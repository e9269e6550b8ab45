import itertools

import numpy as np
import pytest

from keras_bert import Batching, BertTokenClassifierPreprocessor
from keras_bert.preprocessing.tagged_rows import Sentences, TaggedRows

LETTERS = "abcdefghijklmnopqrst"
FULL, LONGEST = Batching(pad_to="full"), Batching(pad_to="longest")


@pytest.fixture(scope="module")
def sentences():
    """A hundred sentences of up to 20 words of 1 to 9 pieces, and as many labels."""
    generator = np.random.default_rng(1)
    words = [
        ["".join(generator.choice(list(LETTERS), n)) for n in generator.integers(1, 10, length)]
        for length in generator.integers(0, 20, 100)
    ]
    return words, [[len(word) * 7 % 11 for word in sentence] for sentence in words]


@pytest.fixture(scope="module")
def pieces(tokenizer, sentences):
    """The pieces of each word, as many as fit a sequence, one word at a time."""
    return [ids[:8] for ids in tokenizer([word for sentence in sentences[0] for word in sentence])]


def listed(words, documents=None):
    return Sentences.of({"words": words, "documents": documents})


def batch_of(rows, batching=FULL):
    """`(inputs, labels, weights)` of all rows, as arrays."""
    return rows.batch(np.arange(len(rows.words)), batching)


def test_first_pieces_are_trained_on_once(preprocessor, sentences, pieces):
    words, labels = sentences
    in_documents = [i // 7 for i in range(100)]
    for documents, batching in itertools.product((None, in_documents), (FULL, LONGEST)):
        rows = TaggedRows(listed(words, documents), preprocessor, labels)
        inputs, found, weights = batch_of(rows, batching)
        assert found[weights > 0].tolist() == sum(labels, [])
        assert (found.dtype, weights.dtype) == ("int32", "float32")
        for whole, row, first in zip(pieces, *np.nonzero(weights), strict=True):
            end = inputs["padding_mask"][row].sum() - 1  # a window may cut a word's end
            own = inputs["token_ids"][row, first:end][: len(whole)].tolist()
            assert own == whole[: len(own)] and len(own) >= min(len(whole), 2)
        assert rows.at_words(inputs["token_ids"]).tolist() == [ids[0] for ids in pieces]


def test_context_never_leaves_the_sequence_or_the_document(preprocessor, sentences):
    words, _ = sentences
    documents = np.sort(np.random.default_rng(0).integers(0, 20, 100))
    rows = TaggedRows(listed(words, documents), preprocessor)
    document = np.repeat(documents, rows.lengths)
    [windows] = rows.columns
    for start, size, (own_first, own_last) in zip(
        windows.starts, windows.lengths, rows.words, strict=True
    ):
        first, last = np.searchsorted(rows.starts, [start, start + size])
        assert first <= own_first < own_last <= last and size <= 8
        assert rows.starts[first] == start
        assert (document[first:last] == document[own_first]).all()
        if first and document[first - 1] == document[own_first]:  # no word more would fit
            assert rows.starts[last] - rows.starts[first - 1] > 8


def test_context_is_half_before_and_half_after_unless_the_document_ends(preprocessor):
    rows = TaggedRows(listed([[letter] for letter in LETTERS[:12]], [0] * 12), preprocessor)
    [windows] = rows.columns
    assert windows.starts.tolist() == [0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4, 4]


def test_long_lists_of_words_have_the_windows_of_their_text(tokenizer):
    preprocessor = BertTokenClassifierPreprocessor(tokenizer, 10, label_names=["O", "B-X"])
    generator = np.random.default_rng(0)
    words = ["".join(generator.choice([*LETTERS], n)) for n in generator.integers(1, 4, 50)]
    rows, text = preprocessor.read([words]), preprocessor.read([" ".join(words)])
    [windows], [others] = rows.columns, text.columns
    assert len(windows.starts) > 5
    assert np.array_equal(windows.starts, others.starts[np.unique(text.window)])
    positions = np.tile(np.arange(10), (len(windows.starts), 1))
    assert np.array_equal(rows.at_words(positions), text.position)


def test_a_word_without_pieces_is_unknown(preprocessor):
    rows = TaggedRows(listed([["\u200d", "a"]]), preprocessor, labels=[[1, 2]])
    inputs, labels, _ = batch_of(rows)
    assert inputs["token_ids"][0, :4].tolist() == [2, 1, 5, 3]
    assert labels[0, :4].tolist() == [0, 1, 2, 0]
