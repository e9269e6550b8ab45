import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import names_in, read_bytes
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


def test_a_file_is_there_when_the_block_has_ended(folder):
    before = {}
    for text in ("Zürich\n字", "", "\r\n"):
        for mode, content in (("w", text), ("wb", text.encode("utf-16"))):
            with whole_file(f"{folder}/a.txt", mode) as file:
                file.write(content)
                assert tree(folder).get("a.txt") == before.get("a.txt")
            before = {"a.txt": content.encode() if mode == "w" else content}
            assert tree(folder) == before


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


def check(names):
    raise ValueError(f"holds {names}")


def test_a_check_says_what_may_be_replaced(folder):
    with whole_folder(f"{folder}/model", check) as new:
        write(new / "b/c", "")
        write(new / "a", "")
    for path, message in (("model", r"holds \['a', 'b'\]"), ("model/a", "is a file")):
        with (
            pytest.raises(ValueError, match=message),
            whole_folder(f"{folder}/{path}", check),
        ):
            pass
    assert tree(folder) == {"model/a": b"", "model/b/c": b""}


@pytest.mark.parametrize("step", ["copy", "rename"])
@pytest.mark.parametrize("message", ["UnavailableError the network is gone", "No such file"])
def test_a_remote_folder_is_marked_last(tensorflow, monkeypatch, step, message):
    folder = f"ram://{step}/{message}/runs"
    write(f"{folder}/model/config.json", "old")
    done, real = [], getattr(tensorflow.io.gfile, step)

    def meets(source, target, **arguments):
        done.append("/".join(target.split("/")[6:]))
        if done[-1] == "config.json":
            if "network" in message:
                raise tensorflow.errors.UnavailableError(None, None, "the network is gone")
            remove_unfinished(folder)  # as another writer does
        real(source, target, **arguments)

    told = f"model: {message}|{message}.*runs/model"
    with pytest.raises(OSError, match=told), whole_folder(f"{folder}/model") as new:
        for name in ("a", "config.json", "z/config.json", "z/y"):
            write(new / name, "new")
        monkeypatch.setattr(tensorflow.io.gfile, step, meets)
    assert done == ["a", "z/config.json", "z/y", "config.json"]
    assert tree(folder) == ({"model/config.json": b"old"} if step == "copy" else {})


def test_the_old_folder_comes_back_if_the_new_one_can_not_take_its_place(tmp_path, monkeypatch):
    folder = str(tmp_path / "model")
    write(f"{folder}/config.json", "old")
    real = os.rename
    for message in ("broken", "another process"):

        def meets(source, target, message=message):
            if source.endswith("/model") and target == folder:
                if message == "broken":
                    raise OSError(errno.EIO, message)
                remove_unfinished(tmp_path)
            real(source, target)

        monkeypatch.setattr(os, "rename", meets)
        with pytest.raises(OSError, match=message), whole_folder(folder) as new:
            write(new / "config.json", "new")
        assert tree(tmp_path) == {"model/config.json": b"old"}


def test_what_another_process_wrote_in_the_meantime_is_checked_again(tmp_path):
    with (
        pytest.raises(ValueError, match="holds"),
        whole_folder(tmp_path / "model", check) as new,
    ):
        write(new / "config.json", "first")
        write(tmp_path / "model/config.json", "second")
    assert tree(tmp_path) == {"model/config.json": b"second"}


def test_of_two_writers_at_once_the_folder_is_one_s(tmp_path):
    for error in (None, KeyError("what is gone")):
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
        assert tree(tmp_path) == {
            "model/config.json": b"second",
            "model/a.txt": b"second",
        }


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


LEFT = [(1, b"old", b"old"), (3, b"new", b"old"), (4, b"new", None), (5, b"new", b"new")]


def test_a_killed_writer_leaves_the_old_or_the_new(tmp_path):
    for change, file, model in LEFT:
        write(tmp_path / "model/config.json", "old")
        write(tmp_path / "a.txt", "old")
        command = [sys.executable, "-c", KILLED, tmp_path, str(change)]
        assert subprocess.run(command).returncode == -signal.SIGKILL
        left = tree(tmp_path)
        assert left["a.txt"] == file and left.get("model/config.json") == model, change
        recover(tmp_path / "model")
        assert tree(tmp_path)["model/config.json"] == (model or b"old"), change
        with whole_folder(tmp_path / "model") as new:
            write(new / "config.json", "newer")
        write(tmp_path / "a.txt", "newer")
        assert tree(tmp_path) == {"a.txt": b"newer", "model/config.json": b"newer"}, change


def test_leftovers_are_removed_but_an_earlier_version_that_is_the_only_one(folder):
    only = temporary_name(f"{folder}/gone", "old")
    kept = [
        only,
        f"{folder}/a",
        f"{folder}/.unfinished-business",
        f"{folder}/.unfinished-0123",
    ]
    for name in (
        *kept,
        temporary_name(f"{folder}/b"),
        temporary_name(f"{folder}/a", "old"),
    ):
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


WORKING = [("run", "."), ("run", "x/.."), ("run/x", ".."), ("link", "../link")]


def test_the_working_directory_and_roots_are_not_replaced(tmp_path, monkeypatch, tensorflow):
    (tmp_path / "run/x").mkdir(parents=True)
    (tmp_path / "link").symlink_to("run")
    refusals = [(tmp_path / here, path, "run can't be replaced: it is") for here, path in WORKING]
    refusals.append((tmp_path, "gs://bucket/", "gs://bucket is the root"))
    for here, path, message in refusals:
        monkeypatch.chdir(here)
        with pytest.raises(ValueError, match=message), whole_folder(path):
            pytest.fail(f"the block ran for {path} in {here}")
    assert os.listdir(tmp_path / "run") == ["x"] and Path.cwd().exists()


def test_a_working_directory_may_be_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with whole_folder(tmp_path / "model") as new:
        write(new / "a", "")
    monkeypatch.chdir(tmp_path)
    with whole_folder("new/../other") as new:
        write(new / "a", "")
    assert tree(".") == {"model/a": b"", "other/a": b""}


def test_errors_of_the_block_stay_what_they_are(tensorflow):
    for new in (whole_file, whole_folder, whole_path):
        with pytest.raises(tensorflow.errors.ResourceExhaustedError):
            with new("ram://of-the-block/a/b"):
                raise tensorflow.errors.ResourceExhaustedError(None, None, "of the device")
    assert tree("ram://of-the-block/a") == {}


def test_json_is_read_as_it_was_written(folder, refused):
    path = f"{folder}/a.json"
    assert read_json(path) == {} and read_json(path, list) == []
    write_json(path, {"字": [1]})
    assert read_json(path) == {"字": [1]} and "字" in read_bytes(path).decode()
    refused("must hold a JSON list; it holds a dict", read_json, path, list)
    write(path, '{"a":' * 100_000)
    refused(r"a\.json is not JSON: maximum recursion", read_json, path)
