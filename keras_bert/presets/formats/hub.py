"""Downloads from the Hugging Face Hub."""

import hashlib
import logging
import re
import sys
from pathlib import Path

from keras_bert.presets.formats.tensor_files import FILES

logger = logging.getLogger("keras_bert")

_HANDLE = re.compile(r"hf://(?P<name>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[^@\s]+))?")
_SMALL_FILES = ("*.json", "vocab.txt", "*/config.json", "assets/tokenizer/*")
# {file that identifies a format: patterns of its weights}. The first format present is downloaded:
# ours or KerasHub's, Hugging Face's, Google's.
WEIGHTS = {
    "model.weights.h5": ("model.weights.h5", "task.weights.h5"),
    **{name: (name, name.split(".")[0] + "-*." + name.split(".")[1]) for name in FILES},
    "bert_model.ckpt.index": ("bert_model.ckpt.*",),
}
LOG_IN = "log in (hf auth login) or set HF_TOKEN"


def download(handle: str, weights: bool = True) -> str:
    """Downloads a model from the hub, or finds it in the hub's cache.

    huggingface_hub's environment variables apply: `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT`,
    `HF_HUB_OFFLINE`. An interrupted download resumes. If the hub can't be reached, the cached model
    is used, with a warning.

    Args:
        handle: `hf://user/name`, or `hf://user/name@revision`.
        weights: whether the weights are needed, or the small files alone.

    Returns:
        The folder's path.

    Raises:
        ValueError: if the model doesn't exist, access to it is denied, or the hub can't be reached.
    """
    from huggingface_hub import HfApi, constants, snapshot_download

    match = _HANDLE.fullmatch(handle)
    if not match or ".." in handle:
        raise ValueError(f"{handle!r} must be hf://user/name or hf://user/name@revision.")
    name, revision = match["name"], match["revision"]
    try:
        timeout = constants.HF_HUB_ETAG_TIMEOUT
        info = HfApi().model_info(name, revision=revision, timeout=timeout)
        names = [file.rfilename for file in info.siblings]
        patterns = _patterns(handle, names) if weights else _SMALL_FILES
        return snapshot_download(name, revision=revision, allow_patterns=patterns)
    except network_errors() as error:
        return _cached(name, revision, error)


def remove_damaged(folder: str) -> bool:
    """Removes the files of a cached model whose contents differ from their checksums.

    The hub's cache names each file by its checksum: SHA-256, or Git's SHA-1 for small files.

    Args:
        folder: a result of `download`.

    Returns:
        Whether a file was removed; the next download fetches it again.
    """
    found = False
    for file in Path(folder).rglob("*"):
        content = file.resolve()
        if file.is_symlink() and content.is_file() and not _has_checksum(content):
            logger.warning("%s is damaged in the cache; it is downloaded again", file)
            content.unlink()
            file.unlink()
            found = True
    return found


def _has_checksum(path):
    """Returns whether a file's name is its checksum; True for other names."""
    if re.fullmatch("[0-9a-f]{64}", path.name):
        checksum = hashlib.sha256()
    elif re.fullmatch("[0-9a-f]{40}", path.name):
        checksum = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    else:
        return True
    with open(path, "rb") as file:
        while part := file.read(2**20):
            checksum.update(part)
    return checksum.hexdigest() == path.name


def _patterns(handle, files):
    """Returns glob patterns of the files that a model needs."""
    for name, weights in WEIGHTS.items():
        if name in files:
            return [*_SMALL_FILES, *weights]
    listed = ", ".join(sorted(files)[:12]) + (", ..." if len(files) > 12 else "")
    raise ValueError(
        f"{handle} has no weights in a supported format, none of {', '.join(WEIGHTS)}. It holds "
        f"{listed}."
    )


def network_errors() -> tuple[type[Exception], ...]:
    """Returns the error types of a transfer, which depend on huggingface_hub's HTTP client."""
    from huggingface_hub.errors import HfHubHTTPError

    clients = [sys.modules[name] for name in ("httpx2", "httpx") if name in sys.modules]
    return (OSError, HfHubHTTPError, *(client.HTTPError for client in clients))


def _cached(name, revision, error):
    """Returns the cached folder if the hub can't be reached; raises the hub's refusal otherwise."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

    offline = isinstance(error, OfflineModeIsEnabled)
    refused = None if offline else refusal(name, revision, error)
    if refused:
        raise ValueError(refused) from error
    reasons = [str(cause).strip() for cause in _causes(error)]
    reason = next(filter(None, reversed(reasons)), type(error).__name__).splitlines()[0]
    try:
        folder = snapshot_download(
            name, revision=revision, allow_patterns=_SMALL_FILES, local_files_only=True
        )
    except (LocalEntryNotFoundError, FileNotFoundError):
        wanted = f"{name} at revision {revision}" if revision else name
        raise ValueError(
            f"{wanted} is not in the cache ({constants.HF_HUB_CACHE}), and HF_HUB_OFFLINE is set: "
            "unset it to download."
            if offline
            else f"{wanted} could not be downloaded from {constants.ENDPOINT}: {reason}. Check the "
            "connection and try again; the download resumes."
        ) from error
    if not offline:
        logger.warning(
            "%s can't be reached (%s): using %s from the cache", constants.ENDPOINT, reason, name
        )
    return folder


def refusal(name: str, revision: str | None, error: BaseException) -> str | None:
    """Returns the hub's refusal as a sentence, or None if it didn't refuse."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RevisionNotFoundError

    answer = next((cause for cause in _causes(error) if isinstance(cause, HfHubHTTPError)), None)
    if answer is None:
        return None
    if isinstance(answer, GatedRepoError):
        return f"{name} is gated: request access on its page, then {LOG_IN}."
    if isinstance(answer, RevisionNotFoundError):
        return f"{name!r} has no revision {revision!r}."
    status = answer.response.status_code
    if status == 404 or answer.response.headers.get("X-Error-Code") == "RepoNotFound":
        return f"The hub has no model {name!r}: check the name; if it is private, {LOG_IN}."
    if status in (401, 403):
        return f"Access to {name!r} is denied (HTTP {status}): {LOG_IN} with a token that has it."
    return None


def _causes(error):
    """Yields the error and its causes, back to the first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
