"""Uploads of models to the Hugging Face Hub."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras

from keras_bert.files.new_folder import README, WRITTEN, is_own_card
from keras_bert.files.remote import read_text
from keras_bert.messages import logger, shown
from keras_bert.presets.formats.hub import reason_of, refusal
from keras_bert.presets.model_card import hub_card
from keras_bert.training.processes import is_chief, wait_for_all


def push_to_hub(
    model: keras.Model,
    name: str,
    settings: dict[str, Any] | None = None,
    scores: dict[str, dict[str, float]] | None = None,
    *,
    private: bool | None = None,
    token: str | None = None,
    commit_message: str = "Upload a model with keras_bert",
) -> str:
    """Uploads a model to the Hugging Face Hub, in one commit; see `PresetModel.push_to_hub`."""
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
        model.save_to_preset(folder, settings, scores)
        if is_chief(model):
            handle = _upload(api, name, folder, commit_message)
    wait_for_all("an upload", model)
    return handle


def _upload(api, name, folder, commit_message):
    card = folder / README
    card.write_text(hub_card(read_text(card), name), encoding="utf-8")
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
def _explained(name: str) -> Iterator[None]:
    from huggingface_hub import constants

    try:
        yield
    except Exception as error:  # of any kind at answers that aren't a hub's
        raise ValueError(
            refusal(name, error)
            or f"{name} could not be uploaded to {constants.ENDPOINT}: {reason_of(error)}. Look at "
            "its page, then run the same call again."
        ) from error
