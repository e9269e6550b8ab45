import pytest

from keras_bert.files.utf8 import read_utf8
from keras_bert.files.whole import whole_file


def test_text_is_read_without_its_byte_order_mark(tensorflow, tmp_path):
    for path in (tmp_path / "a.txt", "ram://utf8/a.txt"):
        with whole_file(path, "wb") as file:
            file.write("\ufeffZürich\r\n字".encode())
        assert read_utf8(path) == "Zürich\r\n字"


def test_what_is_not_utf8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\xfc\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: not UTF-8 \(byte 0xfc\)"):
        read_utf8(path)


def test_a_missing_file_is_named(tensorflow):
    for path in ("nowhere.txt", "ram://utf8/nowhere.txt"):
        with pytest.raises(ValueError, match=r"nowhere\.txt can't be read: "):
            read_utf8(path)
