"""How probable texts are, against one token of one row at a time."""

import keras
import numpy as np
import pytest

from _likelihoods import score_texts
from keras_bert import BertPreprocessor, BertPretrainer

TEXTS = ["a b c", "d", "e f g h i j k", "zz d", "o p q", "d"]


@pytest.fixture(scope="module")
def model(make_backbone, letters, varied, eager):
    """A model whose table has two spare rows."""
    keras.utils.set_random_seed(1)
    backbone = make_backbone(vocabulary_size=32)
    reader = BertPreprocessor(letters, sequence_length=12)
    return eager(varied(BertPretrainer(backbone, False, reader)))


def one_by_one(model, text):
    """The tokens of a text and their log-likelihoods, a row and a position at a time."""
    [ids] = model.preprocessor([text])["token_ids"]
    ids = ids[ids != 0]
    found = []
    for place in range(1, len(ids) - 1):
        row = ids.copy()
        row[place] = 4  # [MASK]
        x = {"token_ids": row[None], "mask_positions": np.array([[place]])}
        [[logits]] = np.asarray(model.predict_on_batch(x)["masked_lm"], "float64")
        found.append(logits[ids[place]] - np.log(np.exp(logits).sum()))
    tokens = model.preprocessor.tokenizer.get_vocabulary()
    return [tokens[i] for i in ids[1:-1]], found


def test_scores_are_those_of_one_token_at_a_time(assert_close, model):
    scores = score_texts(model, TEXTS)
    for text, score in zip(TEXTS, scores, strict=True):
        tokens, likelihoods = one_by_one(model, text)
        assert score["tokens"] == tokens
        assert_close(score["token_log_likelihoods"], likelihoods)
        assert_close(score["log_likelihood"], sum(likelihoods))
        assert score["perplexity"] == pytest.approx(np.exp(-np.mean(likelihoods)), rel=1e-5)
    assert len({round(score["log_likelihood"], 3) for score in scores}) == len(TEXTS) - 1
    alike = [text.upper() for text in TEXTS]  # equal tokens score the same, to the last bit
    again = score_texts(model, TEXTS + alike, batch_size=3)
    assert again[: len(TEXTS)] == again[len(TEXTS) :]
    for score, other in zip(scores, again, strict=False):
        assert_close(other["token_log_likelihoods"], score["token_log_likelihoods"])


def test_texts_that_have_no_score_are_refused(make_backbone, model, refused):
    refused("Text 2 has no token to score: ' '", score_texts, model, ["a", "b", " "])
    message = r"Text 1 has 11 tokens, .* sequence_length=12: 'b b"
    refused(message, score_texts, model, ["b " * 10, "b " * 11])
    bare = BertPretrainer(make_backbone())
    refused("Text needs a preprocessor", score_texts, bare, ["a"])
