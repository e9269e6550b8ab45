"""A hub, or a proxy before it, that answers "200 OK" with something else, or hangs up."""

import shutil
from pathlib import Path

import pytest

from keras_bert.presets.hub import download, push_to_hub

ANSWERS = [
    None,  # after the request was carried out
    b"null",
    b"<html><body>Log in to the network</body></html>",
    b'{"id": null, "sha": null, "siblings": null, "files": null, "objects": null, "url": null}',
    b'{"id": "user/tiny", "sha": 3, "siblings": [{"rfilename": null}], "auth": {"accessToken": 1}}',
]
PUSHES = ["repos/create", "GET /api/models", "README.md", "validate", "/preupload/", "/batch"]
PUSHES += ["PUT /lfs/", "/commit/", ""]
LOADS = [r"/tiny(/revision|\?|$)", "/tree/", "HEAD /", "GET /user/tiny/resolve", "GET /cdn/", ""]


@pytest.fixture
def strange(hub, point_to, tmp_path, no_waiting):
    """Calls a function while the hub gives each of `ANSWERS` to some requests.

    Yields its results; the errors that it may raise name the model and the reason in one line.
    """

    def results(request, call):
        for number, answer in enumerate(ANSWERS):
            point_to(hub.url, tmp_path / str(number))
            hub.strange = request, answer
            try:
                yield call("user/tiny")
            except ValueError as error:
                text = str(error)
                assert "user/tiny" in text and len(text) < 700 and "\n" not in text, text
                yield text
            hub.strange = None

    return results


@pytest.mark.parametrize("request_", PUSHES)
def test_a_push_is_refused_with_a_reason_or_done(hub, our_preset, strange, monkeypatch, request_):
    model, saved = our_preset
    monkeypatch.setattr(
        type(model), "save_to_preset", lambda _, to, *card: shutil.copytree(saved, to)
    )

    def push(name):
        hub.commits.clear()
        return push_to_hub(model, name, token=hub.token)

    done = push("user/tiny")  # whose card is then compared
    assert all(result != done or hub.commits for result in strange(request_, push))


@pytest.mark.parametrize("request_", LOADS)
def test_a_download_is_refused_with_a_reason_or_right(hub, tiny, strange, request_):
    def files(folder):
        names = ("config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors")
        return [Path(folder, name).read_bytes() for name in names]

    source = tiny()
    hub.models["user/tiny"] = {"main": source}
    for result in strange(request_, lambda name: download(f"hf://{name}")):
        if Path(result).is_dir():
            assert files(result) == files(source)
        hub.strange = None
        if "and restart Python" not in result:  # huggingface_hub keeps lists of files
            assert files(download("hf://user/tiny")) == files(source)
