import numpy as np
import pytest

from keras_bert import Batching
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
    numbers = range(len(rows.windows)) if numbers is None else numbers
    return rows.batch(np.array(numbers), batching)


def labeled_words(batch, tokenizer):
    """`[(pieces, label)]` of the words that are trained on."""
    inputs, found = batch[0], []
    rows = zip(inputs["token_ids"], inputs["padding_mask"], *batch[1:], strict=True)
    for ids, mask, labels, weights in rows:
        ids = ids[: mask.sum()]
        for first in np.flatnonzero(weights):
            end = first + 1
            while tokenizer.id_to_token(int(ids[end])).startswith("##"):
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
    assert found == list(zip(pieces, sum(labels, []), strict=True))
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
    for first, own_first, own_last, last in rows.windows:
        assert first <= own_first < own_last <= last
        assert rows.starts[last] - rows.starts[first] <= 8
        assert (document[first:last] == document[own_first]).all()
        if first and document[first - 1] == document[own_first]:  # no word more would fit
            assert rows.starts[last] - rows.starts[first - 1] > 8


def test_words_without_pieces_and_words_too_long_are_kept(preprocessor):
    words, labels = [["\u200d", "a"], ["abcdefghijklmnop", "b"]], [[1, 2], [3, 4]]
    inputs, labels, _ = batch_of(TaggedRows(listed(words), preprocessor, labels=labels))
    assert inputs["token_ids"][0, :4].tolist() == [2, 1, 5, 3]
    assert labels[0, :4].tolist() == [0, 1, 2, 0]
    assert labels[1:, 1].tolist() == [3, 4]
    assert inputs["padding_mask"].sum(axis=1).tolist() == [4, 10, 3]
