"""Words for [MASK]."""

import numpy as np
import pytest

from keras_bert import BertPreprocessor, BertPretrainer
from keras_bert.preprocessing.whole_texts import masked_inputs


@pytest.fixture
def masked(make_backbone, letters, varied, eager):
    """A model whose table has two spare rows."""
    reader = BertPreprocessor(letters, sequence_length=12)
    return eager(varied(BertPretrainer(make_backbone(vocabulary_size=32), False, reader)))


def test_masks_are_filled_with_the_tokens_of_the_largest_logits(masked, assert_close, refused):
    texts = ["a [MASK] c", "[MASK] b [MASK] d e", "[MASK]"]
    answers = masked.fill_mask(texts, top_k=3, batch_size=2)
    assert [len(answer) for answer in answers] == [1, 2, 1]
    tokens = masked.preprocessor.tokenizer.get_vocabulary()
    for text, answer in zip(texts, answers, strict=True):
        inputs, _ = masked_inputs([text], masked.preprocessor)
        [logits] = np.asarray(masked.predict_on_batch(inputs)["masked_lm"])[..., : len(tokens)]
        for words, likely in zip(answer, np.exp(logits), strict=False):
            best = np.argsort(-likely)[:3]
            assert [word["token"] for word in words] == [tokens[i] for i in best]
            assert_close([word["score"] for word in words], likely[best] / likely.sum())
    [alone] = masked.fill_mask(texts[0], top_k=3)
    assert [word["token"] for word in alone] == [word["token"] for word in answers[0][0]]
    every = masked.fill_mask("a [MASK]", top_k=32)[0]  # spare rows of the table are no words
    assert {word["token"] for word in every} == set(tokens)
    masked.preprocessor = None
    refused("Text needs a preprocessor", masked.fill_mask, texts)
