"""A folder that is saved to: replaced whole, if it holds a model, or left as it was."""

import errno
from importlib.util import find_spec

import pytest

from keras_bert import BertClassifier, BertEmbedder
from keras_bert.files.remote import is_disk_full
from keras_bert.presets.preset import PresetModel

SAVE = {
    "preset": lambda model, folder: model.save_to_preset(folder),
    "hugging_face": PresetModel.save_to_hugging_face,
    "google": PresetModel.save_to_google,
    "keras_hub": PresetModel.save_to_keras_hub,
}


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
