"""Settings of a run, which a resumed run must have too."""

import json
import os
import zlib
from typing import Any

from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import names_in
from keras_bert.training.processes import is_chief, numbers_of_all


def write_settings(
    folder: str | os.PathLike, settings: dict, resume: bool = True, strategy: object = None
) -> None:
    """Writes a run's settings to its folder; a resumed run must have the settings saved there.

    With `resume=False`, a new run replaces them. Values that JSON lacks are compared as strings. If
    several processes train together by `strategy`, each calls it, and the first writes.

    Raises:
        ValueError: if the folder holds a run with other settings.
    """
    path = f"{str(folder).rstrip('/')}/settings.json"
    settings = json.loads(json.dumps(settings, default=str))  # as they are read again
    saved, changed = settings, []
    if resume and "settings.json" in names_in(folder):
        saved = _saved(path)
    for name in settings | saved:
        now, then = settings.get(name), saved.get(name)
        if now != then:
            changed.append(f"{name}={now!r} (there {then!r})")
    if changed:
        raise ValueError(
            f"{folder} holds a run with other settings: {', '.join(changed)}. Use the settings of "
            "that run, or give this run a folder of its own."
        )
    if _differs(settings, strategy):
        names = sorted(settings)
        if not _differs(names, strategy):  # otherwise they would wait for each other
            names = [name for name in names if _differs(settings[name], strategy)]
        raise ValueError(f"The processes differ in {', '.join(names)}: give all the same settings.")
    if is_chief(strategy):
        write_json(path, settings)


def _differs(value, strategy):
    """Returns whether processes that train together have different values."""
    return len(set(numbers_of_all(checksum(value), strategy))) > 1


def checksum(value: Any) -> int:
    """Returns a number of a value that JSON holds, in 0 to 2**31 - 1."""
    return zlib.crc32(json.dumps(value, sort_keys=True).encode()) >> 1


def _saved(path):
    try:
        return read_json(path)
    except ValueError as error:
        raise ValueError(
            f"{str(error).rstrip('.')}. Remove it if this run has the settings of the earlier one."
        ) from error
