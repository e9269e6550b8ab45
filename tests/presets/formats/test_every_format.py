"""Every format: models come back bit for bit or are refused, and folders are replaced whole."""

import errno
from importlib.util import find_spec

import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    BertTokenizer,
)
from keras_bert.files.remote import is_disk_full
from keras_bert.presets.preset import PresetModel

pytest.importorskip("tensorflow", reason="pip install tensorflow")

SAVE = {
    "preset": lambda model, folder: model.save_to_preset(folder),
    "hugging_face": PresetModel.save_to_hugging_face,
    "google": PresetModel.save_to_google,
    "keras_hub": PresetModel.save_to_keras_hub,
}
MODELS = {
    "a backbone": lambda backbone: backbone,
    "a pretrainer": BertPretrainer,
    "masked LM alone": lambda backbone: BertPretrainer(backbone, next_sentence=False),
    "a classifier": lambda backbone: BertClassifier(backbone, 2),
    "a span labeler": BertSpanLabeler,
    "an untied masked LM": lambda backbone: BertPretrainer(backbone, False, tie_embeddings=False),
    "a regression": lambda backbone: BertClassifier(backbone, 1, dropout=0.3),
    "a token classifier": lambda backbone: BertTokenClassifier(backbone, 3),
    "a multiple choice": lambda backbone: BertMultipleChoice(backbone, dropout=0.3),
    "an embedder": lambda backbone: BertEmbedder(backbone, pooling="max", normalize=False),
}
ACTIVATIONS = {
    "hugging_face": ["gelu", "gelu_approximate", "relu", "silu", "tanh"],
    "google": ["gelu", "gelu_approximate", "relu", "linear", "tanh"],
}


def settings(model):
    """Returns a model's config without names."""
    backbone = getattr(model, "backbone", None)
    config = {**model.get_config(), "backbone": None if backbone is None else settings(backbone)}
    return {k: v for k, v in config.items() if k not in ("name", "trainable", "preprocessor")}


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("hugging_face", name) for name in MODELS), *(("google", name) for name in [*MODELS][:5])],
)
def test_every_model_comes_back_bit_for_bit(backbone, randomized, same, tmp_path, kind, name):
    model = randomized(MODELS[name](backbone()))
    SAVE[kind](model, tmp_path)
    back = (BertBackbone if name == "a backbone" else BertTask).from_preset(tmp_path)
    assert type(back) is type(model) and same(model, back)
    assert settings(back) == settings(model)
    assert not back.load_report.new and not back.load_report.left_over


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_every_setting_comes_back(backbone, tmp_path, kind):
    others = {"dropout": 0.25, "attention_dropout": 0.05, "num_segments": 4, "num_heads": 4}
    others |= {"layer_norm_epsilon": 1e-5} if kind == "hugging_face" else {}
    for activation in ACTIVATIONS[kind]:
        model = BertPretrainer(backbone(num_layers=1, activation=activation, **others))
        SAVE[kind](model, tmp_path / activation)
        assert settings(BertPretrainer.from_preset(tmp_path / activation)) == settings(model)


@pytest.mark.parametrize(
    ("kind", "cls"),
    [*((kind, BertClassifier) for kind in SAVE), ("hugging_face", BertTokenClassifier)],
)
def test_the_preprocessor_comes_back(backbone, words, tmp_path, kind, cls):
    if kind == "keras_hub":
        pytest.importorskip("keras_hub", reason="pip install keras-hub")
    tokenizer = BertTokenizer(words, lowercase=False)
    reader = cls.preprocessor_class()(tokenizer, 16, label_names=["O", "B-größer"])
    model = cls(backbone(num_layers=1, activation="gelu_approximate"), 2, reader, dropout=0.3)
    SAVE[kind](model, tmp_path)
    back = BertTask.from_preset(tmp_path)
    assert back.preprocessor.get_config() == reader.get_config() and back.dropout == 0.3
    assert type(reader).from_preset(tmp_path).get_config() == reader.get_config()
    wider = cls.from_preset(tmp_path, num_classes=3)
    assert wider.preprocessor.label_names == ["0", "1", "2"] and wider.dropout == 0.3


