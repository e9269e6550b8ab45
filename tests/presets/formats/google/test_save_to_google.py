"""TF1 checkpoints are written under Google's names, and load bit for bit."""

import json

import pytest

import keras_bert
from keras_bert import BertBackbone, BertEmbedder, BertPretrainer, BertSpanLabeler, BertTask

tf = pytest.importorskip("tensorflow", reason="pip install tensorflow")


def variables_of(folder):
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def test_the_files_equal_those_of_googles_code(google, golden, same, tmp_path):
    BertPretrainer.from_preset(google()).save_to_google(tmp_path / "ours")
    assert same(variables_of(tmp_path / "ours"), golden["weight"])
    config = json.loads((tmp_path / "ours" / "bert_config.json").read_text())
    assert golden["config"].items() <= config.items()
    names = sorted(path.name for path in (tmp_path / "ours").iterdir())
    data, index = "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"
    assert names == ["bert_config.json", data, index, "vocab.txt"]
    written = (tmp_path / "ours" / "vocab.txt").read_bytes()
    assert written == (tmp_path / "theirs" / "vocab.txt").read_bytes()


def test_a_span_labeler_is_written_as_run_squad_names_it(google, with_head, same, tmp_path):
    weights = with_head({"cls/squad/output_weights": (2, 32), "cls/squad/output_bias": (2,)})
    model = BertTask.from_preset(google(weights), max_question_length=4)
    assert type(model) is BertSpanLabeler and model.preprocessor.null_threshold is None
    model.preprocessor.null_threshold, model.preprocessor.document_stride = -1.25, 64
    model.save_to_google(tmp_path / "ours")
    assert same(variables_of(tmp_path / "ours"), weights)
    back = BertSpanLabeler.from_preset(tmp_path / "ours").preprocessor
    assert back.null_threshold == -1.25 and back.document_stride == 64


def test_an_embedder_is_written_as_its_encoder_with_a_warning(backbone, same, tmp_path, caplog):
    model = BertEmbedder(backbone(dtype="float16"), pooling="cls")
    model.save_to_google(tmp_path / "google")
    assert "can't store the pooling of a BertEmbedder (pooling='cls'" in caplog.text
    assert same(BertBackbone.from_preset(tmp_path / "google"), model.backbone)
    assert {array.dtype.name for array in variables_of(tmp_path / "google").values()} == {"float32"}


def test_heads_that_googles_code_lacks_are_refused(backbone, tmp_path, refused):
    model = keras_bert.BertReranker(backbone(num_layers=1))
    refused("task=.BertReranker.*model.backbone", model.save_to_google, tmp_path / "ours")
    assert not list(tmp_path.iterdir())


@pytest.mark.shared
def test_a_published_checkpoint_with_adam_slots_survives_a_round_trip(shared_data, same, tmp_path):
    source = shared_data / "checkpoints" / "google-tf1-toy"
    model = BertTask.from_preset(source)
    assert type(model) is BertPretrainer and model.next_sentence
    assert not model.load_report.new and not model.load_report.left_over
    theirs = variables_of(source)
    kept = {name: w for name, w in theirs.items() if name.startswith(("bert/", "cls/"))}
    kept = {name: w for name, w in kept.items() if "adam" not in name}
    assert len(kept) == 46 < len(theirs)
    model.save_to_google(tmp_path / "ours")
    assert same(variables_of(tmp_path / "ours"), kept)
