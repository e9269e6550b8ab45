"""How probable texts are, against one token of one row at a time."""

import keras
import numpy as np
import pytest

from _likelihoods import score_texts
from keras_bert import BertPreprocessor, BertPretrainer

TEXTS = ["a b c", "d", "e f g h i j k", "zz d", "o p q", "d"]


@pytest.fixture(scope="module")
def models(make_backbone, letters, varied, eager):
    """A masked and a causal model, whose table has two spare rows."""
    keras.utils.set_random_seed(1)
    made = {}
    for name in ("masked", "causal"):
        backbone = make_backbone(vocabulary_size=32, causal=name == "causal")
        model = BertPretrainer(backbone, False, BertPreprocessor(letters, sequence_length=12))
        made[name] = eager(varied(model))
    return made


@pytest.fixture(params=["masked", "causal"])
def model(request, models):
    return models[request.param]


@pytest.fixture
def masked(models):
    return models["masked"]


def one_by_one(model, text):
    """The tokens of a text and their log-likelihoods, a row and a position at a time."""
    [ids] = model.preprocessor([text])["token_ids"]
    ids = ids[ids != 0]
    found = []
    for place in range(1, len(ids) - 1):
        row = ids.copy()
        if not model.backbone.causal:
            row[place] = 4  # [MASK]
        position = place - 1 if model.backbone.causal else place
        x = {"token_ids": row[None], "mask_positions": np.array([[position]])}
        [[logits]] = np.asarray(model.predict_on_batch(x)["masked_lm"], "float64")
        found.append(logits[ids[place]] - np.log(np.exp(logits).sum()))
    tokens = model.preprocessor.tokenizer.get_vocabulary()
    return [tokens[i] for i in ids[1:-1]], found


@pytest.fixture(scope="module")
def expected(models):
    return {model.name: [one_by_one(model, text) for text in TEXTS] for model in models.values()}


def test_scores_are_those_of_one_token_at_a_time(assert_close, model, expected):
    scores = score_texts(model, TEXTS)
    for score, (tokens, likelihoods) in zip(scores, expected[model.name], strict=True):
        assert score["tokens"] == tokens
        assert_close(score["token_log_likelihoods"], likelihoods)
        assert_close(score["log_likelihood"], sum(likelihoods))
        assert score["perplexity"] == pytest.approx(np.exp(-np.mean(likelihoods)), rel=1e-5)
    assert len({round(score["log_likelihood"], 3) for score in scores}) == len(TEXTS) - 1
    assert scores[1] == scores[5]  # equal texts have equal scores, to the last bit
    for score, other in zip(scores, score_texts(model, TEXTS, 3), strict=True):
        assert_close(other["token_log_likelihoods"], score["token_log_likelihoods"])


def test_one_text_gives_one_score(model):
    alone, [among] = score_texts(model, TEXTS[0]), score_texts(model, TEXTS[:1])
    names = {"log_likelihood", "perplexity", "tokens", "token_log_likelihoods"}
    assert alone == among and alone.keys() == names
    assert score_texts(model, []) == []
    assert len(score_texts(model, "b " * 10)["tokens"]) == 10  # as many as the preprocessor reads


def test_equal_texts_have_equal_scores_in_whatever_batches_they_are(model):
    alike = [text.upper() for text in TEXTS]  # the same tokens
    for batch_size in (3, 5):
        scores = [
            found["log_likelihood"] for found in score_texts(model, TEXTS + alike, batch_size)
        ]
        assert scores[: len(TEXTS)] == scores[len(TEXTS) :]


def test_texts_that_have_no_score_are_refused(masked, refused):
    refused("Text 2 has no token to score: ' '", score_texts, masked, ["a", "b", " "])
    refused("texts must be a list of texts; got .'text': ", score_texts, masked, {"text": ["a"]})
    message = r"Text 1 has 11 tokens, .* sequence_length=12: 'b b"
    refused(message, score_texts, masked, ["a", "b " * 11])


def test_what_scores_need_is_named(make_backbone, masked, refused):
    bare = BertPretrainer(make_backbone())
    refused("Text needs a preprocessor", score_texts, bare, ["a"])
    refused("batch_size", score_texts, masked, ["a"], 0)
