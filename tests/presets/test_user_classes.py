"""A user's own classes: refused when they are saved, if loading couldn't find or make them."""

import keras
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertTask,
)

register = keras.saving.register_keras_serializable(package="my")


@register
class Marked(BertClassifierPreprocessor):
    def __init__(self, *args, mark="!", **kwargs):
        super().__init__(*args, **kwargs)
        self.mark = mark

    @classmethod
    def arguments(cls):
        return [*BertClassifierPreprocessor.arguments(), "mark"]

    def get_config(self):
        return {**super().get_config(), "mark": self.mark}


@register
class Graded(BertClassifier):
    def __init__(self, backbone, num_classes, preprocessor=None, grade="A", **kwargs):
        super().__init__(backbone, num_classes, preprocessor, **kwargs)
        self.grade = grade

    @classmethod
    def preprocessor_class(cls):
        return Marked

    def get_config(self):
        return {**super().get_config(), "grade": self.grade}


@register
class Rope(BertBackbone):
    """A backbone of a user's own, with or without an argument of its own."""

    def __init__(self, *args, base=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.base = base

    def get_config(self):
        own = {} if self.base is None else {"base": self.base}
        return {**super().get_config(), **own}


@pytest.fixture
def folder(make_backbone, preprocessor, tmp_path):
    reader = Marked.like(preprocessor, label_names=["no", "yes"], mark="?")
    Graded(make_backbone(), 2, reader, grade="B").save_to_preset(tmp_path / "graded")
    return tmp_path / "graded"


@pytest.mark.parametrize("cls", [Graded, BertClassifier, BertTask])
def test_a_registered_subclass_loads_by_itself_and_by_its_bases(folder, cls):
    shorter = cls.from_preset(folder, sequence_length=8)
    assert type(shorter) is Graded and shorter.grade == "B"
    assert type(shorter.preprocessor) is Marked and shorter.preprocessor.mark == "?"
    assert shorter.preprocessor.label_names == ["no", "yes"]
    if cls is not BertClassifier:  # which knows its own arguments
        other = cls.from_preset(folder, grade="C", mark="#", sequence_length=8, dropout=0.2)
        assert (other.grade, other.preprocessor.mark, other.dropout) == ("C", "#", 0.2)
        assert type(other.preprocessor) is Marked and other.preprocessor.sequence_length == 8


def test_other_libraries_read_a_subclass_as_its_base(folder, tmp_path, difference):
    graded = BertTask.from_preset(folder)
    graded.save_to_hugging_face(tmp_path / "theirs")
    plain = BertTask.from_preset(tmp_path / "theirs")
    assert type(plain) is BertClassifier and plain.preprocessor.label_names == ["no", "yes"]
    assert difference(plain.head.kernel, graded.head.kernel) == 0


def test_a_registered_backbone_comes_back_as_its_class(make_backbone, tmp_path, difference):
    config = make_backbone().get_config()
    Rope.from_config(config).save_to_preset(tmp_path / "same_config")
    assert type(BertBackbone.from_preset(tmp_path / "same_config")) is Rope
    saved = BertClassifier(Rope.from_config({**config, "base": 500}), 2)
    saved.save_to_preset(tmp_path / "task")
    saved.backbone.save_to_preset(tmp_path / "backbone")
    for cls, name, arguments in (
        (BertClassifier, "task", {"num_classes": 3}),
        (BertClassifier, "task", {"load_weights": False}),
        (BertEmbedder, "backbone", {}),
        (BertBackbone, "task", {"dropout": 0.5}),
        (Rope, "backbone", {"dtype": "float32"}),
    ):
        model = cls.from_preset(tmp_path / name, **arguments)
        backbone = getattr(model, "backbone", model)
        assert type(backbone) is Rope and backbone.base == 500, (cls, name, arguments)
        if "load_weights" not in arguments:
            tables = [part.token_embedding.embeddings for part in (backbone, saved.backbone)]
            assert difference(*tables) == 0


def test_a_preset_of_a_plain_backbone_loads_as_a_subclass(
    make_backbone, preprocessor, tmp_path, inputs, difference
):
    task = BertClassifier(make_backbone(), 2, preprocessor)
    task.save_to_preset(tmp_path / "task")
    rope = Rope.from_preset(tmp_path / "task", base=7, name="rope")
    assert type(rope) is Rope and (rope.base, rope.name) == (7, "rope")
    assert not rope.load_report.new
    assert difference(rope(inputs), task.backbone(inputs)) == 0


@pytest.mark.parametrize("name", ["config.json", "preprocessor.json"])
def test_a_class_that_is_not_defined_where_it_is_loaded_is_named(folder, name, refused):
    path = folder / name
    written = path.read_text()
    assert "my>Graded" in written or "my>Marked" in written
    path.write_text(written.replace("my>Graded", "my>Lost").replace("my>Marked", "my>Lost"))
    (folder / "checksums.json").write_text("{}")
    refused(f"{name} names the class 'my>Lost', which isn't.*Import", BertTask.from_preset, folder)


def test_a_preprocessor_loads_without_the_model_s_own_class(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace("my>Graded", "my>Lost"))
    (folder / "checksums.json").write_text("{}")
    reader = BertClassifierPreprocessor.from_preset(folder)
    assert type(reader) is Marked and reader.label_names == ["no", "yes"]


def test_unregistered_classes_are_refused_when_they_are_saved(
    make_backbone, preprocessor, tmp_path
):
    class Unknown(BertClassifier):
        pass

    class UnknownReader(BertClassifierPreprocessor):
        pass

    class UnknownBackbone(BertBackbone):
        pass

    backbone = make_backbone()
    own = UnknownBackbone.from_config(backbone.get_config())
    for name, model in (
        ("Unknown", Unknown(backbone, 2)),
        ("UnknownBackbone", own),
        ("UnknownBackbone", BertClassifier(own, 2)),
        ("UnknownReader", BertClassifier(backbone, 2, UnknownReader.like(preprocessor))),
    ):
        with pytest.raises(ValueError, match=f"^{name} can't be saved.*register_keras_serial"):
            model.save_to_preset(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_configs_that_lack_an_argument_are_refused_when_they_are_saved(make_backbone, tmp_path):
    @register
    class Forgetful(BertClassifier):
        def __init__(self, backbone, num_classes, grade, preprocessor=None, **kwargs):
            super().__init__(backbone, num_classes, preprocessor, **kwargs)

    @register
    class Strict(BertClassifier):
        def __init__(self, backbone, preprocessor=None, *, name=None, trainable=True):
            super().__init__(backbone, 2, preprocessor, name=name, trainable=trainable)

    backbone = make_backbone()
    with pytest.raises(ValueError, match="Forgetful can't be saved: .* differ .*'grade'"):
        Forgetful(backbone, 2, "A").save_to_preset(tmp_path / "model")
    with pytest.raises(ValueError, match="Strict can't be saved: .* differ .*'num_classes'"):
        Strict(backbone).save_to_preset(tmp_path / "model")
    assert not list(tmp_path.iterdir())
