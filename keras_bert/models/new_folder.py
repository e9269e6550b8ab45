"""Folders that are written whole or not at all."""

import os
import shutil
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

# What the writers of this library leave in a folder, and so may replace.
WRITTEN = (
    *("*config.json", "*.weights.h5", "preprocessor.json", "vocab.txt"),  # and Hugging Face's
    *("*.safetensors", "modules.json", "1_Pooling", "2_Normalize"),
    *("bert_model.ckpt.*", "metadata.json", "task.json", "tokenizer.json", "assets"),
)


@contextmanager
def new_folder(folder):
    """An empty folder to write to, which takes the place of `folder` if all goes well.

    Args:
        folder: a path; a model that was written there earlier is replaced.

    Raises:
        ValueError: if there is anything else in the folder.
    """
    folder = Path(folder).absolute()
    _check_may_be_replaced(folder)
    unfinished = folder.with_name(f".{folder.name}.unfinished-{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        _replace(folder, unfinished)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _check_may_be_replaced(folder):
    if not folder.exists():
        return
    models = (folder / "config.json", folder / "bert_config.json")
    if not folder.is_dir() or (any(folder.iterdir()) and not any(map(Path.is_file, models))):
        raise ValueError(
            f"{folder} exists and is not a model's (it has no config.json). Choose another folder."
        )
    others = [
        entry.name
        for entry in sorted(folder.iterdir())
        if not any(fnmatch(entry.name, pattern) for pattern in WRITTEN)
    ]
    if others:
        raise ValueError(
            f"{folder} holds a model, but also {', '.join(others)}, which would be lost. Choose "
            "another folder, or move them away."
        )


def _replace(folder, new):
    """Puts `new` in the place of `folder`, which is there, old or new, at (almost) all times."""
    if not folder.exists():
        new.rename(folder)
        return
    old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)
