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


def batch_of(rows, numbers=None, batching=FULL):
    """`(inputs, labels, weights)` of some rows, or of all, as arrays."""
    numbers = range(len(rows.words)) if numbers is None else numbers
    return rows.batch(np.array(numbers), batching)


def labeled_words(batch, tokenizer):
    """`[(pieces, label)]` of the words that are trained on."""
    inputs, found = batch[0], []
    rows = zip(inputs["token_ids"], inputs["padding_mask"], *batch[1:], strict=True)
    for ids, mask, labels, weights in rows:
        ids = ids[: mask.sum()]
        for first in np.flatnonzero(weights):
            end = first + 1
            while end < len(ids) and tokenizer.id_to_token(int(ids[end])).startswith("##"):
                end += 1
            found.append((ids[first:end].tolist(), int(labels[first])))
    return found


@pytest.mark.parametrize("documents", [None, [i // 7 for i in range(100)]])
@pytest.mark.parametrize("batching", [FULL, LONGEST])
def test_first_pieces_are_trained_on_once(preprocessor, sentences, pieces, documents, batching):
    words, labels = sentences
    rows = TaggedRows(listed(words, documents), preprocessor, labels)
    batch = batch_of(rows, batching=batching)
    found = labeled_words(batch, preprocessor.tokenizer)
    assert [label for _, label in found] == sum(labels, [])
    for (own, _), whole in zip(found, pieces, strict=True):  # a window may cut a word's end
        assert own == whole[: len(own)] and len(own) >= min(len(whole), 2)
    assert rows.at_words(batch[0]["token_ids"]).tolist() == [ids[0] for ids in pieces]


def test_rows_are_what_the_preprocessor_makes_of_the_sentence(preprocessor):
    words = [["ab", "c"], ["d"], ["abc", "defg", "h"]]
    rows = TaggedRows(listed(words), preprocessor, labels=[[1, 2], [3], [4, 5, 6]])
    inputs, labels, weights = batch_of(rows, [2, 0, 1])
    for name, values in preprocessor(["abc defg h", "ab c", "d"]).items():
        assert np.array_equal(inputs[name], values)
    assert labels[0].tolist() == [0, 4, 0, 0, 5, 0, 0, 0, 6, 0]
    assert weights[0].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 1, 0]
    assert (labels.dtype, weights.dtype) == ("int32", "float32")
    assert rows.num_tokens().tolist() == [5, 3, 10]
    assert batch_of(rows, [0, 1], LONGEST)[1].shape == (2, 5)


@pytest.mark.parametrize("seed", range(3))
def test_context_never_leaves_the_sequence_or_the_document(preprocessor, sentences, seed):
    words, _ = sentences
    documents = np.sort(np.random.default_rng(seed).integers(0, 20, 100))
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


@pytest.mark.parametrize("seed", range(3))
def test_long_lists_of_words_have_the_windows_of_their_text(tokenizer, seed):
    preprocessor = BertTokenClassifierPreprocessor(tokenizer, 10, label_names=["O", "B-X"])
    generator = np.random.default_rng(seed)
    words = ["".join(generator.choice([*LETTERS], n)) for n in generator.integers(1, 4, 50)]
    rows, text = preprocessor.read([words]), preprocessor.read([" ".join(words)])
    [windows], [others] = rows.columns, text.columns
    assert len(windows.starts) > 5
    assert np.array_equal(windows.starts, others.starts[np.unique(text.window)])
    row, word, position = rows._first_pieces(np.arange(len(windows.starts)))
    assert np.array_equal(row, np.unique(text.window, return_inverse=True)[1])
    assert np.array_equal(word, np.arange(50)) and np.array_equal(position, text.position)


def test_words_without_pieces_and_words_too_long_are_kept(preprocessor):
    words, labels = [["\u200d", "a"], ["abcdefghijklmnop", "b"]], [[1, 2], [3, 4]]
    inputs, labels, _ = batch_of(TaggedRows(listed(words), preprocessor, labels=labels))
    assert inputs["token_ids"][0, :4].tolist() == [2, 1, 5, 3]
    assert labels[0, :4].tolist() == [0, 1, 2, 0]
    assert (labels[1, 1], labels[2, 5]) == (3, 4)
    assert inputs["padding_mask"].sum(axis=1).tolist() == [4, 10, 7]
