"""The likeliest words for [MASK]."""

import numpy as np
import pytest

from keras_bert import BertPretrainer
from keras_bert.preprocessing.whole_texts import masked_inputs

TEXTS = ["a [MASK] c", "[MASK] b [MASK] d e", "[MASK]", "f g h i [MASK]", "k [MASK] l"]


@pytest.fixture
def model(make_backbone, preprocessor, randomized):
    return randomized(BertPretrainer(make_backbone(vocabulary_size=32), preprocessor=preprocessor))


def test_the_tokens_are_those_of_the_largest_logits(model):
    answers = model.fill_mask(TEXTS, top_k=3, batch_size=2)
    assert [len(answer) for answer in answers] == [1, 2, 1, 1, 1]
    tokens = model.preprocessor.tokenizer.get_vocabulary()
    for text, answer in zip(TEXTS, answers, strict=True):
        inputs, [count] = masked_inputs([text], model.preprocessor)
        logits = np.asarray(model.predict_on_batch(inputs)["masked_lm"][0])[:, : len(tokens)]
        for slot in range(count):
            likely = np.exp(logits[slot]) / np.exp(logits[slot]).sum()
            best = np.argsort(-likely)[:3]
            assert [word["token"] for word in answer[slot]] == [tokens[i] for i in best]
            scores = [word["score"] for word in answer[slot]]
            assert np.allclose(scores, likely[best], rtol=1e-4)


def test_one_text_gives_one_answer(model):
    [alone] = model.fill_mask(TEXTS[0], top_k=2)
    [[among]] = model.fill_mask(TEXTS[:1], top_k=2)
    assert [word["token"] for word in alone] == [word["token"] for word in among]


def test_spare_rows_of_the_table_are_never_words(model):
    table = model.backbone.vocabulary_size
    words = {word["token"] for word in model.fill_mask("a [MASK]", top_k=table)[0]}
    assert words == set(model.preprocessor.tokenizer.get_vocabulary())


def test_text_without_a_preprocessor_is_refused(make_backbone):
    with pytest.raises(ValueError, match="has no preprocessor"):
        BertPretrainer(make_backbone()).fill_mask("a [MASK]")
