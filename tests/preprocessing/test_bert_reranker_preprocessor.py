import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from keras_bert import BertPreprocessor, BertRerankerPreprocessor
from keras_bert.preprocessing.text_rows import row_by_row


def test_each_document_is_packed_with_its_query(tokenizer):
    queries, *documents = ["a", "b c"], ["d e", "f"], ["g", "h i j k l m n"]
    rows = BertRerankerPreprocessor(tokenizer, 8).read((queries, *documents))
    [inputs] = rows.as_batch()
    for number, texts in enumerate(documents):
        for name, values in BertPreprocessor(tokenizer, 8)(queries, texts).items():
            assert np.array_equal(inputs[name][:, number], values)
    assert row_by_row(documents) == ["d e", "g", "f", "h i j k l m n"]
    of_tensors = row_by_row([*map(tf.constant, documents)])
    assert of_tensors.numpy().tolist() == [b"d e", b"g", b"f", b"h i j k l m n"]
