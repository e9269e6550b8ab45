import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.files import whole
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import file_system, is_remote, names_in, read_bytes, read_text
from keras_bert.files.whole import (
    recover,
    remove_unfinished,
    temporary_name,
    whole_file,
    whole_folder,
    whole_path,
)


@pytest.fixture(params=["local", "remote"])
def folder(request, tmp_path):
    """A folder that doesn't exist yet, as a str."""
    if request.param == "local":
        return str(tmp_path / "runs" / "first")
    request.getfixturevalue("tensorflow")  # whose file systems reach buckets; this one is in memory
    return f"ram://{request.node.name}/runs/first"


def tree(folder):
    """`{path: content}` of all files below a folder."""
    found = {}
    for name in names_in(folder):
        inner = tree(f"{folder}/{name}")
        try:
            inner = {f"{name}/{key}": value for key, value in inner.items()}
            found |= inner or {name: read_bytes(f"{folder}/{name}")}
        except OSError:  # an empty folder
            found[name] = None
    return found


def write(path, text):
    with whole_file(path) as file:
        file.write(text)


@pytest.mark.parametrize("mode, content", [("w", "Zürich\n字"), ("wb", b"\x00\xff\r\n"), ("w", "")])
def test_a_file_is_there_when_the_block_has_ended(folder, mode, content):
    for again in (False, True):
        with whole_file(f"{folder}/a.txt", mode) as file:
            file.write(content)
            assert ("a.txt" in names_in(folder)) == again
    assert tree(folder) == {"a.txt": content.encode() if mode == "w" else content}


def test_an_error_keeps_what_was_there_and_leaves_nothing(folder):
    for before in ({}, {"a.txt": b"old", "model/config.json": b"old"}):
        for path, content in before.items():
            write(f"{folder}/{path}", content.decode())
        with pytest.raises(KeyboardInterrupt), whole_file(f"{folder}/a.txt") as file:
            file.write("new")
            file.flush()
            assert tree(folder).get("a.txt") == before.get("a.txt")
            raise KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt), whole_folder(f"{folder}/model") as new:
            write(new / "config.json", "new")
            raise KeyboardInterrupt
        assert tree(folder) == before


def test_writers_that_take_a_name_get_one_with_the_same_suffix(folder):
    for text in ("one", "two"):
        with whole_path(f"{folder}/model.keras") as temporary:
            assert temporary.startswith(f"{folder}/.unfinished-")
            assert temporary.endswith("-model.keras")
            write(temporary, text)
    assert tree(folder) == {"model.keras": b"two"}


