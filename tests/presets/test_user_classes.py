"""A user's own classes: refused when they are saved, if loading couldn't find or make them."""

import copy
import pickle

import h5py
import keras
import numpy as np
import pytest

from keras_bert import (
    AdamW,
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertTask,
    BertTokenizer,
    WarmupLinearDecay,
)
from keras_bert.layers.pooling import Pooling
from keras_bert.losses import EmbeddingLoss, WeightedBinaryCrossentropy
from tests.presets.test_preset import changed

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
    """A backbone of a user's own."""

    def __init__(self, *args, base=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.base = base


@pytest.fixture
def folder(make_backbone, letters, tmp_path):
    reader = Marked(letters, 12, label_names=["no", "yes"], mark="?")
    Graded(make_backbone(), 2, reader, grade="B").save_to_preset(tmp_path)
    return tmp_path


def test_a_registered_subclass_loads_by_itself_and_by_its_bases(folder):
    changed = {"grade": "C", "mark": "#", "sequence_length": 8}
    for cls, arguments, grade, mark in (
        (BertClassifier, {}, "B", "?"),  # which knows its own arguments
        (BertTask, changed, "C", "#"),
        (Graded, changed, "C", "#"),
    ):
        model = cls.from_preset(folder, dropout=0.2, **arguments)
        assert type(model) is Graded and (model.grade, model.dropout) == (grade, 0.2)
        assert type(model.preprocessor) is Marked and model.preprocessor.mark == mark
        assert model.preprocessor.label_names == ["no", "yes"]


def test_a_registered_backbone_comes_back_as_its_class(make_backbone, tmp_path, difference):
    rope = Rope.from_config({**make_backbone().get_config(), "base": 500})
    BertClassifier(rope, 2).save_to_preset(tmp_path)
    for cls, arguments in (
        (BertClassifier, {"num_classes": 3}),
        (BertBackbone, {"dropout": 0.5}),
    ):
        backbone = cls.from_preset(tmp_path, **arguments).backbone
        assert type(backbone) is Rope and backbone.base == 500
        assert difference(backbone.token_embedding.embeddings, rope.token_embedding.embeddings) == 0


def test_a_preset_of_a_plain_backbone_loads_as_a_subclass(
    make_backbone, tmp_path, inputs, difference
):
    task = BertClassifier(make_backbone(), 2)
    task.save_to_preset(tmp_path)
    rope = Rope.from_preset(tmp_path, base=7)
    assert type(rope) is Rope and rope.base == 7 and not rope.load_report.new
    assert difference(rope(inputs), task.backbone(inputs)) == 0


def test_a_setting_that_a_class_does_not_have_is_refused(folder, refused):
    changed(folder, '"class"', '"newer": 3, "class"', "preprocessor.json")
    refused("newer", BertTask.from_preset, folder)


def test_a_preprocessor_loads_without_the_model_s_own_class(folder):
    changed(folder, "my>Graded", "my>Lost")
    reader = BertClassifierPreprocessor.from_preset(folder)
    assert type(reader) is Marked and reader.label_names == ["no", "yes"]


def test_what_could_not_be_loaded_is_refused_when_it_is_saved(
    make_backbone, preprocessor, tmp_path, refused
):
    class Unknown(BertClassifier):
        pass

    class UnknownReader(BertClassifierPreprocessor):
        pass

    class UnknownBackbone(BertBackbone):
        pass

    @register
    class Forgetful(BertClassifier):
        def __init__(self, backbone, num_classes, grade, preprocessor=None, **kwargs):
            super().__init__(backbone, num_classes, preprocessor, **kwargs)

        def get_config(self):
            config = super().get_config()
            del config["grade"]
            return config

    def cubed(x):
        return x * x * x

    backbone = make_backbone()
    own = UnknownBackbone.from_config(backbone.get_config())
    for model, message in (
        (Unknown(backbone, 2), "^Unknown can't be saved.*register_keras_serial"),
        (BertClassifier(own, 2), "^UnknownBackbone can't be saved"),
        (
            BertClassifier(backbone, 2, UnknownReader.like(preprocessor)),
            "^UnknownReader can't",
        ),
        (Forgetful(backbone, 2, "A"), "Forgetful can't be saved: .*'grade'"),
        (
            Adapted(backbone, act=cubed, num_classes=2),
            "Adapted can't .*cubed.*registered",
        ),
    ):
        refused(message, model.save_to_preset, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@register
class Marking(BertTokenizer):
    pass


@register
class ReadsMarked(BertClassifierPreprocessor):
    tokenizer_class = Marking


def test_a_tokenizer_of_another_class_needs_a_preprocessor_that_names_it(
    make_backbone, letters, tmp_path, refused
):
    tokenizer = Marking.from_config(letters.get_config())
    model = BertClassifier(make_backbone(), 2, BertClassifierPreprocessor(tokenizer, 12))
    for save, *arguments in (
        (model.save_to_preset, tmp_path / "plain"),
        (model.get_config,),
    ):
        refused("Marking can't be saved.*tokenizer_class", save, *arguments)
    model = BertClassifier(make_backbone(), 2, ReadsMarked(tokenizer, 12))
    for way in ("preset", "file", "config"):
        assert type(COPIES[way](model, tmp_path).preprocessor.tokenizer) is Marking, way


KEEPS = {  # what a constructor does with an argument
    "its attribute": lambda self, scale: setattr(self, "scale", scale),
    "nothing": lambda self, scale: None,
    "another value": lambda self, scale: setattr(self, "scale", 2 * scale),
}
BASES = (
    BertClassifier,
    BertBackbone,
    BertClassifierPreprocessor,
    Pooling,
    AdamW,
    EmbeddingLoss,
    WeightedBinaryCrossentropy,
    WarmupLinearDecay,
)
NEEDED = {
    WeightedBinaryCrossentropy: {"pos_weight": [2.0]},
    WarmupLinearDecay: {"peak_learning_rate": 1e-3, "warmup_steps": 1, "total_steps": 9},
}


def users_class(base, kept):
    """A subclass of a subclass, which hands its arguments on."""

    class Scaled(base):
        def __init__(self, *args, scale=1.0, **kwargs):
            super().__init__(*args, **kwargs)
            KEEPS[kept](self, scale)
            self.was_given = scale

    class Below(Scaled):
        def __init__(self, *args, **options):
            extra = options.pop("extra", 1.0)
            super().__init__(*args, **options)
            self.extra = extra
            self.options = options

    Below.__name__ = Below.__qualname__ = f"{base.__name__} {kept}"
    globals()[Below.__name__] = Below  # for pickle
    return register(Below)


def by_file(model, folder):
    model.save(folder / "model.keras")
    return keras.models.load_model(folder / "model.keras")


def by_preset(model, folder):
    base = BertTask if isinstance(model, BertTask) else BertBackbone
    model.save_to_preset(folder / "preset")
    return base.from_preset(folder / "preset")


COPIES = {
    "config": lambda made, folder: keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(made)
    ),
    "preset": by_preset,
    "file": by_file,
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
}


@pytest.mark.parametrize("kept", KEEPS)
@pytest.mark.parametrize("base", BASES)
def test_copies_get_the_arguments_that_were_given(
    base, kept, make_backbone, preprocessor, tmp_path
):
    cls, options = users_class(base, kept), {"scale": 3.0, "extra": 4.0}
    if base is BertClassifier:
        made = cls(make_backbone(), 2, preprocessor, **options)
    elif base is BertBackbone:
        made = cls.from_config({**make_backbone().get_config(), **options})
    elif base is BertClassifierPreprocessor:
        made = cls.like(cls.like(preprocessor, label_names=["no", "yes"], **options))
    else:
        made = cls(**options, **NEEDED.get(base, {}))
    is_model = isinstance(made, keras.Model)
    for way in COPIES if is_model and kept == "another value" else ["config"]:
        copied = COPIES[way](made, tmp_path)
        assert type(copied) is cls and (copied.was_given, copied.extra) == (3.0, 4.0), way
    if is_model and kept == "its attribute":
        made.scale = 5.0
        assert COPIES["config"](made, tmp_path).was_given == 5.0


@register
def squared(x):
    return x * x


@register
class Adapted(BertClassifier):
    """A head that begins with a layer and a function of a user's own."""

    def __init__(self, backbone, adapter=None, act=None, weights=None, policy=None, **kwargs):
        super().__init__(backbone, **kwargs)
        self.adapter = adapter
        self._others = (act, weights, policy)


def test_layers_functions_arrays_and_policies_are_arguments_too(
    make_backbone, preprocessor, tmp_path
):
    reader = Marked.like(preprocessor, label_names=["no", "yes"], mark=squared)
    adapter = keras.layers.Dense(4, "relu", name="adapter")
    array = np.array([1.0, 2.0], "float32")
    policy = keras.DTypePolicy("mixed_bfloat16")
    model = Adapted(make_backbone(), adapter, squared, array, policy, preprocessor=reader)
    for way, copied in COPIES.items():
        made = copied(model, tmp_path)
        act, weights, its_policy = made._others
        assert made.adapter is not adapter and made.adapter.get_config() == adapter.get_config()
        assert act is made.preprocessor.mark is squared and its_policy == policy, way
        np.testing.assert_array_equal(weights, array)


def test_what_a_constructor_sets_for_its_ancestor_is_no_argument(make_backbone, tmp_path):
    @register
    class Fixed(BertClassifier):
        def __init__(self, backbone, preprocessor=None, **kwargs):
            super().__init__(backbone, 2, preprocessor, dropout=0.3, **kwargs)

    @register
    class Strict(BertClassifier):
        def __init__(self, backbone, preprocessor=None, *, name=None, trainable=True):
            super().__init__(backbone, 3, preprocessor, name=name, trainable=trainable)

    for cls, num_classes, dropout in ((Fixed, 2, 0.3), (Strict, 3, 0.1)):
        made = by_preset(cls(make_backbone()), tmp_path)
        assert (type(made), made.num_classes, made.dropout) == (cls, num_classes, dropout)
        made.save_to_hugging_face(tmp_path / "theirs")
        plain = BertTask.from_preset(tmp_path / "theirs")
        assert (type(plain), plain.num_classes) == (BertClassifier, num_classes)


@pytest.mark.parametrize("scales", [True, False])
def test_whether_losses_are_scaled_is_saved(scales, make_backbone, tmp_path):
    model = BertClassifier(make_backbone(dtype="mixed_float16"), 2)
    model.compile("sgd", auto_scale_loss=scales, loss_weights=2.0)
    made = by_file(model, tmp_path)
    assert type(made.optimizer) is type(model.optimizer)
    assert made.get_compile_config()["loss_weights"] == 2.0


def test_what_is_recorded_is_not_in_the_weights(make_backbone, tmp_path):
    model = Adapted(make_backbone(), keras.layers.Dense(4, name="adapter"), num_classes=2)
    model.save_weights(tmp_path / "model.weights.h5")
    paths = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visit(paths.append)
    assert "layers" in paths and not any("constructed" in path for path in paths)
