"""Cross-encoders of sentence-transformers come and go."""

import json

import pytest

from keras_bert import BertClassifier, BertReranker, BertTask
from keras_bert.presets.formats.hugging_face import read_hugging_face

MODULES = "torch.nn.modules."
IDENTITY, SIGMOID = f"{MODULES}linear.Identity", f"{MODULES}activation.Sigmoid"
VERSION_3 = {"sbert_ce_default_activation_function": IDENTITY}
VERSION_4 = {"sentence_transformers": {"activation_fn": IDENTITY, "version": "4.0.1"}}


@pytest.fixture
def folder(make_classifier, randomized, tmp_path):
    """A folder of transformers with one label, of a `BertClassifier`."""
    model = randomized(make_classifier(1, dropout=0.3))
    model.save_to_hugging_face(tmp_path / "theirs")
    return tmp_path / "theirs"


def changed(folder, **entries):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def test_the_activation_of_each_version_is_read(folder, make_backbone, tmp_path):
    version_6 = folder / "config_sentence_transformers.json"
    version_6.write_text(json.dumps({"activation_fn": IDENTITY, "model_type": "CrossEncoder"}))
    for config in (
        {},
        VERSION_3,
        {"sbert_ce_default_activation_function": SIGMOID, **VERSION_4},
    ):
        changed(folder, **config)
        checkpoint = read_hugging_face(folder)
        assert checkpoint.task is BertReranker
        assert checkpoint.task_arguments == {"activation": "linear", "dropout": 0.3}
        version_6.unlink(missing_ok=True)
    assert type(BertClassifier.from_preset(folder)) is BertClassifier
    BertClassifier(make_backbone(), 3).save_to_hugging_face(tmp_path / "nli")
    changed(tmp_path / "nli", **VERSION_4)
    assert type(BertTask.from_preset(tmp_path / "nli")) is BertClassifier


def test_one_label_is_a_classifier_that_loads_as_a_reranker(folder, same, caplog):
    model = BertTask.from_preset(folder)
    assert type(model) is BertClassifier and model.num_classes == 1
    reranker = BertReranker.from_preset(folder)
    assert same(reranker, model) and reranker.preprocessor.activation == "sigmoid"
    assert not caplog.text
    changed(folder, sbert_ce_default_activation_function=f"{MODULES}activation.Tanh")
    assert BertReranker.from_preset(folder).preprocessor.activation == "sigmoid"
    assert "Tanh of the logits there" in caplog.text


def test_three_classes_are_refused(make_classifier, tmp_path, refused):
    """`google/test_google.py` has two, which rank by the second."""
    make_classifier(3).save_to_hugging_face(tmp_path)
    refused("3 labels.*BertBackbone.from_preset", BertReranker.from_preset, tmp_path)


def test_a_reranker_goes_and_comes_back(folder, tmp_path, same):
    for activation, name in (("linear", IDENTITY), ("sigmoid", SIGMOID)):
        model = BertReranker.from_preset(folder, activation=activation)
        model.save_to_hugging_face(tmp_path / activation)
        config = json.loads((tmp_path / activation / "config.json").read_text())
        assert config["sentence_transformers"]["activation_fn"] == name
        assert config["sbert_ce_default_activation_function"] == name  # of older versions
        back = BertTask.from_preset(tmp_path / activation)
        assert type(back) is BertReranker and back.preprocessor.activation == activation
        assert (back.dropout, back.preprocessor.sequence_length) == (0.3, 12)
        assert same(back, model)
