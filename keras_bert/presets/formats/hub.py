"""Downloads from the Hugging Face Hub."""

import re
from pathlib import Path

from keras_bert.messages import logger, shortened, shown
from keras_bert.presets.formats.tensor_files import ADAPTER, FILES, POOLER_FILE

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
    from huggingface_hub import HfApi, constants, snapshot_download

    match = _HANDLE.fullmatch(handle)
    if not match or ".." in handle:
        raise ValueError(f"{handle!r} must be hf://user/name or hf://user/name@revision.")
    name = match["name"]
    revision = match["revision"]
    try:
        timeout = constants.HF_HUB_ETAG_TIMEOUT
        info = HfApi().model_info(name, revision=revision, timeout=timeout)
        files = [str(file.rfilename) for file in info.siblings]
        formats = [file for file in WEIGHTS if file in files]
        if formats or not weights:
            patterns = [*_SMALL_FILES]
            if weights:
                patterns += WEIGHTS[formats[0]]
            folder = snapshot_download(name, revision=revision, allow_patterns=patterns)
            _check_has_weights(folder, weights)
            return folder
    except Exception as error:  # of any kind at answers that aren't a hub's
        return _cached(match, weights, error)
    raise ValueError(
        f"hf://{name} has no weights in a supported format, none of {', '.join(WEIGHTS)}. It holds "
        f"{shown(sorted(files), 400)}."
    )


def _check_has_weights(folder, weights):
    if weights and not any(Path(folder, name).is_file() for name in WEIGHTS):
        cache = Path(folder).parents[1]
        raise FileNotFoundError(
            f"the hub lists no weights (if that persists, delete {cache} and restart Python)"
        )


def _cached(handle, weights, error):
    """Returns the cached folder if the hub can't be reached; raises the hub's refusal otherwise."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import OfflineModeIsEnabled

    name = handle["name"]
    refused = refusal(name, error)
    if refused:
        raise ValueError(refused) from error
    reason = reason_of(error)
    try:
        folder = snapshot_download(
            name,
            revision=handle["revision"],
            allow_patterns=_SMALL_FILES,
            local_files_only=True,
        )
        _check_has_weights(folder, weights)
    except FileNotFoundError:
        raise ValueError(
            f"{handle[0]} is not in the cache, {constants.HF_HUB_CACHE}, and could not be "
            f"downloaded from {constants.ENDPOINT}: {reason}. Try again; a download resumes."
        ) from error
    if not isinstance(error, OfflineModeIsEnabled):
        logger.warning(
            "%s can't be reached (%s): using %s from the cache", constants.ENDPOINT, reason, name
        )
    return folder


def refusal(name: str, error: BaseException) -> str | None:
    """Returns the hub's refusal as a line, or None if it didn't refuse."""
    from huggingface_hub.errors import HfHubHTTPError

    answers = [cause for cause in _causes(error) if isinstance(cause, HfHubHTTPError)]
    if not answers or answers[0].response.status_code not in (401, 403, 404):
        return None
    said = " ".join(str(answers[0]).split())
    said = re.sub(r"\?\S+", "", said)  # without signatures of addresses
    return f"The hub refuses {name!r}; {_LOG_IN}. It says: {shortened(said, 400)}"


def reason_of(error: BaseException) -> str:
    """Returns why a transfer failed, as a line: the type of the error, and what caused it."""
    reason = ""
    for cause in _causes(error):  # the last says most
        reason = str(cause).strip() or reason
    return ": ".join([type(error).__name__, *reason.splitlines()[:1]]).rstrip(".")


def _causes(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
