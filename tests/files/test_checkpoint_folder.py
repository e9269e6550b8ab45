import pytest

from keras_bert.files.checkpoint_folder import checkpoint_folder


@pytest.fixture(params=["here", "remote"])
def folder(request, tmp_path):
    if request.param == "here":
        return checkpoint_folder(tmp_path / "run")
    request.getfixturevalue("tensorflow")  # whose file systems reach buckets; this one is in memory
    return checkpoint_folder(f"ram://{request.node.name}/run")


def write(folder, name, content):
    with folder.new(name) as file:
        file.write(content)


def read(folder, name):
    with folder.open(name) as file:
        return file.read()


def test_what_is_written_is_there(folder):
    assert list(folder.names()) == []
    write(folder, "a", b"one")
    write(folder, "b", b"two")
    write(folder, "a", b"three")
    assert sorted(folder.names()) == ["a", "b"]
    assert read(folder, "a") == b"three" and read(folder, "b") == b"two"
    folder.remove("a")
    assert list(folder.names()) == ["b"]


def test_a_file_that_is_not_whole_does_not_get_its_name(folder):
    write(folder, "a", b"one")
    with pytest.raises(KeyboardInterrupt), folder.new("a") as file:
        file.write(b"tw")
        assert read(folder, "a") == b"one"
        raise KeyboardInterrupt
    assert list(folder.names()) == ["a"] and read(folder, "a") == b"one"


def test_what_is_not_there_is_an_os_error(folder):
    write(folder, "a", b"one")
    with pytest.raises(OSError, match="none"):
        read(folder, "none")
    with pytest.raises(OSError, match="none"):
        folder.remove("none")
