import numpy as np
import pytest
import tensorflow as tf
from keras_bert.preprocessing.tagged_dataset import tagged_dataset
from keras_bert.preprocessing.tagged_windows import TaggedWindows

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer

LETTERS = "abcdefghijklmnopqrst"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS)]


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(BertTokenizer(VOCABULARY), sequence_length=10)


@pytest.fixture(scope="module")
def sentences():
    """A hundred sentences of up to 20 words of 1 to 9 pieces, and as many labels."""
    generator = np.random.default_rng(1)
    words = [
        ["".join(generator.choice(list(LETTERS), n)) for n in generator.integers(1, 10, length)]
        for length in generator.integers(0, 20, 100)
    ]
    return words, [[len(word) * 7 % 11 for word in sentence] for sentence in words]


def rows(dataset):
    return [
        {**inputs, "labels": labels, "weights": weights}
        for inputs, labels, weights in dataset.unbatch().as_numpy_iterator()
    ]


def labelled_words(row, tokenizer):
    """`[(pieces, label)]` of the words of a row that are learnt."""
    ids = row["token_ids"][: row["padding_mask"].sum()]
    firsts = np.flatnonzero(row["weights"])
    found = []
    for first in firsts:
        end = first + 1
        while tokenizer.id_to_token(int(ids[end])).startswith("##"):
            end += 1
        found.append((ids[first:end].tolist(), int(row["labels"][first])))
    return found


@pytest.mark.parametrize("with_documents", [False, True])
@pytest.mark.parametrize("trim", [False, True])
def test_every_word_is_learnt_once_on_its_first_piece(
    preprocessor, sentences, with_documents, trim
):
    words, labels = sentences
    tokenizer = preprocessor.tokenizer
    documents = [i // 7 for i in range(100)] if with_documents else None
    data = tagged_dataset(
        words, labels, preprocessor=preprocessor, batch_size=8, documents=documents, trim=trim
    )
    found = [pair for row in rows(data) for pair in labelled_words(row, tokenizer)]
    expected = [
        (tokenizer([word])[0].numpy().tolist()[:8], label)
        for pair in zip(words, labels, strict=True)
        for word, label in zip(*pair, strict=True)
    ]
    assert found == expected


def test_rows_are_what_the_preprocessor_makes_of_the_sentence(preprocessor):
    words = [["ab", "c"], ["d"], ["abc", "defg", "h"]]
    data = tagged_dataset(words, [[1, 2], [3], [4, 5, 6]], preprocessor=preprocessor, batch_size=2)
    expected = preprocessor(["ab c", "d", "abc defg h"])
    for index, row in enumerate(rows(data)):
        for name, values in expected.items():
            assert row[name].tolist() == values[index].numpy().tolist()
    assert row["labels"].tolist() == [0, 4, 0, 0, 5, 0, 0, 0, 6, 0]
    assert row["weights"].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 1, 0]
    assert data.element_spec[1] == tf.TensorSpec([None, 10], tf.int32)
    assert data.element_spec[2] == tf.TensorSpec([None, 10], tf.float32)
    assert len(data) == 2


def test_long_sentences_are_parted_between_words(preprocessor):
    words = [["abc", "de", "fgh", "ij", "klmnop", "qr"]]  # 3 2 3 | 2 6 | 2 pieces for 8
    windows = TaggedWindows(words, preprocessor)
    assert windows.windows.tolist() == [[0, 0, 3, 3], [3, 3, 5, 5], [5, 5, 6, 6]]
    window, position = windows.places()
    assert window.tolist() == [0, 0, 0, 1, 1, 2]
    assert position.tolist() == [1, 4, 6, 1, 3, 1]


def test_context_comes_from_the_document_alone_and_fills_the_sequence(preprocessor):
    words = [["ab", "cd", "e"], ["fg"], ["h", "ij", "kl"], ["mn", "op"]]
    windows = TaggedWindows(words, preprocessor, documents=[0, 0, 0, 1])
    # pieces before each word 0 2 4 | 5 | 7 8 10 | 12 14, and 16 in all; eight fit
    assert windows.windows.tolist() == [[0, 0, 3, 5], [1, 3, 4, 6], [2, 4, 7, 7], [7, 7, 9, 9]]
    own = TaggedWindows(words, preprocessor)
    assert own.windows[:, 1:3].tolist() == windows.windows[:, 1:3].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_context_never_leaves_the_sequence_or_the_document(preprocessor, sentences, seed):
    words, _ = sentences
    documents = np.sort(np.random.default_rng(seed).integers(0, 20, 100))
    windows = TaggedWindows(words, preprocessor, documents)
    document = np.repeat(documents, windows.lengths)
    for first, own_first, own_last, last in windows.windows:
        assert first <= own_first < own_last <= last
        assert windows.starts[last] - windows.starts[first] <= 8
        assert (document[first:last] == document[own_first]).all()
        if first and document[first - 1] == document[own_first]:  # no word more would fit
            assert windows.starts[last] - windows.starts[first - 1] > 8


def test_words_without_pieces_and_words_too_long_are_kept(preprocessor):
    data = tagged_dataset(
        [["\u200d", "a"], ["abcdefghijklmnop", "b"]],
        [[1, 2], [3, 4]],
        preprocessor=preprocessor,
        batch_size=4,
    )
    first, second, third = rows(data)
    assert first["token_ids"][:4].tolist() == [2, 1, 5, 3]
    assert first["labels"][:4].tolist() == [0, 1, 2, 0]
    assert second["labels"][1] == 3 and second["padding_mask"].sum() == 10
    assert third["labels"][1] == 4 and third["padding_mask"].sum() == 3


def test_shuffling_is_seeded_and_loses_nothing(preprocessor, sentences):
    words, labels = sentences

    def first_epoch(seed):
        data = tagged_dataset(
            words, labels, preprocessor=preprocessor, batch_size=8, shuffle=True, seed=seed
        )
        return [row["token_ids"].tolist() for row in rows(data)]

    assert first_epoch(1) == first_epoch(1) != first_epoch(2)
    assert sorted(first_epoch(1)) == sorted(first_epoch(2))


def test_without_labels_there_are_inputs_alone(preprocessor):
    data = tagged_dataset([["a", "b"]], preprocessor=preprocessor, batch_size=2)
    assert set(data.element_spec) == {"token_ids", "segment_ids", "padding_mask"}


@pytest.mark.parametrize(
    ("words", "labels", "options", "message"),
    [
        ([], [], {}, "There are no words"),
        ([[], []], None, {}, "There are no words"),
        (["a b"], None, {}, "Sentence 0 is a string, 'a b'"),
        ([["a"], ["a", 3]], None, {}, "Sentence 1 holds 3"),
        ([["a"]], [], {}, "1 sentences but labels of 0"),
        ([["a"], ["b"]], [[0], [0, 1]], {}, "Sentence 1 has 1 words but 2 labels"),
        ([["a"]], [[0]], {"documents": [0, 1]}, "1 sentences but 2 documents"),
        ([["a"]], [[0]], {"batch_size": 0}, "batch_size must be at least 1"),
    ],
)
def test_what_are_no_tagged_sentences_is_refused(preprocessor, words, labels, options, message):
    with pytest.raises(ValueError, match=message):
        tagged_dataset(words, labels, **{"preprocessor": preprocessor, "batch_size": 1, **options})
