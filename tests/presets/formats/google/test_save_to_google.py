"""TF1 checkpoints are written under Google's names, and load bit for bit."""

import json

import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertPretrainer,
    BertSpanLabeler,
    BertTask,
    BertTokenizer,
)

tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")

CLASSES = {"output_weights": (3, 32), "output_bias": (3,)}


def variables_of(folder):
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def equal(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_the_files_equal_those_of_googles_code(google, golden, tmp_path):
    BertPretrainer.from_preset(google()).save_to_google(tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), golden["weight"])
    config = json.loads((tmp_path / "ours" / "bert_config.json").read_text())
    assert golden["config"].items() <= config.items()
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    data, index = "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"
    assert names == ["bert_config.json", data, index, "vocab.txt"]
    written = (tmp_path / "ours" / "vocab.txt").read_bytes()
    assert written == (tmp_path / "theirs" / "vocab.txt").read_bytes()


def test_a_classifier_is_written_as_run_classifier_names_it(google, with_head, tmp_path):
    weights = with_head(CLASSES)
    BertClassifier.from_preset(google(weights)).save_to_google(tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), weights)


@pytest.mark.parametrize(
    ("make", "activation"),
    [
        (lambda backbone: backbone, "gelu"),
        (BertPretrainer, "gelu_approximate"),
        (lambda backbone: BertPretrainer(backbone, next_sentence=False), "gelu"),
        (lambda backbone: BertClassifier(backbone, 4), "relu"),
        (BertSpanLabeler, "tanh"),
    ],
    ids=["backbone", "pretrainer", "masked LM", "classifier", "span labeler"],
)
def test_every_model_comes_back_bit_for_bit(backbone, randomized, same, tmp_path, make, activation):
    encoder = backbone(activation=activation, dropout=0.2, attention_dropout=0.3, num_segments=4)
    model = randomized(make(encoder))
    model.save_to_google(tmp_path / "google")
    back = type(model).from_preset(tmp_path / "google")
    assert same(model, back)
    assert not back.load_report.new and not back.load_report.left_over
    saved, loaded = (getattr(part, "backbone", part).get_config() for part in (model, back))
    assert {**loaded, "name": ""} == {**saved, "name": ""}


def test_a_classifier_keeps_its_labels_its_tokenizer_and_its_dropout(backbone, words, tmp_path):
    tokenizer = BertTokenizer(words, lowercase=False)
    reader = BertClassifierPreprocessor(tokenizer, 16, label_names=["nein", "größer"])
    BertClassifier(backbone(num_layers=1), 2, reader, dropout=0.3).save_to_google(tmp_path)
    back = BertTask.from_preset(tmp_path)
    assert back.preprocessor.get_config() == reader.get_config() and back.dropout == 0.3
    wider = BertClassifier.from_preset(tmp_path, num_classes=3)
    assert wider.preprocessor.label_names == ["0", "1", "2"] and wider.dropout == 0.3


def test_a_span_labeler_is_written_as_run_squad_names_it(google, with_head, tmp_path):
    head = {"cls/squad/output_weights": (2, 32), "cls/squad/output_bias": (2,)}
    weights = with_head(head)
    model = BertTask.from_preset(google(weights), max_question_length=4)
    assert type(model) is BertSpanLabeler and model.preprocessor.null_threshold is None
    model.preprocessor.null_threshold, model.preprocessor.document_stride = -1.25, 64
    model.save_to_google(tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), weights)
    back = BertSpanLabeler.from_preset(tmp_path / "ours").preprocessor
    assert back.null_threshold == -1.25 and back.document_stride == 64


def test_an_embedder_is_written_as_its_encoder_with_a_warning(backbone, same, tmp_path, caplog):
    model = BertEmbedder(backbone(), pooling="cls")
    model.save_to_google(tmp_path / "google")
    assert "can't store the pooling of a BertEmbedder (pooling='cls'" in caplog.text
    assert same(BertBackbone.from_preset(tmp_path / "google"), model.backbone)


@pytest.mark.parametrize(
    ("model", "encoder", "message"),
    [
        ({}, {"activation": "silu"}, "activation='silu'; .* 'relu'"),
        ({"next_sentence": False}, {"causal": True}, "causal=True; .* False"),
        ({}, {"layer_norm_epsilon": 1e-5}, "layer_norm_epsilon=1e-05; .* 1e-12"),
        ({"masked_lm_epsilon": 1e-3}, {}, "masked_lm_epsilon=0.001; .* 1e-12"),
        ({"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'; .* 'gelu'"),
        ({"tie_embeddings": False}, {}, "tie_embeddings=False; .* True.*or write model.backbone"),
    ],
)
def test_what_googles_code_does_not_support_is_refused(backbone, tmp_path, model, encoder, message):
    with pytest.raises(ValueError, match=message):
        BertPretrainer(backbone(num_layers=1, **encoder), **model).save_to_google(tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.shared
def test_a_published_checkpoint_with_adam_slots_survives_a_round_trip(shared_data, tmp_path):
    source = shared_data / "checkpoints" / "google-tf1-toy"
    model = BertTask.from_preset(source)
    assert type(model) is BertPretrainer and model.next_sentence
    assert not model.load_report.new and not model.load_report.left_over
    theirs = variables_of(source)
    kept = {name: w for name, w in theirs.items() if name.startswith(("bert/", "cls/"))}
    kept = {name: w for name, w in kept.items() if "adam" not in name}
    assert len(kept) == 46 < len(theirs)
    model.save_to_google(tmp_path / "ours")
    assert equal(variables_of(tmp_path / "ours"), kept)
