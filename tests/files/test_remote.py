"""Text files of any size, packed or not, on any file system."""

import gzip

import pytest

from keras_bert.files.remote import read_text

pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')


def test_a_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("\ufeffGrüße".encode()))
    assert read_text(path) == "Grüße"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_missing_file_is_refused_on_any_file_system(tmp_path, name, refused):
    pytest.importorskip("tensorflow")
    for folder in (tmp_path, "ram://nothing"):
        refused(f"{name} can't be read", read_text, f"{folder}/{name}")
