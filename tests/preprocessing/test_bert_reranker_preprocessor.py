import numpy as np

from keras_bert import BertPreprocessor, BertRerankerPreprocessor


def test_each_document_is_packed_with_its_query(tokenizer):
    queries, *documents = ["a", "b c"], ["d e", "f"], ["g", "h i j k l m n"]
    rows = BertRerankerPreprocessor(tokenizer, 8).read((queries, *documents))
    [inputs] = rows.as_batch()
    for number, texts in enumerate(documents):
        for name, values in BertPreprocessor(tokenizer, 8)(queries, texts).items():
            assert np.array_equal(inputs[name][:, number], values)
