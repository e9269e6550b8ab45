"""Uploads of saved models to the Hugging Face Hub."""

import contextlib
import itertools
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import keras

from keras_bert.files.new_folder import README, WRITTEN
from keras_bert.files.remote import names_in
from keras_bert.files.signed_text import unsigned
from keras_bert.files.utf8 import read_utf8
from keras_bert.presets.formats.hub import LOG_IN, WEIGHTS, reason_of, refusal
from keras_bert.presets.model_card import hub_card
from keras_bert.presets.read_source import folder_hint
from keras_bert.readers.shown import shown
from keras_bert.training.processes import is_chief, wait_for_all

logger = logging.getLogger("keras_bert")

# Files of the formats that this library writes or reads.
_FILES = (*WRITTEN, README, *itertools.chain(*WEIGHTS.values()))
_FILES += ("special_tokens_map.json", "added_tokens.json")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


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
    The model card names the hub's model. A card on the hub that a person wrote or edited is kept,
    unless the folder's is such a card too. If several processes train together, all call this
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
        ValueError: if the name is invalid, there is no token, the folder holds no model, or the hub
            refuses or can't be reached; or if a file of the folder is a link out of it. All but
            the upload itself is checked before the model is saved.

    Example:
    ```python
    handle = push_to_hub(model, "user/reviews", private=True)
    model = BertClassifier.from_preset(handle)
    ```
    """
    name = _checked_name(name)
    _check_arguments(private, commit_message)
    if not isinstance(source, keras.Model):
        folder = _checked_folder(source)
        return _upload(folder, name, private, _checked_token(token, name), commit_message)
    if not hasattr(source, "save_to_preset"):
        raise ValueError(
            "push_to_hub takes a model of keras_bert, or the folder of one; got a "
            f"{type(source).__name__}."
        )
    handle = f"hf://{name}"
    if is_chief(source):
        token = _checked_token(token, name)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        source.save_to_preset(folder)
        if is_chief(source):
            handle = _upload(folder, name, private, token, commit_message)
    wait_for_all("an upload", source)
    return handle


def _checked_name(name):
    text = name.removeprefix("hf://") if isinstance(name, str) else ""
    if not _NAME.fullmatch(text) or "--" in text or ".." in text or text.endswith(".git"):
        raise ValueError(
            'name must be "user/name" or "organization/name", in letters, digits, "-", "_" and '
            f'"."; got {shown(name)}.'
        )
    if len(text) > 96:
        raise ValueError(f"name must have at most 96 characters; {shown(text)} has {len(text)}.")
    return text


def _check_arguments(private, commit_message):
    if private not in (None, True, False):
        raise ValueError(f"private must be True, False or None; got {shown(private)}.")
    if not isinstance(commit_message, str) or not commit_message.strip():
        raise ValueError(f"commit_message must be a line of text; got {shown(commit_message)}.")


def _checked_folder(source):
    """Returns the `Path` of a model's folder."""
    if not isinstance(source, (str, os.PathLike)) or "://" in str(source):
        raise ValueError(
            "push_to_hub takes a model, or the path of its folder on this machine; got "
            f"{shown(source)}."
        )
    folder = Path(source)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Pass one that save_to_preset wrote.")
    names = names_in(folder)
    if not {"config.json", "bert_config.json"} & set(names) or not set(WEIGHTS) & set(names):
        raise ValueError(
            f"{folder} holds no model that from_preset can load: it needs config.json and "
            f"model.weights.h5, or the files of another format. Found: {shown(names, 400)}."
            f"{folder_hint(folder, names)}"
        )
    return folder


def _checked_token(token, name):
    """Returns the access token, after asking the hub whose it is."""
    from huggingface_hub import HfApi, get_token

    if token is None:
        token = get_token()
    if not isinstance(token, str) or not token.strip():
        found = "there is none" if token is None else f"got a {type(token).__name__}"
        raise ValueError(
            f"Uploading {name} needs an access token, a string; {found}. Pass token=, or {LOG_IN}."
        )
    with _explained(name):
        user = HfApi(token=token).whoami()
        access = user.get("auth", {}).get("accessToken", {})
        may_only_read = access.get("role") == "read"
    if may_only_read:
        raise ValueError(
            f"The token of {user.get('name')!r} may only read; {name} needs one with write access. "
            f"Make one, and pass token=, or {LOG_IN}."
        )
    return token


def _upload(folder, name, private, token, commit_message):
    """Uploads the files of a folder in one commit, and returns the handle of its version."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api = HfApi(token=token)
    files = _files(folder)
    with _explained(name):
        name = api.create_repo(name, private=private, exist_ok=True).repo_id
        info = api.model_info(name)
        there = [str(file.rfilename) for file in info.siblings]
    if private and not info.private:
        raise ValueError(
            f"{name} is on the hub already, and public. Make it private in its settings there, "
            "choose another name, or leave out private=True."
        )
    card = _card(api, folder, name, README in there)
    operations = [
        CommitOperationAdd(file, card if file == README else str(folder / file))
        for file in files
        if file != README or card is not None
    ]
    operations += [
        CommitOperationDelete(file, is_folder=False)
        for file in there
        if file not in files and _matches(file, WRITTEN)
    ]
    with _explained(name, "It may be there all the same: look at its page, or run"):
        commit = api.create_commit(name, operations, commit_message=commit_message)
        handle = f"hf://{name}@" + commit.oid
    logger.info("Uploaded %s: %s", name, commit.commit_url)
    return handle


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
        if not any(file.is_relative_to(place) for place in inside):
            raise ValueError(
                f"{folder / name} is a link to {file}, outside of the folder, and isn't uploaded. "
                "If it belongs to the model, put a copy in its place."
            )
    return files


def _matches(file, patterns):
    """Returns whether a path is one of a model's files; `*` doesn't match a slash."""
    return any(fnmatch(file, p) and file.count("/") == p.count("/") for p in patterns)


def _card(api, folder, name, is_there):
    """Returns the bytes of the card to upload; None keeps the hub's."""
    if README not in names_in(folder):
        return None
    text = read_utf8(folder / README)
    card = hub_card(text, name)
    if card is not None and is_there:
        with tempfile.TemporaryDirectory() as here:
            with _explained(name):
                path = api.hf_hub_download(name, README, local_dir=here)
            theirs = read_utf8(path)
        if unsigned(theirs) is None:
            logger.info("The model card of %s is kept: somebody wrote or edited it.", name)
            return None
    return (text if card is None else card).encode("utf-8")


@contextlib.contextmanager
def _explained(name: str, outcome: str = "No file of it is on the hub yet: run") -> Iterator[None]:
    """Turns errors of the hub and the network into ValueErrors; the block does nothing else."""
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except OfflineModeIsEnabled as error:
        raise ValueError(f"{name} can't be uploaded: HF_HUB_OFFLINE is set. Unset it.") from error
    except Exception as error:  # of any kind at answers that aren't a hub's
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
        if status == 401:
            reason = f"The hub knows no such token. Pass another one as token=, or {LOG_IN}."
        else:
            reason = refusal(name, None, error) or (
                f"{name} could not be uploaded to {constants.ENDPOINT}: {reason_of(error)}. "
                f"{outcome} the same call again."
            )
        raise ValueError(reason) from error
