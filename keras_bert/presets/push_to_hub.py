"""Uploads of saved models to the Hugging Face Hub."""

import contextlib
import itertools
import logging
import os
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import keras

from keras_bert.files.new_folder import README, WRITTEN, is_own_card
from keras_bert.files.remote import names_in
from keras_bert.files.utf8 import read_utf8
from keras_bert.messages import shown
from keras_bert.presets.formats.hub import WEIGHTS, reason_of, refusal
from keras_bert.presets.model_card import hub_card
from keras_bert.presets.read_source import folder_hint
from keras_bert.training.processes import is_chief, wait_for_all

logger = logging.getLogger("keras_bert")

# Files of the formats that this library writes or reads.
_FILES = (*WRITTEN, README, *itertools.chain(*WEIGHTS.values()))
_FILES += ("special_tokens_map.json", "added_tokens.json")


def push_to_hub(
    source: "keras.Model | str | os.PathLike",
    name: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    commit_message: str = "Upload a BERT with keras_bert",
) -> str:
    """Uploads a model to the Hugging Face Hub, in one commit.

    The model is created on the hub if it isn't there. Only files that belong to a model are
    uploaded, and a warning names the folder's other files; hidden files stay where they are. The
    files replace those on the hub, and files of an earlier model that the folder lacks are removed.
    The model card names the hub's model. A card on the hub that keras_bert didn't write is kept,
    unless the folder's is such a card, too. If several processes train together, all call this
    function; the first uploads.

    Args:
        source: a model, which is saved as a preset; or a folder that `save_to_preset`,
            `save_to_hugging_face`, `save_to_google` or `save_to_keras_hub` wrote.
        name: `"user/name"` or `"organization/name"`; also with `hf://` before it.
        private: bool, for a new model; None takes the default of the user or organization. A model
            that is already on the hub stays as it is; if it is public, True is an error.
        token: an access token with write access; None takes `HF_TOKEN` or that of `hf auth login`.
        commit_message: the first line of the commit.

    Returns:
        The handle of the uploaded version for `from_preset`, `"hf://user/name@commit"`.

    Raises:
        ValueError: if the name is invalid, the folder holds no model, or the hub refuses the token
            or can't be reached; or if a file of the folder is a link out of it.

    Example:
    ```python
    handle = push_to_hub(model, "user/reviews", private=True)
    model = BertClassifier.from_preset(handle)
    ```
    """
    from huggingface_hub.utils import validate_repo_id

    name = name.removeprefix("hf://") if isinstance(name, str) else name
    if not isinstance(name, str) or name.count("/") != 1:
        raise ValueError(f'name must be "user/name" or "organization/name"; got {shown(name)}.')
    validate_repo_id(name)
    if not hasattr(source, "save_to_preset"):
        folder = _checked_folder(source)
        files = _files(folder)
        api, name = _opened(name, private, token)
        return _upload(api, name, folder, files, commit_message)
    handle = f"hf://{name}"
    if is_chief(source):
        api, name = _opened(name, private, token)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        source.save_to_preset(folder)
        if is_chief(source):
            handle = _upload(api, name, folder, _files(folder), commit_message)
    wait_for_all("an upload", source)
    return handle


def _checked_folder(source):
    """Returns the `Path` of a model's folder."""
    if not isinstance(source, (str, os.PathLike)) or "://" in str(source):
        raise ValueError(
            "push_to_hub takes a model of keras_bert, or the path of its folder on this machine; "
            f"got {shown(source)}."
        )
    folder = Path(source)
    names = names_in(folder)
    if not {"config.json", "bert_config.json"} & set(names) or not set(WEIGHTS) & set(names):
        raise ValueError(
            f"{folder} holds no model that from_preset can load: it needs config.json and "
            f"model.weights.h5, or the files of another format. Found: {shown(names, 400)}."
            f"{folder_hint(folder, names)}"
        )
    return folder


def _opened(name, private, token):
    """Creates a model on the hub if it isn't there; returns the hub's API, and its name there."""
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    with _explained(name):
        name = api.create_repo(name, private=private, exist_ok=True).repo_id
        is_public = not api.model_info(name).private
    if private and is_public:
        raise ValueError(
            f"{name} is on the hub already, and public. Make it private in its settings there, "
            "choose another name, or leave out private=True."
        )
    return api, name


def _upload(api, name, folder, files, commit_message):
    """Uploads the files of a folder in one commit, and returns the handle of its version."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    contents = {file: str(folder / file) for file in files}
    with _explained(name):
        there = [str(file.rfilename) for file in api.model_info(name).siblings]
        if README in files and is_own_card(card := read_utf8(folder / README)):
            contents[README] = hub_card(card, name).encode()
            if README in there and not _is_own_card_of(api, name):
                del contents[README]
                logger.info("The model card of %s is kept: keras_bert didn't write it.", name)
        old = [file for file in there if file not in files and _matches(file, WRITTEN)]
        operations = [CommitOperationAdd(file, content) for file, content in contents.items()]
        operations += [CommitOperationDelete(file, is_folder=False) for file in old]
        commit = api.create_commit(name, operations, commit_message=commit_message)
        handle = f"hf://{name}@" + commit.oid
    logger.info("Uploaded %s: %s", name, commit.commit_url)
    return handle


def _is_own_card_of(api, name):
    with tempfile.TemporaryDirectory() as here:
        return is_own_card(read_utf8(api.hf_hub_download(name, README, local_dir=here)))


def _files(folder):
    """Lists the paths of a model's files; warns of others, except hidden ones.

    Raises:
        ValueError: if one is a link out of the folder, which may lead to anything on this machine.
    """
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if not path.is_dir()]
    names = [name.as_posix() for name in names if not any(p[0] == "." for p in name.parts)]
    files = [name for name in names if _matches(name, _FILES)]
    if others := [name for name in names if name not in files]:
        logger.warning("Not uploaded, because no format of a model has them: %s.", shown(others))
    top = folder.resolve()
    inside = [top]
    if top.parent.name == "snapshots":  # of the hub's cache, which links to two such folders
        inside += [top.parents[1] / "blobs", top.parents[2] / "blobs"]
    for name in files:
        file = (folder / name).resolve()
        if not any(file.is_relative_to(parent) for parent in inside):
            raise ValueError(
                f"{folder / name} is a link to {file}, outside of the folder, and isn't uploaded. "
                "If it belongs to the model, put a copy in its place."
            )
    return files


def _matches(file, patterns):
    """Returns whether a path is one of a model's files; `*` doesn't match a slash."""
    return any(fnmatch(file, p) and file.count("/") == p.count("/") for p in patterns)


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turns errors of the hub and the network into ValueErrors."""
    from huggingface_hub import constants

    try:
        yield
    except Exception as error:  # of any kind at answers that aren't a hub's
        raise ValueError(
            refusal(name, None, error)
            or f"{name} could not be uploaded to {constants.ENDPOINT}: {reason_of(error)}. Look at "
            "its page, then run the same call again."
        ) from error
