"""Arguments of `from_preset`: those of the model, those of its preprocessor, and others."""

import keras
import pytest

import keras_bert
from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor, BertPreprocessor
from keras_bert.presets.preset import PresetModel


@pytest.fixture(params=[BertBackbone.save_to_preset, PresetModel.save_to_hugging_face])
def save(request, tmp_path):
    """Writes a model as a preset of either library; gives the folder."""

    def write(model):
        request.param(model, tmp_path / "saved")
        return tmp_path / "saved"

    return write


def test_what_neither_the_source_nor_the_caller_gives_is_named(make_backbone, save, refused):
    folder = save(keras_bert.BertPretrainer(make_backbone()))
    for arguments in ({}, {"dropout": 0.2}):
        refused(
            "BertClassifier needs to know its classes: give lab",
            BertClassifier.from_preset,
            folder,
            **arguments,
        )
    BertClassifier.from_preset(folder, num_classes=4).save_to_preset(folder)
    assert BertClassifier.from_preset(folder, dropout=0.2).num_classes == 4


def test_an_argument_that_the_class_of_the_source_lacks_is_named(make_backbone, save, refused):
    folder = save(keras_bert.BertPretrainer(make_backbone()))
    refused(
        "no argument num_classes; it has .*next_sentence",
        keras_bert.BertTask.from_preset,
        folder,
        num_classes=2,
    )


def test_misspelt_arguments_are_named_with_the_right_ones(make_backbone, refused):
    message = r"has no argument .*Did you mean '{}'\?"
    refused(message.format("num_classes"), BertClassifier, make_backbone(), num_clases=2)
    names = {"lable_names": ["a", "b"]}  # of the preprocessor
    refused(message.format("label_names"), BertClassifier.from_preset, "x", **names)


def test_known_presets_are_listed_by_name(keras_hub):
    for name in ("hf://google-bert/bert-base-uncased", "bert_tiny_en_uncased"):
        assert "English" in BertClassifier.presets[name]
    assert BertBackbone.presets == BertClassifier.presets
    ours = {name for name in BertBackbone.presets if not name.startswith("hf://")}
    assert ours <= set(keras_hub.models.BertBackbone.presets)


@pytest.fixture(scope="module")
def reviews(make_backbone, letters, tmp_path_factory):
    """The folder of a classifier with a setting of each kind."""
    settings = {"truncation": "tail", "threshold": 0.3, "window_stride": 4}
    reader = BertClassifierPreprocessor(letters, 12, label_names=["no", "yes"], **settings)
    folder = tmp_path_factory.mktemp("reviews")
    BertClassifier(make_backbone(), 2, reader).save_to_preset(folder)
    return folder


def settings_of(model):
    reader = model.preprocessor
    return reader.sequence_length, reader.label_names, reader.threshold, reader.truncation


def test_each_argument_goes_to_the_model_or_to_its_preprocessor(reviews, refused):
    from_preset = BertClassifier.from_preset
    same = from_preset(reviews)
    assert (same.num_classes, *settings_of(same)) == (2, 12, ["no", "yes"], 0.3, "tail")
    shorter = from_preset(reviews, sequence_length=8, dropout=0.4)
    assert (shorter.dropout, *settings_of(shorter)) == (0.4, 8, ["no", "yes"], 0.3, "tail")
    renamed = from_preset(reviews, label_names=["a", "b"], threshold=0.6)
    assert settings_of(renamed) == (12, ["a", "b"], 0.6, "tail")
    assert not renamed.load_report.new  # names alone leave the head as it was
    wider = from_preset(reviews, num_classes=3, label_names=["a", "b", "c"])
    assert settings_of(wider)[1] == ["a", "b", "c"]
    wider = from_preset(reviews, label_names=["a", "b", "c"])
    assert wider.num_classes == 3 and "logits/kernel" in wider.load_report.new
    refused(
        "There are 2 classes but 3 label_names",
        from_preset,
        reviews,
        num_classes=2,
        label_names=["a", "b", "c"],
    )
    refused("sequence_length=20 exceeds.* 16 positions", from_preset, reviews, sequence_length=20)
    assert from_preset(reviews, window_stride=None).preprocessor.window_stride is None
    assert from_preset(reviews, lowercase=False).preprocessor.tokenizer.lowercase is False


def test_arguments_change_a_preprocessor_that_is_given_too(reviews, preprocessor):
    @keras.saving.register_keras_serializable(package="test")
    class Mine(BertClassifierPreprocessor):
        pass

    mine = Mine.like(preprocessor, label_names=["a", "b"])
    model = BertClassifier.from_preset(reviews, preprocessor=mine, sequence_length=8)
    assert type(model.preprocessor) is Mine
    assert settings_of(model) == (8, ["a", "b"], 0.5, "head")
    assert BertClassifier.from_preset(reviews, preprocessor=mine).preprocessor is mine


def test_another_task_takes_over_the_text_settings_alone(reviews):
    model = keras_bert.BertTokenClassifier.from_preset(reviews, num_classes=2)
    assert model.preprocessor.label_names == ["0", "1"]
    assert (model.preprocessor.sequence_length, model.preprocessor.truncation) == (12, "tail")
    assert model.load_report.new.keys() == {"logits/kernel", "logits/bias"}
    found = keras_bert.BertTokenClassifierPreprocessor.from_preset(reviews)
    assert found.label_names is None and found.truncation == "tail"


def test_preprocessors_load_alone(reviews, refused):
    saved = BertClassifier.from_preset(reviews).preprocessor
    for kind in (BertPreprocessor, BertClassifierPreprocessor):
        found = kind.from_preset(reviews)
        assert type(found) is BertClassifierPreprocessor
        assert found.get_config() == saved.get_config()
    settings = {"sequence_length": 500, "lowercase": False, "threshold": 0.6}
    changed = BertPreprocessor.from_preset(reviews, **settings)
    assert changed.sequence_length == 500 and not changed.tokenizer.lowercase
    assert (changed.threshold, changed.label_names) == (0.6, ["no", "yes"])
    refused(
        "Preprocessor has no argument null_threshold; it has seq",
        BertPreprocessor.from_preset,
        reviews,
        null_threshold=1,
    )


def test_a_tokenizer_loads_alone(reviews, preprocessor, make_backbone, tmp_path, refused):
    vocabulary = preprocessor.tokenizer.get_vocabulary()
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    for source in (reviews, tmp_path / "vocab.txt"):
        for lowercase in (None, False):
            found = keras_bert.BertTokenizer.from_preset(source, lowercase)
            assert found.get_vocabulary() == vocabulary and found.lowercase is (lowercase is None)
    BertClassifier.from_preset(reviews).save_to_hugging_face(tmp_path / "theirs")
    expected = BertPreprocessor.from_preset(tmp_path / "theirs").tokenizer.get_config()
    (tmp_path / "theirs" / "model.safetensors").unlink()
    assert keras_bert.BertTokenizer.from_preset(tmp_path / "theirs").get_config() == expected
    make_backbone().save_to_preset(tmp_path / "encoder")
    refused("encoder has no vocabulary", keras_bert.BertTokenizer.from_preset, tmp_path / "encoder")
