"""A full disk while a model is saved: one message, and no partial folder."""

import errno

import pytest

from keras_bert import BertClassifier
from keras_bert.files.remote import is_disk_full
from keras_bert.presets.save_checkpoint import (
    save_to_google,
    save_to_hugging_face,
    save_to_keras_hub,
)

SAVE = {
    "preset": lambda model, folder: model.save_to_preset(folder),
    "hugging_face": save_to_hugging_face,
    "google": save_to_google,
    "keras_hub": save_to_keras_hub,
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
