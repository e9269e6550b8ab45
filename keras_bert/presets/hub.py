"""Downloads from the Hugging Face Hub, and uploads to it."""

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

import keras

from keras_bert.files.new_folder import README, WRITTEN, is_own_card
from keras_bert.files.remote import read_text
from keras_bert.messages import logger, shortened, shown
from keras_bert.presets.formats.tensor_files import ADAPTER, FILES, POOLER_FILE
from keras_bert.presets.model_card import FOLDER
from keras_bert.training.processes import is_chief, wait_for_all

_HANDLE = re.compile(r"hf://(?P<name>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[^@\s]+))?")
_SMALL_FILES = ("*.json", "*.txt", "*.bpe.model", "*/config.json", "assets/tokenizer/*")
# {file that identifies a format: patterns of its weights}. The first format present is downloaded:
# ours or KerasHub's, Hugging Face's, Google's.
WEIGHTS = {
    "model.weights.h5": ("model.weights.h5", "task.weights.h5"),
    **{name: (name, name.replace(".", "-*.", 1).removesuffix(".index.json")) for name in FILES},
    "bert_model.ckpt.index": ("bert_model.ckpt.*",),
    ADAPTER: ("adapter_model.safetensors",),
}
WEIGHTS["model.safetensors"] += (POOLER_FILE,)  # of classes that have no pooler in transformers
_LOG_IN = "if it is private or gated, log in (hf auth login) or set HF_TOKEN"


def download(handle: str, weights: bool = True) -> str:
    """Downloads a model from the hub, or only its small files; returns its folder in the cache.

    An interrupted download resumes. If the hub can't be reached, the cached model is used, with a
    warning.
    """
    from huggingface_hub import HfApi, constants

    match = _HANDLE.fullmatch(handle)
    if not match or ".." in handle:
        raise ValueError(f"{handle!r} must be hf://user/name or hf://user/name@revision.")
    name = match["name"]
    try:
        timeout = constants.HF_HUB_ETAG_TIMEOUT
        info = HfApi().model_info(name, revision=match["revision"], timeout=timeout)
        files = [str(file.rfilename) for file in info.siblings]
        formats = [file for file in WEIGHTS if file in files]
        if formats or not weights:
            patterns = [*_SMALL_FILES]
            if weights:
                patterns += WEIGHTS[formats[0]]
            return _snapshot(match, weights, allow_patterns=patterns)
    except Exception as error:  # of any kind at answers that aren't a hub's
        return _cached(match, weights, error)
    raise ValueError(
        f"hf://{name} has no weights in a supported format, none of {', '.join(WEIGHTS)}. It holds "
        f"{shown(sorted(files), 400)}."
    )


def _snapshot(handle, weights, **options):
    """Returns the folder of a model in the cache, after a download unless it is there."""
    from huggingface_hub import snapshot_download

    folder = snapshot_download(handle["name"], revision=handle["revision"], **options)
    if weights and not any(Path(folder, name).is_file() for name in WEIGHTS):
        cache = Path(folder).parents[1]
        raise FileNotFoundError(
            f"the hub lists no weights (if that persists, delete {cache} and restart Python)"
        )
    return folder


def _cached(handle, weights, error):
    """Returns the cached folder if the hub can't be reached; raises the hub's refusal otherwise."""
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    name = handle["name"]
    refused = _refusal(name, error)
    if refused:
        raise ValueError(refused) from error
    reason = _reason_of(error)
    try:
        folder = _snapshot(handle, weights, allow_patterns=_SMALL_FILES, local_files_only=True)
    except FileNotFoundError:
        raise ValueError(
            f"{handle[0]} is not in the cache, {constants.HF_HUB_CACHE}, and could not be "
            f"downloaded from {constants.ENDPOINT}: {reason}. Try again; a download resumes. Or "
            "pass a folder."
        ) from error
    if not isinstance(error, OfflineModeIsEnabled):
        logger.warning(
            "%s can't be reached (%s): using %s from the cache", constants.ENDPOINT, reason, name
        )
    return folder


def push_to_hub(
    model: keras.Model,
    name: str,
    *card: Any,
    private: bool | None = None,
    token: str | None = None,
    commit_message: str = "Upload a model with keras_bert",
) -> str:
    """Uploads a model in one commit; see `PresetModel.push_to_hub`.

    `card` has the settings and the scores that the model card shows.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils import validate_repo_id

    name = str(name).removeprefix("hf://")
    if name.count("/") != 1:
        raise ValueError(f'name must be "user/name" or "organization/name"; got {shown(name)}.')
    validate_repo_id(name)
    handle = f"hf://{name}"
    if is_chief(model):
        api = HfApi(token=token)
        with _explained(name):
            name = api.create_repo(name, private=private, exist_ok=True).repo_id
            is_public = not api.model_info(name).private
        if private and is_public:
            raise ValueError(
                f"{name} is on the hub already, and public. Make it private in its settings there, "
                "choose another name, or leave out private=True."
            )
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        model.save_to_preset(folder, *card)
        if is_chief(model):
            handle = _upload(api, name, folder, commit_message)
    wait_for_all("an upload", model)
    return handle


def _upload(api, name, folder, commit_message):
    card = folder / README
    card.write_text(read_text(card).replace(FOLDER, f"hf://{name}"), encoding="utf-8")
    with _explained(name):
        if api.file_exists(name, README):
            with tempfile.TemporaryDirectory() as here:
                earlier = read_text(api.hf_hub_download(name, README, local_dir=here))
            if not is_own_card(earlier):
                card.unlink()
                logger.info("The model card of %s is kept: keras_bert didn't write it.", name)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=folder,
            commit_message=commit_message,
            delete_patterns=[*WRITTEN],  # what an earlier model has, and this one hasn't
        )
        handle = f"hf://{name}@" + commit.oid
    logger.info("Uploaded %s: %s", name, commit.commit_url)
    return handle


@contextlib.contextmanager
def _explained(name):
    from huggingface_hub import constants

    try:
        yield
    except Exception as error:  # of any kind at answers that aren't a hub's
        raise ValueError(
            _refusal(name, error)
            or f"{name} could not be uploaded to {constants.ENDPOINT}: {_reason_of(error)}. Look "
            "at its page, then run the same call again."
        ) from error


def _refusal(name, error):
    """Returns the hub's refusal as a line, or None if it didn't refuse."""
    from huggingface_hub.errors import HfHubHTTPError

    answers = [cause for cause in _causes(error) if isinstance(cause, HfHubHTTPError)]
    if not answers or answers[0].response.status_code not in (401, 403, 404):
        return None
    said = " ".join(str(answers[0]).split())
    said = re.sub(r"\?\S+", "", said)  # without signatures of addresses
    return f"The hub refuses {name!r}; {_LOG_IN}. It says: {shortened(said, 400)}"


def _reason_of(error):
    """Returns why a transfer failed, as a line: the type of the error, and what caused it."""
    reason = ""
    for cause in _causes(error):  # the last says most
        reason = str(cause).strip() or reason
    return ": ".join([type(error).__name__, *reason.splitlines()[:1]]).rstrip(".")


def _causes(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
