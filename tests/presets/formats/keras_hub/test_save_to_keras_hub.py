"""Presets for KerasHub load there with the same outputs, and come back bit for bit."""

import json
import logging

import keras
import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertPreprocessor,
    BertPretrainer,
    BertReranker,
    BertTask,
    BertTokenizer,
)

keras_hub = pytest.importorskip("keras_hub", reason="pip install keras-hub")

OURS = {
    "BertBackbone": lambda backbone: backbone,
    "BertMaskedLM": lambda backbone: BertPretrainer(
        backbone, next_sentence=False, masked_lm_activation="gelu", masked_lm_epsilon=1e-5
    ),
    "BertTextClassifier": lambda backbone: BertClassifier(backbone, 3, dropout=0.3),
    "BertTextEmbedder": lambda backbone: BertEmbedder(backbone, pooling="max", normalize=False),
}


@pytest.mark.parametrize("task", OURS)
def test_kerashub_loads_our_presets(
    assert_same_outputs, backbone, randomized, same, caplog, tmp_path, task
):
    num_layers = 2 if task == "BertBackbone" else 1
    encoder = backbone(num_layers=num_layers, activation="gelu_approximate", dropout=0.2)
    ours = randomized(OURS[task](encoder))
    with caplog.at_level(logging.WARNING, "keras_bert"):
        ours.save_to_keras_hub(tmp_path / "theirs")
    assert not caplog.text, "nothing is lost"
    without_text = {} if task == "BertBackbone" else {"preprocessor": None}
    theirs = getattr(keras_hub.models, task).from_preset(str(tmp_path / "theirs"), **without_text)
    assert_same_outputs(ours, theirs)
    assert getattr(theirs, "backbone", theirs).dropout == 0.2
    back = type(ours).from_preset(tmp_path / "theirs")
    assert same(ours, back) and not back.load_report.new


def test_label_names_may_be_lost_there(backbone, preprocessor, tmp_path):
    reader = BertClassifierPreprocessor.like(preprocessor, label_names=["nein", "größer"])
    encoder = backbone(num_layers=1, activation="gelu_approximate")
    BertClassifier(encoder, 2, reader).save_to_keras_hub(tmp_path)
    path = tmp_path / "metadata.json"
    keys = {k: v for k, v in json.loads(path.read_text()).items() if "keras_bert" not in k}
    path.write_text(json.dumps(keys))  # as KerasHub saves it again
    assert BertTask.from_preset(tmp_path).preprocessor.label_names == ["0", "1"]


def test_a_reranker_is_written_as_its_encoder(backbone, preprocessor, same, tmp_path):
    encoder = backbone(num_layers=1, activation="gelu_approximate")
    BertReranker(encoder, preprocessor=preprocessor).save_to_keras_hub(tmp_path)
    assert same(BertBackbone.from_preset(tmp_path), encoder)


def test_our_text_gives_the_same_outputs_there(assert_close, backbone, randomized, words, tmp_path):
    preprocessor = BertPreprocessor(BertTokenizer(words, lowercase=False), sequence_length=12)
    ours = BertClassifier(backbone(num_layers=1, activation="gelu_approximate"), 3, preprocessor)
    randomized(ours).save_to_keras_hub(tmp_path)
    theirs = keras_hub.models.BertTextClassifier.from_preset(str(tmp_path))
    texts = ["a b c", "A b", "é", "", "a b c d e f g h i j k l m n o p"]
    found, expected = (model.preprocessor(texts) for model in (theirs, ours))
    for name in ("token_ids", "segment_ids", "padding_mask"):
        assert np.array_equal(expected[name], keras.ops.cast(found[name], "int32"))
    assert_close(theirs(found), ours(expected))


def test_small_differences_are_reported(
    assert_same_outputs, backbone, randomized, caplog, tmp_path
):
    other = {"activation": "gelu", "attention_dropout": 0.3, "layer_norm_epsilon": 1e-7}
    ours = randomized(BertPretrainer(backbone(num_layers=1, **other)))
    ours.save_to_keras_hub(tmp_path)
    for difference in (
        "activation='gelu' here, 'gelu_approximate' there",
        "layer_norm_epsilon=1e-07 here, 1e-12 there",
        "attention_dropout=0.3 here, 0.1 there",
        "masked_lm_epsilon=1e-07 here, 1e-05 there",
        "doesn't have next_sentence/kernel, next_sentence/bias: left out",
    ):
        assert difference in caplog.text
    theirs = keras_hub.models.BertMaskedLM.from_preset(str(tmp_path), preprocessor=None)
    assert_same_outputs(ours, theirs, sums=30_000)  # gelu and epsilons differ by 2 %
