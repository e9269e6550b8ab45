"""What a run's numbers depend on, noted for those who go on with it."""

import json

from keras_bert.files.checkpoint_folder import checkpoint_folder
from keras_bert.training.processes import is_chief, wait_for_all

_FILE = "settings.json"


def keep_settings(folder, settings, goes_on=True, place=None):
    """Notes a run's settings in its folder; where it goes on, they must be those noted there.

    Where several processes train together, each calls it, and the first writes.

    Args:
        folder: the run's folder, on this machine or in a bucket.
        settings: a dict of what must not change within a run, numbers, strings or lists of them.
        goes_on: bool, whether the folder may hold a part of this run; False for a new one, which
            notes its own settings in place of others.
        place: what `get_strategy` gave, or a model that was built in its scope.

    Raises:
        ValueError: if the folder holds a run of other settings.

    Example:
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> keep_settings(folder, {"seed": 1})
    >>> keep_settings(folder, {"seed": 2}, goes_on=False)
    """
    files = checkpoint_folder(folder)
    if goes_on and _FILE in files.names():
        with files.open(_FILE) as file:
            _check_equal(settings, json.loads(file.read()), folder)
    wait_for_all("the settings", place)
    if is_chief(place):
        with files.new(_FILE) as file:
            file.write((json.dumps(settings, indent=1) + "\n").encode("utf-8"))


def _check_equal(settings, there, folder):
    changed = [
        f"{name}={settings.get(name)!r} (there {there.get(name)!r})"
        for name in dict.fromkeys([*settings, *there])
        if settings.get(name) != there.get(name)
    ]
    if changed:
        raise ValueError(
            f"{folder} holds a run of other settings: {', '.join(changed)}. Go on with those, or "
            "give this run a folder of its own."
        )
