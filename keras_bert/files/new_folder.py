"""Folders that are written whole or not at all."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

MARKS = ("config.json", "bert_config.json")  # one of them says that a folder is a model's
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
        folder: a path, `"gs://..."` too; a model that was written there earlier is replaced.

    Raises:
        ValueError: if there is anything else in the folder.
    """
    if "://" in str(folder):
        with _remote_folder(str(folder).rstrip("/")) as unfinished:
            yield unfinished
        return
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


@contextmanager
def _remote_folder(folder):
    """The same in a bucket: files are made here and copied there, the one that marks it last."""
    import tensorflow as tf

    gfile = tf.io.gfile
    if gfile.exists(folder):
        _check_names(folder, [name.rstrip("/") for name in gfile.listdir(folder)])
    with tempfile.TemporaryDirectory() as here:
        yield Path(here)
        files = [path for path in Path(here).rglob("*") if path.is_file()]
        files.sort(key=lambda path: path.name in MARKS)
        if gfile.exists(folder):
            gfile.rmtree(folder)
        for path in files:
            there = f"{folder}/{path.relative_to(here).as_posix()}"
            gfile.makedirs(os.path.dirname(there))
            gfile.copy(path, there)


def _check_may_be_replaced(folder):
    if folder.is_dir():
        _check_names(folder, os.listdir(folder))
    elif folder.exists():
        raise ValueError(f"{folder} is a file. Choose another name for the folder.")


def _check_names(folder, names):
    """Raises a ValueError unless a folder of such files is empty, or a model's alone."""
    if names and not set(MARKS) & set(names):
        raise ValueError(
            f"{folder} exists and is not a model's (it has no config.json). Choose another folder."
        )
    others = [
        name for name in sorted(names) if not any(fnmatch(name, pattern) for pattern in WRITTEN)
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
