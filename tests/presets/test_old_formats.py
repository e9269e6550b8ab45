"""Presets of earlier formats.

In format 1 a model held the settings that its preprocessor holds now. In formats 1 and 2 the
backbone's class was not named, and the weights had no checksum.
"""

import json

import pytest

import keras_bert
from keras_bert import BertPreprocessor, BertTask, BertTokenizer

CLASSIFIER = {
    "label_names": ["no", "yes"],
    "multi_label": True,
    "threshold": 0.3,
    "window_stride": 4,
    "window_pooling": "max",
}
SPANS = {
    "document_stride": 3,
    "max_question_length": 2,
    "max_answer_length": 4,
    "null_threshold": -1.5,
}
TASKS = {
    "BertBackbone": ({}, {}),
    "BertClassifier": ({"num_classes": 2, "num_features": 1}, CLASSIFIER),
    "BertTokenClassifier": ({"num_classes": 2}, {"label_names": ["O", "B-X"]}),
    "BertSpanLabeler": ({}, SPANS),
    "BertEmbedder": ({"pooling": "max"}, {}),
}


@pytest.fixture
def saved(make_backbone, preprocessor, tmp_path):
    """Saves a model, then writes its settings as a format had them; `(model, folder)`."""

    def save(name, reads_text=True, number=1):
        cls, (arguments, settings) = getattr(keras_bert, name), TASKS[name]
        backbone = make_backbone()
        if name == "BertBackbone":
            model, reader = backbone, None
        else:
            reader = cls.preprocessor_class().like(preprocessor, truncation="tail", **settings)
            model = cls(backbone, preprocessor=reader if reads_text else None, **arguments)
        model.save_to_preset(tmp_path / "old")
        config = model.get_config()
        if reader is not None:
            config.pop("preprocessor")
            config["backbone"] = backbone.get_config()
        old = {
            "format": number,
            "class": name if number == 1 else f"keras_bert>{name}",
            "reads_text": reads_text and reader is not None,
            "config": {**config, **settings} if number == 1 else config,
        }
        (tmp_path / "old" / "config.json").write_text(json.dumps(old))
        if reads_text and reader is not None and number == 1:
            tokenizer = {"lowercase": True, "max_word_characters": 200}
            text = {"sequence_length": 12, "truncation": "tail", "tokenizer": tokenizer}
            (tmp_path / "old" / "preprocessor.json").write_text(json.dumps(text))
        return model, tmp_path / "old"

    return save


@pytest.mark.parametrize(
    ("name", "number"), [*((name, 1) for name in TASKS), ("BertBackbone", 2), ("BertClassifier", 2)]
)
def test_every_task_loads_with_its_settings(saved, difference, name, number):
    model, folder = saved(name, number=number)
    cls = keras_bert.BertBackbone if name == "BertBackbone" else BertTask
    back = cls.from_preset(folder)
    assert type(back) is type(model)
    assert back.get_config() == model.get_config()
    pairs = zip(back.weights, model.weights, strict=True)
    assert all(difference(a, b) == 0 for a, b in pairs if "seed" not in a.path)
    assert not back.load_report.new
    if name == "BertBackbone":
        assert type(BertTask.from_preset(folder)).__name__ == "BertEmbedder"
        with pytest.raises(ValueError, match="has no vocabulary"):
            BertPreprocessor.from_preset(folder)
        return
    reader = BertPreprocessor.from_preset(folder)
    assert type(reader) is type(model.preprocessor)
    assert reader.get_config() == model.preprocessor.get_config()
    tokenizer = BertTokenizer.from_preset(folder)
    assert tokenizer.get_config() == model.preprocessor.tokenizer.get_config()


def test_settings_of_a_model_without_text_suit_a_preprocessor(saved, preprocessor):
    _, folder = saved("BertTokenClassifier", reads_text=False)
    assert BertTask.from_preset(folder).preprocessor is None
    model = BertTask.from_preset(folder, preprocessor=preprocessor)
    assert model.preprocessor.label_names == ["O", "B-X"]


def test_arguments_replace_saved_ones(saved):
    _, folder = saved("BertClassifier")
    wider = BertTask.from_preset(folder, num_classes=3, sequence_length=8)
    assert wider.preprocessor.label_names == ["0", "1", "2"]
    assert (wider.preprocessor.sequence_length, wider.preprocessor.threshold) == (8, 0.3)
    other = keras_bert.BertTokenClassifier.from_preset(folder, num_classes=2)
    assert other.preprocessor.label_names == ["0", "1"]
    assert other.preprocessor.truncation == "tail"