def test_of_two_writers_at_once_the_file_is_one_s(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a.txt") as first:
        first.write("first")
        with whole_file(tmp_path / "a.txt") as second:
            second.write("second")
    assert tree(str(tmp_path)) == {"a.txt": b"second"}


def test_a_folder_replaces_the_old_one(folder):
    for number, names in enumerate((["config.json", "b/c.txt"], ["d.txt", "config.json", "b/e"])):
        with whole_folder(f"{folder}/model") as new:
            assert list(new.iterdir()) == []
            for name in names:
                write(new / name, str(number))
            assert len(tree(f"{folder}/model")) == 2 * number
        assert tree(folder) == {f"model/{name}": str(number).encode() for name in names}


def test_a_check_says_what_may_be_replaced(folder):
    def check(names):
        raise ValueError(f"holds {names}")

    with whole_folder(f"{folder}/model", check) as new:
        write(new / "b/c", "")
        write(new / "a", "")
    for path, message in (("model", r"holds \['a', 'b'\]"), ("model/a", "is a file")):
        with pytest.raises(ValueError, match=message), whole_folder(f"{folder}/{path}", check):
            pass
    assert tree(folder) == {"model/a": b"", "model/b/c": b""}


@pytest.mark.parametrize("step", ["copy", "rename"])
def test_a_remote_folder_is_marked_last(tensorflow, monkeypatch, step):
    folder = f"ram://marked-{step}/runs"
    write(f"{folder}/model/config.json", "old")
    done, real = [], getattr(tensorflow.io.gfile, step)

    def fails_at_the_mark(source, target, **arguments):
        done.append("/".join(target.split("/")[5:]))
        if done[-1] == "config.json":
            raise tensorflow.errors.UnavailableError(None, None, "the network is gone")
        real(source, target, **arguments)

    with pytest.raises(OSError, match="runs/model: UnavailableError the network is gone"):
        with whole_folder(f"{folder}/model") as new:
            for name in ("a", "config.json", "z/config.json", "z/y"):
                write(new / name, "new")
            monkeypatch.setattr(tensorflow.io.gfile, step, fails_at_the_mark)
    assert done == ["a", "z/config.json", "z/y", "config.json"]
    assert tree(folder) == ({"model/config.json": b"old"} if step == "copy" else {})


def test_the_old_folder_comes_back_if_the_new_one_can_not_take_its_place(tmp_path, monkeypatch):
    write(tmp_path / "model/config.json", "old")
    real = os.rename

    def fails(source, target):
        if ".unfinished-" in source:
            raise OSError(errno.EIO, "broken")
        real(source, target)

    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(OSError, match="broken"), whole_folder(tmp_path / "model") as new:
        write(new / "config.json", "new")
    assert tree(tmp_path) == {"model/config.json": b"old"}


def test_what_another_process_wrote_in_the_meantime_is_checked_again(tmp_path):
    def check(names):
        raise ValueError(f"holds {names}")

    with pytest.raises(ValueError, match="holds"), whole_folder(tmp_path / "model", check) as new:
        write(new / "config.json", "first")
        write(tmp_path / "model/config.json", "second")
    assert tree(tmp_path) == {"model/config.json": b"second"}


@pytest.mark.parametrize("error", [None, KeyError("what is gone")])
def test_of_two_writers_at_once_the_folder_is_one_s(tmp_path, error):
    write(tmp_path / "model/config.json", "old")
    with pytest.raises(OSError, match="model was not written: another"):
        with whole_folder(tmp_path / "model") as first:
            write(first / "config.json", "first")
            with whole_folder(tmp_path / "model") as second:
                write(second / "config.json", "second")
                write(second / "a.txt", "second")
            write(first / "a.txt", "first")  # makes the folder again
            if error:
                raise error
    assert tree(tmp_path) == {"model/config.json": b"second", "model/a.txt": b"second"}


def test_what_another_writer_removes_between_the_renames_is_restored(tmp_path, monkeypatch):
    write(tmp_path / "model/config.json", "old")
    real = os.rename

    def meets_another(source, target):
        if source.endswith("/model") and target == str(tmp_path / "model"):
            monkeypatch.setattr(os, "rename", real)
            remove_unfinished(tmp_path)
        real(source, target)

    monkeypatch.setattr(os, "rename", meets_another)
    with pytest.raises(OSError, match="another process"), whole_folder(tmp_path / "model") as new:
        write(new / "config.json", "new")
    assert tree(tmp_path) == {"model/config.json": b"old"}


def test_a_remote_folder_that_another_writer_removes_replaces_nothing(tensorflow, monkeypatch):
    folder, real = "ram://two-writers/runs", tensorflow.io.gfile.copy
    write(f"{folder}/model/config.json", "old")

    def meets_another(source, target, **arguments):
        if target.endswith("/config.json"):
            remove_unfinished(folder)
        real(source, target, **arguments)

    with pytest.raises(OSError, match="runs/model"), whole_folder(f"{folder}/model") as new:
        write(new / "config.json", "new")
        write(new / "a.txt", "new")
        monkeypatch.setattr(tensorflow.io.gfile, "copy", meets_another)
    assert tree(folder) == {"model/config.json": b"old"}


# Dies before a given change of a name: a rename, or the removal of the old folder.
KILLED = """
import os, signal, sys
from pathlib import Path
from keras_bert.files import whole

folder, left = Path(sys.argv[1]), [int(sys.argv[2])]

def counts(real):
    def changes(*arguments):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)
    return changes

os.rename, os.replace, whole.remove = map(counts, (os.rename, os.replace, whole.remove))
with whole.whole_folder(folder / "model") as new, whole.whole_file(folder / "a.txt") as file:
    (new / "config.json").write_text("new")
    print("new", end="", file=file)
"""


@pytest.mark.parametrize(
    ("change", "file", "model"),
    [(1, b"old", b"old"), (3, b"new", b"old"), (4, b"new", None), (5, b"new", b"new")],
)
def test_a_killed_writer_leaves_the_old_or_the_new(tmp_path, change, file, model):
    write(tmp_path / "model/config.json", "old")
    write(tmp_path / "a.txt", "old")
    command = [sys.executable, "-c", KILLED, tmp_path, str(change)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    left = tree(tmp_path)
    assert left["a.txt"] == file and left.get("model/config.json") == model
    recover(tmp_path / "model")
    assert tree(tmp_path)["model/config.json"] == (model or b"old")
    with whole_folder(tmp_path / "model") as new:
        write(new / "config.json", "newer")
    write(tmp_path / "a.txt", "newer")
    assert tree(tmp_path) == {"a.txt": b"newer", "model/config.json": b"newer"}


def test_leftovers_are_removed_but_an_earlier_version_that_is_the_only_one(folder):
    only = temporary_name(f"{folder}/gone", "old")
    kept = [only, f"{folder}/a", f"{folder}/.unfinished-business", f"{folder}/.unfinished-0123"]
    for name in (*kept, temporary_name(f"{folder}/b"), temporary_name(f"{folder}/a", "old")):
        write(f"{name}/c", "")
    remove_unfinished(folder)
    assert names_in(folder) == sorted(map(os.path.basename, kept))
    remove_unfinished(f"{folder}/missing")


def test_what_a_link_leads_to_is_replaced(tmp_path):
    write(tmp_path / "disk/model/config.json", "old")
    write(tmp_path / "disk/a.txt", "old")
    for name in ("model", "a.txt"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
    write(tmp_path / "a.txt", "new")
    with whole_folder(tmp_path / "model") as new:
        write(new / "config.json", "new")
    assert (tmp_path / "model").is_symlink() and (tmp_path / "a.txt").is_symlink()
    assert tree(tmp_path / "disk") == {"a.txt": b"new", "model/config.json": b"new"}


@pytest.mark.parametrize(
    ("here", "path"),
    [("run", "."), ("run", "x/.."), ("run", "../run"), ("run/x", ".."), ("link", "../link")],
)
def test_the_working_directory_is_not_replaced(tmp_path, monkeypatch, here, path):
    (tmp_path / "run/x").mkdir(parents=True)
    (tmp_path / "link").symlink_to("run")
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(ValueError, match="run can't be replaced: it is a disk, or the working"):
        with whole_folder(path):
            pytest.fail("the block ran")
    assert os.listdir(tmp_path / "run") == ["x"] and Path.cwd().exists()
    with whole_folder("new/../other") as new:
        write(new / "a", "")
    assert os.listdir("other") == ["a"]


def test_a_process_without_a_working_directory_writes(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with whole_folder(tmp_path / "model") as new:
        write(new / "a", "")
    monkeypatch.chdir(tmp_path)
    assert tree("model") == {"a": b""}


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    temporary = tmp_path / "x"
    temporary.symlink_to("/dev/full")
    monkeypatch.setattr(whole, "temporary_name", lambda path: str(temporary))
    message = r"disk was full while .*/a was written.*\(.*No space left"
    with pytest.raises(OSError, match=message) as caught, whole_file(tmp_path / "a") as file:
        file.write("text" * 10000)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == [] and os.path.exists("/dev/full")


def test_tensorflow_s_errors_are_os_errors_with_numbers(tensorflow):
    numbers = {"NotFound": errno.ENOENT, "ResourceExhausted": errno.ENOSPC, "Unavailable": None}
    for name, number in numbers.items():
        with pytest.raises(OSError, match="gs://b/x") as caught, file_system("gs://b/x"):
            raise getattr(tensorflow.errors, f"{name}Error")(None, None, "message")
        assert caught.value.errno == number


def test_errors_of_the_block_stay_what_they_are(tensorflow):
    for new in (whole_file, whole_folder, whole_path):
        with pytest.raises(tensorflow.errors.ResourceExhaustedError):
            with new("ram://of-the-block/a/b"):
                raise tensorflow.errors.ResourceExhaustedError(None, None, "of the device")
    assert tree("ram://of-the-block/a") == {}


def test_remote_paths_are_known_by_their_scheme(tmp_path, tensorflow, refused):
    assert is_remote("gs://bucket/run") and not is_remote(tmp_path) and not is_remote("gs")
    refused("gs:/bucket/run has a scheme and one slash", is_remote, Path("gs://bucket/run"))
    with pytest.raises(ValueError, match="gs://bucket is the root"), whole_folder("gs://bucket/"):
        pass


def test_json_is_read_as_it_was_written(folder, refused):
    path = f"{folder}/a.json"
    assert read_json(path) == {} and read_json(path, list) == []
    write_json(path, {"字": [1]})
    assert read_json(path) == {"字": [1]} and "字" in read_bytes(path).decode()
    refused("must hold a JSON list; it holds a dict", read_json, path, list)
    write(path, "{")
    refused(r"a\.json is not JSON", read_json, path)


def test_text_is_read_without_its_byte_order_mark(tensorflow, tmp_path):
    for path in (tmp_path / "a.txt", "ram://utf8/a.txt"):
        with whole_file(path, "wb") as file:
            file.write("\ufeffZürich\r\n字".encode())
        assert read_text(path) == "Zürich\r\n字"
