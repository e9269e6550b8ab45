"""The Hugging Face hub."""

from keras_bert.checkpoints.tensor_files import FILES

_SMALL_FILES = ("*.json", "vocab.txt", "preprocessor.json", "*/config.json")


def download(handle):
    """Downloads a model of the hub, or finds it in the hub's cache.

    Tokens, cache, mirrors and working offline are those of huggingface_hub: `HF_TOKEN`, `HF_HOME`,
    `HF_ENDPOINT`, `HF_HUB_OFFLINE`. A download that was cut off goes on where it was.

    Args:
        handle: `hf://user/name`, or `hf://user/name@revision`.

    Returns:
        The folder's path.

    Raises:
        ValueError: if there is no such model, it may not be read, or the hub can't be reached.
    """
    from huggingface_hub import list_repo_files, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name, _, revision = handle.removeprefix("hf://").partition("@")
    if name.count("/") > 1 or not name:
        raise ValueError(f"{handle!r} must be hf://user/name or hf://user/name@revision.")
    revision = revision or None
    try:
        try:
            found = list_repo_files(name, revision=revision)
        except OfflineModeIsEnabled:
            return snapshot_download(name, revision=revision)  # what the cache has
        weights = _weights(found)
        if weights is None:
            raise ValueError(
                f"{handle} holds no weights that can be read here: none of {', '.join(FILES)} and "
                f"model.weights.h5 among {sorted(found)}."
            )
        return snapshot_download(name, revision=revision, allow_patterns=[*_SMALL_FILES, *weights])
    except GatedRepoError as error:
        raise ValueError(
            f"{handle} is gated: ask for access on its page, then log in (hf auth login) or set "
            f"HF_TOKEN. {error}"
        ) from error
    except RepositoryNotFoundError as error:
        raise ValueError(
            f"The hub has no model {name!r}, or you may not see it: check the name, and log in "
            f"(hf auth login) or set HF_TOKEN if it is private. {error}"
        ) from error
    except RevisionNotFoundError as error:
        raise ValueError(f"{name} has no revision {revision!r}. {error}") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ValueError(
            f"{handle} could not be fetched: {error}. Check the connection and try again; what has "
            "arrived is kept. HF_HUB_OFFLINE=1 uses the cache alone."
        ) from error


def _weights(found):
    """Patterns of the one kind of weights to fetch, or None."""
    for pattern in ("model.weights.h5", *FILES):
        if pattern in found:
            stem, _, suffix = pattern.removesuffix(".index.json").partition(".")
            return [pattern, f"{stem}-*.{suffix}"]
    return None
