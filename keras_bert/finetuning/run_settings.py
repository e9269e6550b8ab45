"""Settings of a run, which a resumed run must have too."""

import json
import os
import zlib

from keras_bert.files.json_files import read_json, write_json
from keras_bert.training.processes import check_same, is_chief


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
    saved = settings
    if resume:
        saved = read_json(path) or settings  # a new run has none
    changed = []
    for name in settings | saved:
        now = settings.get(name)
        then = saved.get(name)
        if now != then:
            changed.append(f"{name}={now!r} (there {then!r})")
    if changed:
        raise ValueError(
            f"{folder} holds a run with other settings: {', '.join(changed)}. Use the settings of "
            "that run, or give this run a folder of its own."
        )
    checksum = zlib.crc32(json.dumps(settings, sort_keys=True).encode()) >> 1
    differ = f"The processes differ in their settings: give all the same. Here they are {settings}."
    check_same(checksum, differ, strategy)
    if is_chief(strategy):
        write_json(path, settings)