@pytest.mark.parametrize(
    ("kind", "head", "encoder", "message"),
    [
        ("google", {}, {"activation": "silu"}, "activation='silu'; .* 'relu'"),
        ("google", {"next_sentence": False}, {"causal": True}, "causal=True; .* False"),
        ("google", {}, {"layer_norm_epsilon": 1e-5}, "layer_norm_epsilon=1e-05; .* 1e-12"),
        ("google", {"masked_lm_epsilon": 1e-3}, {}, "masked_lm_epsilon=0.001; .* 1e-12"),
        ("google", {"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'; .* 'gelu'"),
        ("google", {"tie_embeddings": False}, {}, "tie_embeddings=False; .* True.*model.backbone"),
        ("hugging_face", {"masked_lm_epsilon": 1e-3}, {}, "masked_lm_epsilon=0.001; .* 1e-12"),
        ("hugging_face", {"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'; "),
        ("hugging_face", {}, {"activation": "softsign"}, "activation='softsign'; .* 'silu'"),
        ("keras_hub", {}, {"activation": "relu"}, "activation='relu'; .* 'gelu_approximate' or"),
        ("keras_hub", {"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'"),
        ("keras_hub", {"tie_embeddings": False}, {}, "tie_embeddings=False; .* True"),
    ],
)
def test_what_a_library_lacks_is_refused(backbone, tmp_path, kind, head, encoder, message):
    if kind == "keras_hub":
        pytest.importorskip("keras_hub", reason="pip install keras-hub")
    model = BertPretrainer(backbone(num_layers=1, **encoder), **head)
    with pytest.raises(ValueError, match=message):
        SAVE[kind](model, tmp_path / "theirs")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", SAVE)
def test_a_full_disk_is_reported_alike(backbone, tmp_path, full_disk, kind, tensorflow):
    if kind == "keras_hub":
        pytest.importorskip("keras_hub", reason="pip install keras-hub")
    model = BertClassifier(backbone(num_layers=1, activation="gelu_approximate"), num_classes=2)
    with pytest.raises(OSError, match="The disk was full while .*model was written") as error:
        SAVE[kind](model, tmp_path / "model")
    assert error.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_model_of_any_format_is_replaced_and_nothing_else(
    backbone, preprocessor, tmp_path, tensorflow
):
    encoder, folder = backbone(num_layers=1, activation="gelu_approximate"), tmp_path / "model"
    for kind, save in SAVE.items():
        if kind != "keras_hub" or find_spec("keras_hub"):
            save(BertEmbedder(encoder, preprocessor=preprocessor), folder)
    encoder.save_to_hugging_face(folder)
    files = ["README.md", "config.json", "model.safetensors"]
    assert sorted(path.name for path in folder.iterdir()) == files
    (folder / "notes.txt").write_text("by hand")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    for name, message in (
        ("model", "holds notes.txt, which would be lost"),
        ("thesis", "holds chapter.txt, which would be lost"),
        ("thesis/chapter.txt", "is a file"),
    ):
        with pytest.raises(ValueError, match=message):
            encoder.save_to_hugging_face(tmp_path / name)
    assert sorted(path.name for path in folder.iterdir()) == [*files, "notes.txt"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "x"), True),
        (OSError(errno.EDQUOT, "x"), True),
        (RuntimeError("Can't write (file write failed: errno = 28, error message = 'x')"), True),
        (RuntimeError("Error while serializing: I/O error: File too large (os error 27)"), True),
        (RuntimeError("model.ckpt_temp/part; No space left on device"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (ValueError("28 labels, errno = 280"), False),
    ],
)
def test_errors_of_any_library_tell_a_full_disk(error, expected):
    assert is_disk_full(error) == expected
