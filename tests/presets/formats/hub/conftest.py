"""A Hugging Face hub on this machine: a server that speaks its endpoints.

Sources: huggingface_hub `hf_api.py` (`model_info`, `list_repo_tree`, `create_repo`),
`file_download.py` and `_commit_api.py`. All files are small ones here, on the hub's own server.
"""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from huggingface_hub import constants

FILE = "/(?:datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)"
API = "/api/(?:models|datasets)/([^/]+/[^/]+)"
TOKEN = "hf_secret"


class Hub(ThreadingHTTPServer):
    """A server of models by name and revision, with a log of requests and settings for faults."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.folder = folder  # for uploads
        self.models = {}  # {name: {revision: folder}}
        self.asked = []  # "METHOD path"
        self.refusals = {}  # {name: (status, code)} without a token
        self.lost = set()  # names of files that are listed, but whose contents are missing
        self.private = set()  # names of models
        self.commits = []  # message and names of deleted files

    def fetched(self):
        """Returns the files whose contents were requested."""
        found = (re.fullmatch(f"GET {FILE}", entry) for entry in self.asked)
        return {match[3] for match in found if match}


class Handler(BaseHTTPRequestHandler):
    """The responses of huggingface.co that downloads and uploads need."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms

    def log_message(self, *args):
        pass

    def answer(self):
        hub, request = self.server, f"{self.command} {self.path.partition('?')[0]}"
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub.asked.append(request)
        for pattern, method in ROUTES.items():
            if match := re.fullmatch(pattern, request):
                return method(self, *match.groups())
        self.error(404, "EntryNotFound")

    do_GET = do_HEAD = do_POST = answer

    def has_token(self):
        return self.headers["Authorization"] == f"Bearer {TOKEN}"

    def folder(self, name, revision):
        """Returns the folder of a branch, of a commit or of main; None after a refusal."""
        hub = self.server
        if name in hub.refusals and not self.has_token():
            return self.error(*hub.refusals[name])
        if name not in hub.models:
            return self.error(404, "RepoNotFound")
        for branch, folder in hub.models[name].items():
            if (revision or "main") in (branch, commit_of(folder)):
                return folder
        self.error(404, "RevisionNotFound")

    def model_info(self, name, revision):
        if folder := self.folder(name, revision):
            names = [{"rfilename": path} for path in contents(folder)]
            info = {"id": name, "sha": commit_of(folder), "siblings": names, "tags": []}
            self.send_json({**info, "private": name in self.server.private})

    def tree(self, name, revision):
        if folder := self.folder(name, revision):
            self.send_json([
                {"type": "file", "path": path, "size": len(content), "oid": digest(content)[:40]}
                for path, content in contents(folder).items()
            ])  # fmt: skip

    def file(self, name, revision, path):
        if not (folder := self.folder(name, revision)):
            return
        if not (folder / path).is_file() or self.command == "GET" and path in self.server.lost:
            return self.error(404, "EntryNotFound")
        content = (folder / path).read_bytes()
        headers = {"X-Repo-Commit": commit_of(folder), "ETag": f'"{digest(content)}"'}
        self.send(200, content, headers)

    def create(self):
        hub, asked = self.server, json.loads(self.body)
        if not self.has_token():
            return self.error(401)
        name = f"{asked['organization']}/{asked['name']}"
        answer = {"url": f"{hub.url}/{name}"}
        if name in hub.models:
            return self.send_json(answer, 409)
        (hub.folder / name).mkdir(parents=True)
        hub.models[name] = {"main": hub.folder / name}
        if asked.get("visibility") == "private":
            hub.private.add(name)
        self.send_json(answer)

    def accept(self):
        files = json.loads(self.body).get("files", [])
        for file in files:
            file.update(uploadMode="regular", shouldIgnore=False)
        self.send_json({"files": files, "warnings": []})

    def commit(self, name):
        hub, deleted = self.server, []
        folder = hub.models[name]["main"]
        header, *changes = [json.loads(line)["value"] for line in self.body.splitlines()]
        for change in changes:
            path = folder / change["path"]
            if "content" in change:
                path.write_bytes(base64.b64decode(change["content"]))
            else:
                path.unlink()
                deleted.append(change["path"])
        hub.commits.append((header["summary"], sorted(deleted)))
        commit = commit_of(folder)
        self.send_json({"commitUrl": f"{hub.url}/{name}/commit/{commit}", "commitOid": commit})

    def error(self, status, code=None):
        self.send(status, b"{}", {"X-Error-Code": code} if code else {})

    def send_json(self, value, status=200):
        self.send(status, json.dumps(value).encode())

    def send(self, status, body, headers=()):
        self.send_response(status)
        for name, value in {**dict(headers), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


ROUTES = {
    f"(?:GET|HEAD) {API}(?:/revision/([^/]+))?": Handler.model_info,
    f"(?:GET|HEAD) {API}/tree/([^/]+)": Handler.tree,
    f"(?:GET|HEAD) {FILE}": Handler.file,
    "POST /api/(?:validate-yaml|models/[^/]+/[^/]+/preupload/main)": Handler.accept,
    "POST /api/repos/create": Handler.create,
    "POST /api/models/([^/]+/[^/]+)/commit/main": Handler.commit,
}


def digest(content):
    return hashlib.sha256(content).hexdigest()


def commit_of(folder):
    return digest(str(folder).encode())[:40]


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.fixture
def point_to(monkeypatch):
    """Replaces HF_ENDPOINT and HF_HOME, which huggingface_hub reads when it is imported."""

    def point(url, cache):
        for name, value in {
            "ENDPOINT": url,
            "HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(cache),
            "HF_TOKEN_PATH": str(cache / "token"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,  # whose server isn't imitated
            "HF_HUB_ETAG_TIMEOUT": 2,
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr("time.sleep", lambda seconds: None)  # before it tries again
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)

    return point


@pytest.fixture
def hub(tmp_path, point_to):
    """A hub that huggingface_hub is configured for, with an empty cache."""
    with Hub(tmp_path / "on_the_hub") as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        point_to(server.url, tmp_path / "cache")
        yield server
        server.shutdown()


@pytest.fixture
def tiny(their_classifier, words):
    """Writes the folder of a classifier, with many files that aren't needed."""
    files = dict.fromkeys(("pytorch_model.bin", "tf_model.h5", "onnx/model.onnx"), "much")
    files |= {
        "vocab.txt": "\n".join(words),
        "tokenizer_config.json": {"do_lower_case": True},
    }
    files |= {"onnx/config.json": {}}
    return their_classifier(files=files)


@pytest.fixture(scope="module")
def classifier(backbone, randomized, make_classifier):
    return randomized(make_classifier(2, backbone()))
