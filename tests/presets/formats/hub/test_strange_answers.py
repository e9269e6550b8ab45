"""A hub, or a proxy before it, that answers "200 OK" with something else, or hangs up."""

import shutil
from pathlib import Path

import pytest

from keras_bert.presets.formats.hub import download
from keras_bert.presets.push_to_hub import push_to_hub

ANSWERS = [
    None,  # after the request was carried out
    b"null",
    b"<html><body>Log in to the network</body></html>",
    b'{"id": null, "sha": null, "siblings": null, "files": null, "objects": null, "url": null}',
    b'{"id": "user/tiny", "sha": 3, "siblings": [{"rfilename": null}], "auth": {"accessToken": 1}}',
]
PUSHES = {
    "create": "POST /api/repos/create",
    "info": "GET /api/models/user/tiny",
    "card": "/resolve/main/README.md",
    "metadata": "POST /api/validate-yaml",
    "preupload": "POST .*/preupload/",
    "batch": "POST .*/objects/batch",
    "content": "PUT /lfs/",
    "commit": "POST .*/commit/main",
    "everything": "",
}
LOADS = {
    "info": r"GET /api/models/user/tiny(/revision|\?|$)",
    "tree": "GET /api/models/user/tiny/tree/",
    "metadata": "HEAD /",
    "files": "GET /user/tiny/resolve",
    "weights": "GET /cdn/",
    "everything": "",
}


def assert_explained(error):
    text = str(error)
    assert "user/tiny" in text and len(text) < 700 and "\n" not in text, text


def files(folder):
    """Returns the contents of the files that a model needs."""
    names = ("config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors")
    return [Path(folder, name).read_bytes() for name in names]


@pytest.mark.parametrize("request_", PUSHES)
def test_a_push_is_refused_with_a_reason_or_done(
    hub, our_preset, point_to, tmp_path, no_waiting, monkeypatch, request_
):
    model, saved = our_preset
    monkeypatch.setattr(type(model), "save_to_preset", lambda _, to: shutil.copytree(saved, to))
    push_to_hub(model, "user/tiny", token=hub.token)  # whose card is then compared
    for number, answer in enumerate(ANSWERS):
        point_to(hub.url, tmp_path / str(number))
        hub.commits.clear()
        hub.strange = PUSHES[request_], answer
        try:
            handle = push_to_hub(model, "user/tiny", token=hub.token)
        except ValueError as error:
            assert_explained(error)
        else:
            assert handle == f"hf://user/tiny@{hub.commit('user/tiny', 'main')}" and hub.commits


@pytest.mark.parametrize("request_", LOADS)
def test_a_download_is_refused_with_a_reason_or_right(
    hub, tiny, point_to, tmp_path, no_waiting, request_
):
    source = tiny()
    hub.models["user/tiny"] = {"main": source}
    expected = files(source)
    for number, answer in enumerate(ANSWERS):
        point_to(hub.url, tmp_path / str(number))
        hub.strange = LOADS[request_], answer
        try:
            folder = download("hf://user/tiny")
        except ValueError as error:
            assert_explained(error)
            if "and restart Python" in str(error):  # huggingface_hub keeps lists of files
                continue
        else:
            assert files(folder) == expected
        hub.strange = None
        assert files(download("hf://user/tiny")) == expected
