"""A user's own classes: refused when they are saved, if loading couldn't find or make them."""

import copy
import pickle
import shutil

import h5py
import keras
import numpy as np
import pytest

from keras_bert import (
    AdamW,
    BertBackbone,
    BertClassifier,
    BertClassifierPreprocessor,
    BertEmbedder,
    BertTask,
    BertTokenizer,
    WarmupLinearDecay,
)
from keras_bert.layers.pooling import Pooling
from keras_bert.losses import (
    EmbeddingLoss,
    LogitCrossentropy,
    MarginMeanSquaredError,
    WeightedBinaryCrossentropy,
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


@pytest.fixture(scope="module")
def graded(make_backbone, letters, tmp_path_factory):
    reader = Marked(letters, 12, label_names=["no", "yes"], mark="?")
    folder = tmp_path_factory.mktemp("graded")
    Graded(make_backbone(), 2, reader, grade="B").save_to_preset(folder)
    return folder


@pytest.fixture
def folder(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "graded")


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


def test_a_registered_backbone_comes_back_as_its_class(make_backbone, tmp_path, difference):
    config = make_backbone().get_config()
    Rope.from_config(config).save_to_preset(tmp_path / "same_config")
    assert type(BertBackbone.from_preset(tmp_path / "same_config")) is Rope
    saved = BertClassifier(Rope.from_config({**config, "base": 500}), 2)
    saved.save_to_preset(tmp_path / "task")
    saved.backbone.save_to_preset(tmp_path / "backbone")
    for cls, name, arguments in (
        (BertClassifier, "task", {"num_classes": 3}),
        (BertEmbedder, "backbone", {}),
        (BertBackbone, "task", {"dropout": 0.5}),
        (Rope, "backbone", {"dtype": "float32"}),
    ):
        model = cls.from_preset(tmp_path / name, **arguments)
        backbone = getattr(model, "backbone", model)
        assert type(backbone) is Rope and backbone.base == 500, (cls, name, arguments)
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


def test_a_setting_that_a_class_does_not_have_is_refused(folder, refused):
    path = folder / "preprocessor.json"
    path.write_text(path.read_text().replace('"class"', '"newer": 3, "class"', 1))
    (folder / "checksums.json").write_text("{}")
    refused("newer", BertTask.from_preset, folder)


def test_a_preprocessor_loads_without_the_model_s_own_class(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace("my>Graded", "my>Lost"))
    (folder / "checksums.json").write_text("{}")
    reader = BertClassifierPreprocessor.from_preset(folder)
    assert type(reader) is Marked and reader.label_names == ["no", "yes"]


def test_unregistered_classes_are_refused_when_they_are_saved(
    make_backbone, preprocessor, tmp_path, refused
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
        refused(
            f"^{name} can't be saved.*register_keras_serial",
            model.save_to_preset,
            tmp_path / "model",
        )
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
    for save, *arguments in ((model.save_to_preset, tmp_path / "plain"), (model.get_config,)):
        refused("Marking can't be saved.*tokenizer_class", save, *arguments)
    model = BertClassifier(make_backbone(), 2, ReadsMarked(tokenizer, 12))
    for way in ("preset", "file", "config"):
        assert type(COPIES[way](model, tmp_path).preprocessor.tokenizer) is Marking, way


def test_configs_that_lack_an_argument_are_refused_when_they_are_saved(
    make_backbone, tmp_path, refused
):
    @register
    class Forgetful(BertClassifier):
        def __init__(self, backbone, num_classes, grade, preprocessor=None, **kwargs):
            super().__init__(backbone, num_classes, preprocessor, **kwargs)

        def get_config(self):
            config = super().get_config()
            del config["grade"]
            return config

    refused(
        "Forgetful can't be saved: .*'grade'",
        Forgetful(make_backbone(), 2, "A").save_to_preset,
        tmp_path / "model",
    )
    assert not list(tmp_path.iterdir())


KEEPS = {  # what a constructor does with an argument
    "its attribute": lambda self, scale: setattr(self, "scale", scale),
    "another attribute": lambda self, scale: setattr(self, "_s", scale),
    "nothing": lambda self, scale: None,
    "another value": lambda self, scale: setattr(self, "scale", 2 * scale),
}
BASES = (BertClassifier, BertBackbone, BertClassifierPreprocessor, Pooling, AdamW, EmbeddingLoss)
BASES += (LogitCrossentropy, MarginMeanSquaredError, WeightedBinaryCrossentropy, WarmupLinearDecay)
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


@pytest.fixture
def make_scaled(make_backbone, preprocessor):
    """Makes an object of a user's subclass with `scale=3.0` and `extra=4.0`."""

    def make(base, kept):
        cls = users_class(base, kept)
        options = {"scale": 3.0, "extra": 4.0}
        if base is BertClassifier:
            return cls(make_backbone(), 2, preprocessor, **options)
        if base is BertBackbone:
            return cls.from_config({**make_backbone().get_config(), **options})
        if base is BertClassifierPreprocessor:
            return cls.like(preprocessor, label_names=["no", "yes"], **options)
        return cls(**options, **NEEDED.get(base, {}))

    return make


def by_file(model, folder):
    model.save(folder / "model.keras")
    return keras.models.load_model(folder / "model.keras")


def by_preset(model, folder):
    base = BertTask if isinstance(model, BertTask) else BertBackbone
    model.save_to_preset(folder / "preset")
    return base.from_preset(folder / "preset")


COPIES = {
    "config": lambda model, folder: type(model).from_config(model.get_config()),
    "preset": by_preset,
    "file": by_file,
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
}


@pytest.mark.parametrize("kept", KEEPS)
@pytest.mark.parametrize("base", [BertClassifier, BertBackbone])
def test_a_model_s_copies_get_the_arguments_it_was_given(base, kept, make_scaled, tmp_path):
    model = make_scaled(base, kept)
    for way in COPIES if kept == "another value" else ["config"]:  # which all others take
        made = COPIES[way](model, tmp_path)
        assert type(made) is type(model), way
        assert (made.was_given, made.extra) == (3.0, 4.0), way
    if kept == "its attribute":
        model.scale = 5.0
        assert COPIES["config"](model, tmp_path).was_given == 5.0


@pytest.mark.parametrize("kept", KEEPS)
@pytest.mark.parametrize("base", BASES[2:])
def test_an_object_s_copies_get_the_arguments_it_was_given(base, kept, make_scaled):
    made = make_scaled(base, kept)
    saved = keras.saving.serialize_keras_object(made)
    for each in (
        type(made).from_config(made.get_config()),
        keras.saving.deserialize_keras_object(saved),
    ):
        assert type(each) is type(made) and (each.was_given, each.extra) == (3.0, 4.0)
    if base is Pooling:
        inputs = keras.Input((None, 4))
        clone = keras.models.clone_model(keras.Model(inputs, made(inputs)))
        assert clone.layers[-1].was_given == 3.0
    if base is BertClassifierPreprocessor:
        assert each.label_names == ["no", "yes"]
        assert type(made).like(pickle.loads(pickle.dumps(made))).was_given == 3.0


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


def test_a_function_that_loading_could_not_find_is_refused_when_it_is_saved(
    make_backbone, tmp_path, refused
):
    def cubed(x):
        return x * x * x

    model = Adapted(make_backbone(), act=cubed, num_classes=2)
    refused("Adapted can't be saved: .*cubed.*registered", model.save_to_preset, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scales", [True, False])
def test_whether_losses_are_scaled_is_saved(scales, make_backbone, tmp_path):
    model = BertClassifier(make_backbone(dtype="mixed_float16"), 2)
    model.compile("sgd", auto_scale_loss=scales, loss_weights=2.0, steps_per_execution=3)
    made = by_file(model, tmp_path)
    assert type(made.optimizer) is type(model.optimizer)
    assert made.steps_per_execution == 3
    assert made.get_compile_config()["loss_weights"] == 2.0


def test_what_is_recorded_is_not_in_the_weights(make_backbone, tmp_path):
    model = Adapted(make_backbone(), keras.layers.Dense(4, name="adapter"), num_classes=2)
    model.save_weights(tmp_path / "model.weights.h5")
    paths = []
    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visit(paths.append)
    assert "layers" in paths and not any("constructed" in path for path in paths)
