"""Killed writers: the old or the new file is there, and their leftovers go."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from keras_bert.files import leftovers, whole
from keras_bert.files.leftovers import recover, remove_unfinished, temporary_name
from keras_bert.files.remote import names_in, read_bytes
from keras_bert.files.whole import whole_file, whole_folder, whole_path

# Dies inside a write, or between the renames of a folder that can't be exchanged.
KILLED = """
import os, signal, sys
from pathlib import Path
from keras_bert.files import whole

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

folder, where = Path(sys.argv[1]), sys.argv[2]
if where == "renames":
    whole._exchange = lambda one, other: False
    real = Path.rename
    def rename(self, target):
        real(self, target)
        if target.name.startswith(".old-"):
            die()
    Path.rename = rename
if where == "exchanged":
    whole.shutil.rmtree = die
with whole.whole_folder(folder / "model") as new, whole.whole_file(folder / "a.txt") as file:
    (new / "config.json").write_text("new")
    print("new", file=file, flush=True)
    if where == "write":
        die()
"""


def run_killed(folder, where):
    done = subprocess.run([sys.executable, "-c", KILLED, folder, where], check=False)
    assert done.returncode == -signal.SIGKILL


def write(folder, text="new", name="model"):
    with whole_folder(folder / name) as new:
        (new / "config.json").write_text(text)


def read(folder):
    return (folder / "model" / "config.json").read_text()


@pytest.fixture
def old(tmp_path):
    """A folder of a model and a file that a killed writer was replacing."""
    write(tmp_path, "old")
    (tmp_path / "a.txt").write_text("old")
    return tmp_path


def test_a_writer_that_is_killed_keeps_the_old_and_the_next_cleans_up(old):
    run_killed(old, "write")
    assert read(old) == "old" and (old / "a.txt").read_text() == "old"
    assert len(os.listdir(old)) == 4
    write(old)
    with whole_path(old / "a.txt") as path:
        open(path, "w").close()
    assert sorted(os.listdir(old)) == ["a.txt", "model"]


def test_a_kill_after_the_exchange_leaves_the_new_folder(old):
    if not whole._exchange(old / "model", old / "a.txt"):
        pytest.skip("this file system can't exchange two names")
    whole._exchange(old / "model", old / "a.txt")
    run_killed(old, "exchanged")
    assert read(old) == "new"
    write(old)
    assert sorted(os.listdir(old)) == ["a.txt", "model"]


def test_a_kill_between_two_renames_is_recovered_by_reading_and_by_writing(old):
    for use in (recover, lambda path: write(path.parent, "old")):
        run_killed(old, "renames")
        assert not (old / "model").exists()
        use(old / "model")
        assert read(old) == "old"
    write(old)
    assert sorted(os.listdir(old)) == ["a.txt", "model"]


def test_a_folder_is_never_missing_while_it_is_replaced(old):
    missing, ended = [], threading.Event()

    def look():
        while not ended.is_set():
            missing.append(not (old / "model" / "config.json").exists())

    if not whole._exchange(old / "model", old / "model"):
        pytest.skip("this file system can't exchange two names")
    reader = threading.Thread(target=look)
    reader.start()
    for number in range(100):
        write(old, str(number))
    ended.set()
    reader.join()
    assert missing and not any(missing)


def test_where_names_can_not_be_exchanged_a_folder_is_replaced_by_renames(old, monkeypatch):
    monkeypatch.setattr(whole, "_exchange", lambda one, other: False)
    write(old)
    assert read(old) == "new" and sorted(os.listdir(old)) == ["a.txt", "model"]


def test_leftovers_of_live_processes_stay(tmp_path):
    with whole_folder(tmp_path / "model") as first:
        (first / "config.json").write_text("first")
        write(tmp_path, "second")
        remove_unfinished(tmp_path)
    assert read(tmp_path) == "first" and os.listdir(tmp_path) == ["model"]


def of(**parts):
    """A temporary name of another writer."""
    name = leftovers._NAME.fullmatch(os.path.basename(temporary_name("a", parts.pop("kind"))))
    found = {**name.groupdict(), **parts}
    return ".{kind}-{machine}-{process}-{started}-{written}-01234567-{name}".format(**found)


@pytest.mark.parametrize("kind", ["unfinished", "old"])
def test_a_leftover_is_removed_if_its_writer_is_dead(tmp_path, kind):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    now, yesterday = (f"{int(time.time()) - age:x}" for age in (0, 25 * 3600))
    gone = [
        of(kind=kind, process=ended.pid),
        of(kind=kind, process=ended.pid, name="b"),
        of(kind=kind, started=1),  # this process's number, used by an earlier process
        of(kind=kind, machine="00000000", written=yesterday),
        of(kind=kind, process=10**12),
    ]
    kept = [of(kind=kind), of(kind=kind, machine="00000000", written=now)]
    kept += [".unfinished-business", "a", "b", ".unfinished-0123"]
    for name in (*gone, *kept):
        with whole_file(tmp_path / name / "c") as file:
            file.write("")
    remove_unfinished(tmp_path, "b")
    assert sorted(os.listdir(tmp_path)) == sorted({*gone, *kept} - {gone[1]})
    remove_unfinished(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    remove_unfinished(tmp_path / "missing")


def test_an_earlier_version_is_kept_while_it_is_the_only_one(tmp_path):
    earlier = of(kind="old", process=10**12, name="model")
    (tmp_path / earlier).mkdir()
    remove_unfinished(tmp_path)
    assert os.listdir(tmp_path) == [earlier]
    recover(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_leftovers_are_removed_from_remote_folders(tensorflow):
    names = of(kind="unfinished", process=10**12), of(kind="unfinished")
    for name in names:
        with whole_file(f"ram://leftovers/run/{name}") as file:
            file.write("")
    remove_unfinished("ram://leftovers/run")
    assert names_in("ram://leftovers/run") == [names[1]]
    recover("ram://leftovers/run/a")


class KilledError(BaseException):
    """Stands for a kill: the fixture `killed` keeps the clean-up from running."""


@pytest.fixture
def killed(tensorflow, monkeypatch):
    """Kills the writer of a remote folder before a call to a function of `tf.io.gfile`."""

    def write_killed(folder, step, calls):
        gfile, done = tensorflow.io.gfile, []
        real = getattr(gfile, step)

        def die(path, *arguments, **named):
            done.append(path)
            if len(done) > calls:
                raise KilledError
            return real(path, *arguments, **named)

        with monkeypatch.context() as patch, pytest.raises(KilledError):
            patch.setattr(whole, "remove", lambda path: None)
            with whole_folder(folder) as new:
                for name in ("a", "config.json", "new/b"):
                    (new / name).parent.mkdir(exist_ok=True)
                    (new / name).write_text("new")
                patch.setattr(gfile, step, die)
        # Its process is dead from now on.
        monkeypatch.setattr(leftovers, "_is_dead", lambda found: True)

    return write_killed


def remote_tree(folder):
    """`{path: content}` of the files in a remote folder."""
    import tensorflow

    paths = [f"{f}/{n}" for f, _, names in tensorflow.io.gfile.walk(folder) for n in names]
    return {os.path.relpath(path, folder): read_bytes(path).decode() for path in sorted(paths)}


OLD = {"config.json": "old", "old/c": "old"}
NEW = {"a": "new", "config.json": "new", "new/b": "new"}


@pytest.mark.parametrize("again", ["read", "write"])
@pytest.mark.parametrize(
    ("step", "calls"),
    [("copy", 0), ("copy", 2), ("rmtree", 0), ("rename", 0), ("rename", 2), ("rmtree", 1)],
)
def test_a_remote_folder_survives_a_kill(killed, step, calls, again):
    folder = f"ram://killed-{step}-{calls}-{again}/runs/model"
    for name, text in OLD.items():
        with whole_file(f"{folder}/{name}") as file:
            file.write(text)
    killed(folder, step, calls)
    if again == "read":
        recover(folder)
        assert remote_tree(folder) == (OLD if step == "copy" else NEW)
    else:
        seen = []
        with whole_folder(folder, seen.append) as new:
            (new / "config.json").write_text("newer")
        assert all("config.json" in names for names in seen) and len(seen) == 2
        assert remote_tree(folder) == {"config.json": "newer"}
        assert names_in(os.path.dirname(folder)) == ["model"]
    recover(folder)  # a second time, nothing is left to do


def test_a_complete_remote_folder_is_kept_for_its_reader(killed):
    folder = "ram://killed-and-cleaned/runs/model"
    with whole_file(f"{folder}/config.json") as file:
        file.write("old")
    killed(folder, "rename", 1)
    remove_unfinished(os.path.dirname(folder))
    recover(folder)
    assert remote_tree(folder) == NEW


def test_what_another_process_wrote_in_the_meantime_is_checked_again(tmp_path):
    def check(names):
        raise ValueError(f"holds {names}")

    with pytest.raises(ValueError, match="holds"), whole_folder(tmp_path / "model", check) as new:
        (new / "config.json").write_text("first")
        write(tmp_path, "second")
    assert read(tmp_path) == "second" and os.listdir(tmp_path) == ["model"]
