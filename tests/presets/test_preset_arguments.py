"""Arguments of `from_preset`: those of the model, those of its preprocessor, and others."""

import keras
import pytest

import keras_bert
from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertPreprocessor,
)


def test_what_neither_the_source_nor_the_caller_gives_is_named(make_backbone, tmp_path, refused):
    model = keras_bert.BertPretrainer(make_backbone())
    for save in ("save_to_preset", "save_to_hugging_face"):
        folder = tmp_path / save
        getattr(model, save)(folder)
        message = "BertClassifier needs to know its classes: give lab"
        refused(message, BertClassifier.from_preset, folder, dropout=0.2)
        message = "no argument num_classes; it has .*next_sentence"
        refused(message, keras_bert.BertTask.from_preset, folder, num_classes=2)
        getattr(BertClassifier.from_preset(folder, num_classes=4), save)(folder)
        assert BertClassifier.from_preset(folder, dropout=0.2).num_classes == 4


def test_misspelt_arguments_are_named_with_the_right_ones(make_backbone, refused):
    message = r"has no argument .*Did you mean '{}'\?"
    refused(message.format("num_classes"), BertClassifier, make_backbone(), num_clases=2)
    names = {"lable_names": ["a", "b"]}  # of the preprocessor
    refused(message.format("label_names"), BertClassifier.from_preset, "x", **names)


def test_known_presets_are_listed_by_name(keras_hub):
    ours = {name for name in BertBackbone.presets if not name.startswith("hf://")}
    assert ours and ours <= {*keras_hub.models.BertBackbone.presets}


@pytest.fixture(scope="module")
def reviews(make_classifier, tmp_path_factory):
    """The folder of a classifier with a setting of each kind."""
    settings = {"truncation": "tail", "threshold": 0.3, "window_stride": 4}
    folder = tmp_path_factory.mktemp("reviews")
    make_classifier(label_names=["no", "yes"], **settings).save_to_preset(folder)
    return folder


SAVED = {
    "num_classes": 2,
    "dropout": 0.1,
    "sequence_length": 12,
    "label_names": ["no", "yes"],
    "threshold": 0.3,
    "truncation": "tail",
    "window_stride": 4,
}
THREE = ["a", "b", "c"]


def settings_of(model):
    """The settings of a classifier and of its preprocessor."""
    config = {**model.get_config(), **model.preprocessor.get_config()}
    return {name: config[name] for name in SAVED}


def test_each_argument_goes_to_the_model_or_to_its_preprocessor(reviews, refused):
    from_preset = BertClassifier.from_preset
    for given, effect in (
        ({}, {}),
        ({"sequence_length": 8, "dropout": 0.4}, {}),
        ({"num_classes": 3}, {"label_names": ["0", "1", "2"]}),
        ({"label_names": ["a", "b"], "threshold": 0.6}, {}),
        ({"label_names": THREE}, {"num_classes": 3}),
        ({"window_stride": None}, {}),
        (
            {"threshold": None, "truncation": None},
            {"threshold": 0.3, "truncation": "tail"},
        ),
    ):
        model = from_preset(reviews, **given)
        assert settings_of(model) == SAVED | given | effect
        assert bool(model.load_report.new) is (model.num_classes == 3)  # names alone leave the head
    message = "There are 2 classes but 3 label_names"
    refused(message, from_preset, reviews, num_classes=2, label_names=THREE)
    refused(
        "sequence_length=20 exceeds.* 16 positions",
        from_preset,
        reviews,
        sequence_length=20,
    )


def test_a_preprocessor_may_be_replaced_and_changed(reviews, preprocessor):
    loaded = BertClassifier.from_preset(reviews, preprocessor=preprocessor)  # of text alone
    assert loaded.preprocessor.tokenizer is preprocessor.tokenizer
    assert loaded.preprocessor.label_names == ["no", "yes"]

    @keras.saving.register_keras_serializable(package="test")
    class Mine(BertClassifierPreprocessor):
        pass

    mine = Mine.like(preprocessor, label_names=["a", "b"])
    model = BertClassifier.from_preset(reviews, preprocessor=mine, sequence_length=8)
    assert type(model.preprocessor) is Mine
    assert model.preprocessor.get_config() == {**mine.get_config(), "sequence_length": 8}
    assert BertClassifier.from_preset(reviews, preprocessor=mine).preprocessor is mine


def test_another_task_takes_over_the_text_settings_alone(reviews):
    model = keras_bert.BertTokenClassifier.from_preset(reviews, num_classes=2)
    assert model.preprocessor.label_names == ["0", "1"]
    assert (model.preprocessor.sequence_length, model.preprocessor.truncation) == (
        12,
        "tail",
    )
    assert model.load_report.new.keys() == {"logits/kernel", "logits/bias"}
    found = keras_bert.BertTokenClassifierPreprocessor.from_preset(reviews)
    assert found.label_names is None and found.truncation == "tail"


def test_preprocessors_load_alone(reviews, refused):
    saved = BertClassifier.from_preset(reviews).preprocessor
    for kind in (BertPreprocessor, BertClassifierPreprocessor):
        found = kind.from_preset(reviews)
        assert type(found) is BertClassifierPreprocessor
        assert found.get_config() == saved.get_config()
    changed = BertPreprocessor.from_preset(reviews, lowercase=False, threshold=0.6)
    assert not changed.tokenizer.lowercase
    expected = {**saved.get_config(), "threshold": 0.6}
    assert {**changed.get_config(), "tokenizer": 0} == {**expected, "tokenizer": 0}
    message = "Preprocessor has no argument null_threshold; it has seq"
    refused(message, BertPreprocessor.from_preset, reviews, null_threshold=1)


def test_a_tokenizer_loads_alone(reviews, preprocessor, make_backbone, tmp_path, refused):
    vocabulary = preprocessor.tokenizer.get_vocabulary()
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    for source in (reviews, tmp_path / "vocab.txt"):
        for lowercase in (None, False):
            found = keras_bert.BertTokenizer.from_preset(source, lowercase)
            assert found.get_vocabulary() == vocabulary and found.lowercase is (lowercase is None)
    make_backbone().save_to_preset(tmp_path / "encoder")
    refused(
        "encoder has no vocabulary",
        keras_bert.BertTokenizer.from_preset,
        tmp_path / "encoder",
    )
