"""Habits with other tasks: embedders, rerankers, pre-training, tags, many devices."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import (
    BertEmbedder,
    BertPretrainer,
    BertReranker,
)
from keras_bert.metrics.entities import tagged_entities
from tests.habits.conftest import EAGERLY

SGD = keras.optimizers.SGD


@pytest.fixture
def embedder(make_encoder, tokenizer):
    reader = keras_bert.BertEmbedderPreprocessor(tokenizer, 8)
    return BertEmbedder(make_encoder(), preprocessor=reader)


@pytest.fixture
def reranker(make_encoder, tokenizer):
    reader = keras_bert.BertRerankerPreprocessor(tokenizer, 12)
    return BertReranker(make_encoder(), preprocessor=reader)


def test_search_of_bfloat16_vectors(embedder, texts):
    dtypes = pytest.importorskip("ml_dtypes", reason="comes with TensorFlow and JAX")
    vectors = embedder.encode_document(texts)
    first = embedder.search("a b", vectors, top_k=3)
    second = embedder.search("a b", vectors.astype(dtypes.bfloat16), top_k=3)
    assert len(first) == len(second)


def test_a_dict_of_losses(make_encoder):
    model = BertPretrainer(make_encoder())
    losses = {
        name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        for name in ("masked_lm", "next_sentence")
    }
    weights = {"masked_lm": 1.0, "next_sentence": 0.5}
    model.compile(SGD(0.1), loss=losses, loss_weights=weights, run_eagerly=EAGERLY)
    x = {
        "token_ids": np.array([[2, 7, 8, 3], [2, 9, 4, 3]]),
        "mask_positions": np.array([[1], [2]]),
    }
    y = {"masked_lm": np.array([[7], [9]]), "next_sentence": np.array([0, 1])}
    scores = model.evaluate(x, y, return_dict=True, verbose=0)
    parts = scores["masked_lm_loss"] + 0.5 * scores["next_sentence_loss"]
    assert scores["loss"] == pytest.approx(parts, rel=1e-5)


def test_a_dataset_of_unknown_length(sgd_model, texts, labels, plain, trained_as):
    tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")
    x = sgd_model.preprocessor(texts)
    dataset = tf.data.Dataset.from_tensor_slices((x, np.array(labels)))
    dataset = dataset.batch(4, drop_remainder=True).filter(lambda x, y: True)
    history = sgd_model.fit(dataset, epochs=3, verbose=0)
    assert int(sgd_model.optimizer.iterations) == 6
    trained_as(sgd_model, history, plain(3))


def test_tags_of_bilou_without_types():
    assert tagged_entities(["B", "L", "O", "U"]) == [("", 0, 2), ("", 3, 4)]
