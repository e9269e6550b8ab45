"""Temporary names that identify their writer, and removal of what killed writers left.

A temporary name holds the writer's machine and process. Files of a live process are therefore never
removed, even if several processes write to the same folder.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import time
import uuid

from keras_bert.files.remote import as_os_errors, is_remote, names_in

ANOTHER_MACHINES = 24 * 3600
"""Seconds after which the writer of a leftover on another machine is considered dead."""

_FILES = ".files"  # the list of files in a complete remote folder

_NAME = re.compile(
    r"\.(?P<kind>unfinished|old)-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-(?P<started>\d+)"
    r"-(?P<written>[0-9a-f]+)-[0-9a-f]{8}-(?P<name>.+)",
    re.DOTALL,
)


def temporary_name(path: str | os.PathLike, kind: str = "unfinished") -> str:
    """Returns a hidden name next to `path`, new at every call, with the same suffix."""
    folder, name = os.path.split(str(path))
    process = os.getpid()
    writer = f"{_machine()}-{process}-{_started(process) or 0}-{int(time.time()):x}"
    return os.path.join(folder, f".{kind}-{writer}-{uuid.uuid4().hex[:8]}-{name}")


def remove_unfinished(folder: str | os.PathLike, name: str | None = None) -> None:
    """Removes files and folders that killed writers left in a folder under temporary names.

    Those of live processes are kept, and those that another machine wrote less than a day ago.

    Args:
        folder: a path, local or remote; it may be missing.
        name: name of a file or folder whose leftovers to remove; by default, all are removed.
    """
    names = names_in(folder)
    for leftover in names:
        found = _NAME.fullmatch(leftover)
        if found is None or name not in (None, found["name"]) or not _is_dead(found):
            continue
        path = os.path.join(str(folder), leftover)
        if found["kind"] == "old":
            is_only_copy = found["name"] not in names
        else:
            is_only_copy = _is_complete(path)
        if not is_only_copy:
            remove(path)


def live_writers(folder: str | os.PathLike, name: str) -> set[int]:
    """Returns the live processes of this machine that write a file under a temporary name."""
    found = [_NAME.fullmatch(temporary) for temporary in names_in(folder)]
    return {
        int(writer["process"])
        for writer in found
        if writer and writer["name"] == name
        if writer["machine"] == _machine() and not _is_dead(writer)
    }


def recover(path: str | os.PathLike) -> None:
    """Makes a folder whole whose writer was killed while replacing it.

    A local folder is the earlier version again; only file systems that can't exchange two folders
    in one step need this. Of a remote folder, the remaining files of the new version are moved.

    Args:
        path: a path; nothing happens if its folder is whole or has no other version.
    """
    if is_remote(path):
        for new in _of_dead_writers(path, "unfinished"):
            if _is_complete(new):
                install(new, path)
        return
    if os.path.lexists(path):
        return
    path = os.path.abspath(path)
    for earlier in _of_dead_writers(path, "old"):
        with contextlib.suppress(OSError):  # another reader was faster
            os.rename(earlier, path)
        return


def complete(new: str, files: list[str]) -> None:
    """Notes in a remote folder that all of its files are there; `install` may then move them."""
    import tensorflow as tf

    with tf.io.gfile.GFile(f"{new}/{_FILES}", "w") as file:
        file.write("\n".join(files))


def install(new: str, path: str) -> None:
    """Replaces the files in a remote folder by those of a complete one, in the order noted there.

    If a call is cut off, another one finishes its work. The old folder is gone once a file of the
    new one has been moved.
    """
    import tensorflow as tf

    gfile = tf.io.gfile
    with as_os_errors(path):
        with gfile.GFile(f"{new}/{_FILES}", "r") as file:
            files = file.read().split("\n")
        waiting = [file for file in files if gfile.exists(f"{new}/{file}")]
        if waiting == files and gfile.exists(path):
            gfile.rmtree(path)
        gfile.makedirs(path)
        for file in waiting:  # one by one: renaming a folder moves its files in any order
            gfile.makedirs(os.path.dirname(f"{path}/{file}"))
            gfile.rename(f"{new}/{file}", f"{path}/{file}", overwrite=True)
    remove(new)


def remove(path: str | os.PathLike) -> None:
    """Removes a file or folder if it exists and can be removed."""
    with contextlib.suppress(OSError):
        if is_remote(path):
            import tensorflow as tf

            with as_os_errors(path):
                if tf.io.gfile.exists(path):
                    (tf.io.gfile.rmtree if tf.io.gfile.isdir(path) else tf.io.gfile.remove)(path)
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def _of_dead_writers(path, kind):
    """Lists the versions of a file or folder that dead writers left under temporary names."""
    parent, name = os.path.split(str(path))
    for other in names_in(parent):
        found = _NAME.fullmatch(other)
        if found and found["kind"] == kind and found["name"] == name and _is_dead(found):
            yield os.path.join(parent, other)


def _is_complete(leftover):
    """Returns whether a leftover is a remote folder that `install` may finish moving."""
    if not is_remote(leftover):
        return False
    import tensorflow as tf

    with as_os_errors(leftover):
        return tf.io.gfile.exists(f"{leftover}/{_FILES}")


def _is_dead(found):
    """Returns whether the process that wrote a leftover has ended."""
    if found["machine"] != _machine():
        return time.time() - int(found["written"], 16) > ANOTHER_MACHINES
    process, started = int(found["process"]), int(found["started"])
    if os.name != "posix":  # os.kill would end the process
        return time.time() - int(found["written"], 16) > ANOTHER_MACHINES
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # another user's
        pass
    return started != (_started(process) or started)  # the number may be another process's now


def _machine():
    """Returns 8 hexadecimal digits of this machine, or of the container that this process is in."""
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:
        processes = ""
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]


def _started(process):
    """Returns when a process started, in clock ticks since the machine did; None if unknown."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None
