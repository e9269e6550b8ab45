"""Arguments of `from_preset`: those of the model, those of its preprocessor, and others."""

import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertPretrainer,
    BertTask,
    save_to_hugging_face,
)


@pytest.fixture(params=["keras_bert", "hugging_face"])
def save(request, tmp_path):
    """Writes a model as a preset of either library; gives the folder."""

    def write(model):
        if request.param == "keras_bert":
            model.save_to_preset(tmp_path / "saved")
        else:
            save_to_hugging_face(model, tmp_path / "saved")
        return tmp_path / "saved"

    return write


def test_what_neither_the_source_nor_the_caller_gives_is_named(make_backbone, save):
    folder = save(BertPretrainer(make_backbone(num_layers=1)))
    message = (
        rf"BertClassifier needs num_classes, which .*{folder} doesn't say: give it, "
        r"BertClassifier.from_preset\(..., num_classes=...\)"
    )
    for arguments in ({}, {"dropout": 0.2}):
        with pytest.raises(ValueError, match=message):
            BertClassifier.from_preset(folder, **arguments)
    assert BertClassifier.from_preset(folder, num_classes=3).num_classes == 3


def test_what_the_source_gives_need_not_be_given(make_backbone, save):
    folder = save(BertClassifier(make_backbone(num_layers=1), 4))
    assert BertClassifier.from_preset(folder).num_classes == 4
    assert BertClassifier.from_preset(folder, dropout=0.2).num_classes == 4


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (
            BertClassifier,
            {"num_classes": 2, "num_labels": 2},
            "BertClassifier has no argument num_labels; it has num_classes, dropout, num_features, "
            "sequence_length, truncation, label_names, multi_label, threshold, window_stride, ",
        ),
        (BertBackbone, {"layers": 2}, "BertBackbone has no argument layers; it has vocabulary_siz"),
        (BertEmbedder, {"dtype": "bfloat16"}, r"no argument dtype; .*keras.config.set_dtype_polic"),
        (BertTask, {"num_classes": 2}, "BertPretrainer has no argument num_classes; it has next_"),
    ],
)
def test_an_argument_that_there_is_not_is_named(make_backbone, save, cls, arguments, message):
    folder = save(BertPretrainer(make_backbone(num_layers=1)))
    with pytest.raises(ValueError, match=message):
        cls.from_preset(folder, **arguments)


def test_it_is_named_before_anything_is_fetched():
    with pytest.raises(ValueError, match="has no argument num_labels"):
        BertClassifier.from_preset("hf://nobody/nothing", num_labels=2)


def test_a_class_of_the_users_has_the_arguments_of_its_parent_too(make_backbone, save):
    class Graded(BertClassifier):
        def __init__(self, *args, grade="A", **kwargs):
            super().__init__(*args, **kwargs)
            self.grade = grade

    folder = save(BertPretrainer(make_backbone(num_layers=1)))
    model = Graded.from_preset(folder, num_classes=2, grade="B", name="graded")
    assert (model.num_classes, model.grade, model.name) == (2, "B", "graded")
