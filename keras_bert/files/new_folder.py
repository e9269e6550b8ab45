"""Folders of models and exports, written atomically, that replace nothing else."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from keras_bert.files.remote import is_disk_full, names_in, read_bytes
from keras_bert.files.whole import MARKS, whole_folder

logger = logging.getLogger("keras_bert")

README = "README.md"
"""The model card. One without `CARD_MARK` is a person's, and never replaced."""
CARD_MARK = "<!-- Written by keras_bert, which replaces it. To keep an edit, remove this line. -->"
"""The last line of this library's cards."""

BESIDE_WEIGHTS = (
    "config.json",
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "1_Pooling/config.json",
    "2_Normalize/config.json",
)
"""The files of transformers and sentence-transformers that hold no weights."""

# The other files that this library writes to a model folder: those of its presets, of transformers,
# PEFT, Google and KerasHub. It may replace them.
_WITH_WEIGHTS = (
    "model.safetensors",
    "pooler.safetensors",
    "adapter_config.json",
    "adapter_model.safetensors",
    "model.weights.h5",
    "checksums.json",
    "preprocessor.json",
    "bert_config.json",
    "bert_model.ckpt.*",
    "metadata.json",
    "task.json",
    "task.weights.h5",
    "assets/tokenizer/vocabulary.txt",
)
WRITTEN = BESIDE_WEIGHTS + _WITH_WEIGHTS


@contextmanager
def new_folder(
    folder: str | os.PathLike,
    num_bytes: int = 0,
    check: Callable[[list[str]], None] | None = None,
) -> Iterator[Path]:
    """Provides an empty folder for a model; it replaces `folder` if the block raises no error.

    There must be room for `num_bytes`; a full disk is an `OSError`, whatever library was writing.
    `check` is that of `whole_folder`. By default, `folder` may hold only a model. A `README.md`
    that is a link or lacks `CARD_MARK` is kept.
    """
    with whole_folder(folder, check or partial(check_replaces, folder)) as new:
        _check_room(new, num_bytes)
        yield new
        _keep_readme(folder, new)


def is_own_card(text: str) -> bool:
    """Returns whether this library wrote a model card, and may replace it."""
    return text.rstrip().endswith(CARD_MARK)


def _keep_readme(folder, new):
    if README not in names_in(folder):
        return
    path = f"{str(folder).rstrip('/')}/{README}"
    kept = new / README
    if os.path.islink(path):  # never what it leads to, which may be private
        kept.unlink(missing_ok=True)
        kept.symlink_to(os.readlink(path))
        return
    earlier = read_bytes(path)
    if not is_own_card(earlier.decode("utf-8", "replace")):
        kept.write_bytes(earlier)
        logger.info("%s is kept: it isn't a card that keras_bert wrote.", path)


def _check_room(folder, num_bytes):
    """Raises an OSError if a file of this size doesn't fit: HDF5 crashes Python at a full disk."""
    if not num_bytes or not hasattr(os, "posix_fallocate"):
        return
    path = folder / "room"
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, num_bytes)
    except OSError as error:
        if is_disk_full(error):  # others say that the file system can't reserve room
            raise
    finally:
        path.unlink(missing_ok=True)


def check_replaces(
    folder: str | os.PathLike,
    names: list[str],
    own: Sequence[str] = WRITTEN + (README,),
    marks: Sequence[str] = MARKS,
) -> None:
    """Raises a ValueError if a folder holds files that aren't a writer's own, and would be lost.

    `own` are patterns of paths, of which only the first part counts. In a folder without one of the
    `marks`, no file is the writer's.
    """
    others = sorted(names)
    if not marks or set(marks) & set(names):
        for path in own:
            pattern = path.partition("/")[0]
            others = [name for name in others if not fnmatch(name, pattern)]
    if others:
        raise ValueError(
            f"{folder} holds {', '.join(others[:5])}, which would be lost. Choose another folder, "
            "or move them away."
        )
