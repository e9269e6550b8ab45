import numpy as np
import pytest

from keras_bert import BertPreprocessor
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.text_rows import TextRows, windowed
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import Tokens

ROOM = 6
COUNTS = np.array([0, 1, 6, 7, 8, 12, 13, 21])


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertPreprocessor(tokenizer, sequence_length=ROOM + 2)


@pytest.fixture(scope="module")
def rows(preprocessor):
    """Texts of the tokens 100, 101, ...; each text has a label, a weight and a number."""
    ids, numbers = 100 + np.arange(COUNTS.sum(), dtype="int32"), np.arange(len(COUNTS))
    return TextRows(
        preprocessor.packer,
        (Tokens.of(ids, COUNTS, numpy_ops),),
        extra_inputs={"features": 10 * numbers},
        targets=(2 * numbers, numbers / 2),
    )


def texts_of(tokens):
    spans = zip(tokens.starts, tokens.lengths, strict=True)
    return [tokens.values[start : start + length].tolist() for start, length in spans]


def test_each_text_is_a_row_with_its_labels_and_numbers(rows):
    assert rows.num_tokens().tolist() == [min(n, ROOM) + 2 for n in COUNTS]
    inputs, labels, weights = rows.batch(np.array([7, 2]), Batching(pad_to="full"))
    texts = texts_of(rows.columns[0])
    assert [ids[1:-1] for ids in inputs["token_ids"].tolist()] == [texts[7][:ROOM], texts[2]]
    assert inputs["padding_mask"].all() and not inputs["segment_ids"].any()
    assert inputs["features"].tolist() == [70, 20]
    assert labels.tolist() == [14, 4] and weights.tolist() == [3.5, 1]


def test_a_pair_has_the_tokens_of_both(rows, preprocessor):
    pairs = TextRows(preprocessor.packer, (rows.columns[0], rows.columns[0]))
    assert pairs.num_tokens().tolist() == [min(2 * n + 3, ROOM + 2) for n in COUNTS]
    with pytest.raises(ValueError, match="need single texts.*None"):
        windowed(pairs, 1)


@pytest.mark.parametrize("stride", [1, 2, 4, ROOM])
def test_windows_start_a_stride_apart_until_one_reaches_the_end(rows, stride):
    expected, owners = [], []
    for owner, text in enumerate(texts_of(rows.columns[0])):
        first = 0
        while True:
            expected.append(text[first : first + ROOM])
            owners.append(owner)
            if first + ROOM >= len(text):
                break
            first += stride
    found = windowed(rows, stride)
    assert texts_of(found.columns[0]) == expected
    assert found.counts.tolist() == np.bincount(owners).tolist()
    assert found.num_tokens().tolist() == [len(window) + 2 for window in expected]
    numbers = np.arange(len(expected))[::-1]
    inputs, labels, weights = found.batch(numbers, Batching(pad_to="longest"))
    assert inputs["features"].tolist() == [10 * owner for owner in owners[::-1]]
    assert labels.tolist() == [2 * owner for owner in owners[::-1]]
    assert weights.tolist() == [owner / 2 for owner in owners[::-1]]
