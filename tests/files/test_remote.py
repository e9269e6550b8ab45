"""Files of any size, packed or not, on any file system."""

import errno
import gzip
import zipfile
from pathlib import Path

import pytest

from keras_bert.files.given import check_stored
from keras_bert.files.remote import file_system, is_remote, read_text
from keras_bert.files.whole import whole_file

pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')
TEXT = "Zürich\r\n字"


def test_text_is_read_without_its_byte_order_mark(tensorflow, tmp_path, write):
    for path in (tmp_path / "a.txt", "ram://utf8/a.txt"):
        with whole_file(path, "wb") as file:
            file.write(f"\ufeff{TEXT}".encode())
        assert read_text(path) == TEXT
    packed = gzip.compress(f"\ufeff{TEXT}".encode())
    assert read_text(write(packed, "a.txt.gz")) == TEXT
    assert read_text(write(TEXT.encode("utf-16"))) == TEXT


def test_a_missing_file_is_refused_on_any_file_system(tensorflow, tmp_path, refused):
    for folder in (tmp_path, "ram://nothing"):
        for name in ("a.txt", "a.txt.gz"):
            refused(f"{name} can't be read", read_text, f"{folder}/{name}")


def test_remote_paths_are_known_by_their_scheme(tmp_path, refused):
    assert is_remote("gs://bucket/run") and not is_remote(tmp_path) and not is_remote("gs")
    refused("gs:/bucket/run has a scheme and one slash", is_remote, Path("gs://bucket/run"))


def test_tensorflow_s_errors_are_os_errors_with_numbers(tensorflow):
    numbers = {
        "NotFound": errno.ENOENT,
        "ResourceExhausted": errno.ENOSPC,
        "Unavailable": None,
    }
    for name, number in numbers.items():
        with pytest.raises(OSError, match="gs://b/x") as caught, file_system("gs://b/x"):
            raise getattr(tensorflow.errors, f"{name}Error")(None, None, "message")
        assert caught.value.errno == number


def test_zip_files_that_could_grow_are_refused(tmp_path, refused):
    for method, size in ((zipfile.ZIP_BZIP2, 1), (zipfile.ZIP_STORED, 99)):
        with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
            archive.writestr("a", "b")
            archive.infolist()[0].file_size = size
            refused("compressed, or names more than it holds", check_stored, archive)
