"""Causal encoders: what they see, what they keep, what they refuse."""

import json
import logging

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertTask,
)
from keras_bert.layers.packed_rows import ClsVectors


@pytest.fixture
def causal(make_backbone, randomized):
    return randomized(make_backbone(causal=True, dropout=0.0))


def test_the_pooled_vector_is_that_of_the_last_token(assert_close, causal, inputs):
    found, lengths = causal(inputs), inputs["padding_mask"].sum(axis=1)
    states = keras.ops.convert_to_numpy(found["sequence_output"])
    assert_close(found["pooled_output"], causal.pooler(states[np.arange(8), lengths - 1]))


def test_a_batch_without_rows_has_no_last_vectors():
    assert tuple(ClsVectors(last=True)(np.ones((0, 5, 4))).shape) == (0, 4)


@pytest.mark.parametrize("name", ["BertTokenClassifier", "BertSpanLabeler"])
def test_heads_that_judge_tokens_say_what_these_see(name, causal, make_backbone, caplog):
    arguments = {} if name == "BertSpanLabeler" else {"num_classes": 2}
    with caplog.at_level(logging.WARNING, "keras_bert"):
        getattr(keras_bert, name)(make_backbone(), **arguments)
        BertClassifier(causal, 2)
        assert not caplog.records
        getattr(keras_bert, name)(causal, **arguments)
    [record] = caplog.records
    assert f"{name} has a causal encoder" in record.getMessage()


def test_tasks_of_both_sides_refuse_a_causal_encoder(causal, refused):
    refused("pass next_sentence=False", BertPretrainer, causal)
    refused('Pass pooling="mean" or "max"', BertEmbedder, causal, pooling="cls")
    model = BertPretrainer(causal, next_sentence=False)
    refused("both sides of a .MASK.*score_texts.py", model.fill_mask, "a [MASK]")


def test_other_libraries_hold_no_causal_encoder_that_they_would_read_otherwise(
    causal, tmp_path, refused
):
    model = BertPretrainer(causal, next_sentence=False)
    for model in (BertClassifier(causal, 2), BertMultipleChoice(causal)):
        message = "causal=True; .*transformers.* False.*save_to_pr"
        refused(message, model.save_to_hugging_face, tmp_path / "theirs")
    BertClassifier(causal, 2).backbone.save_to_hugging_face(tmp_path / "theirs")
    assert BertBackbone.from_preset(tmp_path / "theirs").causal


def test_classifiers_of_decoders_are_not_read_otherwise(make_backbone, tmp_path, refused):
    BertClassifier(make_backbone(), 2).save_to_hugging_face(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "is_decoder": True}))
    for make in (BertClassifier, BertTask):
        refused("decoder.*.CLS..*last token", make.from_preset, tmp_path)
    assert BertBackbone.from_preset(tmp_path).causal
