"""Every format: models come back bit for bit or are refused, and folders are replaced whole."""

import errno

import pytest

import keras_bert
from keras_bert import BertBackbone, BertClassifier, BertEmbedder, BertPretrainer, BertTask
from keras_bert.files.remote import is_disk_full
from keras_bert.presets.formats.hugging_face import read_hugging_face

pytest.importorskip("tensorflow", reason="pip install tensorflow")

MODELS = {
    "a backbone": lambda backbone: backbone,
    "a pretrainer": BertPretrainer,
    "masked LM alone": lambda backbone: BertPretrainer(backbone, next_sentence=False),
    "a classifier": lambda backbone: BertClassifier(backbone, 2),
    "a span labeler": keras_bert.BertSpanLabeler,
    "an untied masked LM": lambda backbone: BertPretrainer(backbone, False, tie_embeddings=False),
    "a regression": lambda backbone: BertClassifier(backbone, 1, dropout=0.3),
    "a token classifier": lambda backbone: keras_bert.BertTokenClassifier(backbone, 3),
    "a multiple choice": lambda backbone: keras_bert.BertMultipleChoice(backbone, dropout=0.3),
    "an embedder": lambda backbone: BertEmbedder(backbone, pooling="max", normalize=False),
}


def settings(model):
    """Returns a model's config without names."""
    config = model.get_config()
    if model.backbone is not model:
        config["backbone"] = settings(model.backbone)
    return {k: v for k, v in config.items() if k not in ("name", "trainable", "preprocessor")}


@pytest.mark.parametrize("name", MODELS)  # tests/models/test_every_task.py saves them as presets
def test_every_model_comes_back_bit_for_bit(backbone, randomized, same, tmp_path, name):
    model = randomized(MODELS[name](backbone()))
    model.save_to_hugging_face(tmp_path)
    back = (BertBackbone if name == "a backbone" else BertTask).from_preset(tmp_path)
    assert type(back) is type(model) and same(model, back)
    assert settings(back) == settings(model)
    assert not back.load_report.new and not back.load_report.left_over


def test_every_setting_comes_back(backbone, tmp_path, save):
    others = {"dropout": 0.25, "attention_dropout": 0.05, "num_segments": 4, "num_heads": 4}
    others |= {"layer_norm_epsilon": 1e-5, "activation": "gelu_approximate"}
    model = BertPretrainer(backbone(num_layers=1, **others))
    save(model, tmp_path)
    assert settings(BertPretrainer.from_preset(tmp_path)) == settings(model)


@pytest.mark.parametrize("activation", ["gelu", "relu", "silu", "tanh"])
def test_every_activation_comes_back(backbone, tmp_path, activation):
    backbone(num_layers=1, activation=activation).save_to_hugging_face(tmp_path)
    assert read_hugging_face(tmp_path).backbone["activation"] == activation


@pytest.mark.parametrize(
    ("kind", "cls", "settings"),
    [
        ("preset", BertClassifier, {"truncation": "tail"}),
        ("hugging_face", BertClassifier, {"truncation": "head_tail"}),
        ("hugging_face", BertClassifier, {"truncation": "longest_first"}),
        ("hugging_face", keras_bert.BertTokenClassifier, {}),
    ],
)
def test_the_preprocessor_comes_back(backbone, words, tmp_path, save, cls, settings):
    tokenizer = keras_bert.BertTokenizer(words, lowercase=False)
    reader = cls.preprocessor_class()(tokenizer, 16, label_names=["O", "B-größer"], **settings)
    model = cls(backbone(num_layers=1, activation="gelu_approximate"), 2, reader, dropout=0.3)
    save(model, tmp_path)
    back = BertTask.from_preset(tmp_path)
    assert back.preprocessor.get_config() == reader.get_config() and back.dropout == 0.3
    assert type(reader).from_preset(tmp_path).get_config() == reader.get_config()
    wider = cls.from_preset(tmp_path, num_classes=3)
    assert wider.preprocessor.label_names == ["0", "1", "2"] and wider.dropout == 0.3


@pytest.mark.parametrize(
    ("head", "encoder", "message"),
    [
        ({"masked_lm_epsilon": 1e-3}, {}, "masked_lm_epsilon=0.001; .* 1e-12"),
        ({"masked_lm_activation": "relu"}, {}, "masked_lm_activation='relu'; "),
        ({}, {"activation": "softsign"}, "activation='softsign'; .* 'silu'"),
    ],
)
def test_what_transformers_lacks_is_refused(backbone, tmp_path, head, encoder, message, refused):
    model = BertPretrainer(backbone(num_layers=1, **encoder), **head)
    refused(message, model.save_to_hugging_face, tmp_path / "theirs")
    assert not list(tmp_path.iterdir())


def test_an_earlier_model_of_any_format_is_replaced_and_nothing_else(
    backbone, preprocessor, tmp_path, tensorflow, refused
):
    encoder, folder = backbone(num_layers=1, activation="gelu_approximate"), tmp_path / "model"
    embedder = BertEmbedder(encoder, preprocessor=preprocessor)
    for save in (embedder.save_to_preset, embedder.save_to_hugging_face):
        save(folder)
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
        refused(message, encoder.save_to_hugging_face, tmp_path / name)
    assert sorted(path.name for path in folder.iterdir()) == [*files, "notes.txt"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "x"), True),
        (OSError(errno.EDQUOT, "x"), True),
        (RuntimeError("Can't write (errno = 28, error message = 'No space left on device')"), True),
        (RuntimeError("Error while serializing: I/O error: File too large (os error 27)"), True),
        (RuntimeError("model.ckpt_temp/part; No space left on device"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (ValueError("28 labels, errno = 280"), False),
    ],
)
def test_errors_of_any_library_tell_a_full_disk(error, expected):
    assert is_disk_full(error) == expected
