"""Folders of models, written whole or not at all, which replace nothing but a model's."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from keras_bert.files.whole import MARKS, whole_folder

# The files that the writers of this library leave in a folder, and so may replace.
WRITTEN = (
    *("*config.json", "*.weights.h5", "preprocessor.json", "vocab.txt"),  # and Hugging Face's
    *("*.safetensors", "modules.json", "1_Pooling", "2_Normalize"),
    *("bert_model.ckpt.*", "metadata.json", "task.json", "tokenizer.json", "assets"),
)


@contextmanager
def new_folder(folder: str | os.PathLike) -> Iterator[Path]:
    """Gives an empty folder to write a model to, which replaces `folder` if all goes well.

    Args:
        folder: a path, `"gs://..."` too; a model that was written there earlier is replaced.

    Yields:
        The `Path` of a local folder.

    Raises:
        ValueError: if there is anything else in the folder.
    """
    with whole_folder(folder, lambda names: check_model_folder(folder, names)) as new:
        yield new


def check_model_folder(folder: str | os.PathLike, names: list[str]) -> None:
    """Checks that a folder with files of these names is empty, or holds a model alone.

    Raises:
        ValueError: if it holds anything else, which would be lost.
    """
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
