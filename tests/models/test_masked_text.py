"""Texts with [MASK] become what a pre-trainer takes."""

import numpy as np
import pytest

from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.models.bert_pretrainer import masked_inputs

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] rain in spain ##s . mask".split()


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(BertTokenizer(WORDS), sequence_length=8)


def test_masked_tokens_stand_where_the_words_were(preprocessor):
    inputs, counts = masked_inputs(["[MASK]s in[MASK].", "Rain [MASK]"], preprocessor)
    assert inputs["token_ids"].tolist() == [[2, 4, 1, 6, 4, 9, 3], [2, 5, 4, 3, 0, 0, 0]]
    assert inputs["mask_positions"].tolist() == [[1, 4], [2, 0]] and counts == [2, 1]
    assert np.array_equal(inputs["padding_mask"], inputs["token_ids"] > 0)
    assert {values.dtype for values in inputs.values()} == {np.dtype("int32")}


def test_a_long_text_is_cut_after_its_masked_tokens(preprocessor, refused):
    inputs, _ = masked_inputs(["[MASK] " + "rain " * 20], preprocessor)
    assert inputs["token_ids"].tolist() == [[2, 4, 5, 5, 5, 5, 5, 3]]
    texts = ["rain " * 6 + "[MASK]"]
    refused(r"\[MASK\] beyond the 6 tokens read", masked_inputs, texts, preprocessor)
