"""What recipes that train share. Keras is imported here: import this file in `main`."""

import argparse
import os

import keras

import keras_bert
from keras_bert.files.json_files import read_json, write_json
from keras_bert.files.remote import names_in
from keras_bert.files.whole import whole_path
from keras_bert.finetuning.train_epochs import train_epochs
from keras_bert.preprocessing.raw import split_examples
from keras_bert.training.describe_training import check_batch, describe_training
from keras_bert.training.processes import is_chief, wait_for_all

__all__ = ["check_batch", "describe_training", "is_chief", "keep_model", "keep_settings"]
__all__ += ["split_examples", "start_training", "train_epochs", "wait_for_all"]


def start_training(args: argparse.Namespace) -> object:
    """Sets the seed and the precision of a command line; returns the strategy of its devices."""
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    return strategy


def keep_settings(
    folder: str | os.PathLike, settings: dict, resume: bool = True, strategy: object = None
) -> None:
    """Writes a run's settings to its folder; a resumed run must have the settings saved there.

    If several processes train together, each calls it, and the first writes.

    Args:
        folder: the run's folder, local or remote.
        settings: a dict of settings that must not change within a run: numbers, strings, or lists
            of either.
        resume: whether the folder may hold an earlier part of this run; False for a new run, which
            replaces the settings in the folder.
        strategy: the result of `get_strategy`.

    Raises:
        ValueError: if the folder holds a run with other settings.
    """
    path = f"{str(folder).rstrip('/')}/settings.json"
    if resume and "settings.json" in names_in(folder):
        _check_equal(settings, _saved(path), folder)
    wait_for_all("the settings", strategy)
    if is_chief(strategy):
        write_json(path, settings)


def keep_model(model: keras.Model, path: str | os.PathLike) -> None:
    """Saves a Keras model as a file, which replaces an earlier one at once."""
    with whole_path(path) as unfinished:
        model.save(unfinished)


def _saved(path):
    try:
        return read_json(path)
    except ValueError as error:
        raise ValueError(
            f"{str(error).rstrip('.')}. Remove it if this run has the settings of the earlier one."
        ) from error


def _check_equal(settings, saved, folder):
    changed = [
        f"{name}={settings.get(name)!r} (there {saved.get(name)!r})"
        for name in dict.fromkeys([*settings, *saved])
        if settings.get(name) != saved.get(name)
    ]
    if changed:
        raise ValueError(
            f"{folder} holds a run with other settings: {', '.join(changed)}. Use the settings of "
            "that run, or give this run a folder of its own."
        )
