"""A Hugging Face hub on this machine: a server that speaks its endpoints.

Sources: huggingface_hub `hf_api.py` (`model_info`, `list_repo_tree`, `create_repo`),
`file_download.py`, `_commit_api.py` and `lfs.py`.
"""

import base64
import hashlib
import json
import re
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from huggingface_hub import constants

from keras_bert import BertClassifier, BertPreprocessor

LARGE = (".safetensors", ".h5", ".bin")  # endings of large files


class Hub(ThreadingHTTPServer):
    """A server of models by name and revision, with a log of requests and settings for faults."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.models = {}  # {name: {revision: folder}}
        self.asked = []  # "METHOD path"
        self.refusals = {}  # {name: (status, headers, metadata too)} without a token
        self.token = "hf_secret"
        self.breaks = 0  # responses still to be cut off midway
        self.silent = False
        self.flips = 0  # large files still to be sent with a flipped bit
        self.lost = set()  # names of files that are listed, but missing on the server of contents
        self.strange = None  # (pattern of "METHOD path", body of the answer or None to hang up)
        self.folder = None  # for uploads
        self.role = "write"  # of the token
        self.private = set()  # names of models
        self.created = []  # bodies of requests to create a model
        self.commits = []  # {"name", "message", "deleted"}
        self.stored = {}  # {SHA-256: large file}

    def commit(self, name, revision):
        """Returns the commit of a revision."""
        return digest(f"{name} {revision}".encode())[:40]

    def fetched(self):
        """Returns the files whose contents were requested."""
        paths = [entry.removeprefix("GET ") for entry in self.asked if entry.startswith("GET /")]
        resolved = {path.partition("/resolve/")[2].partition("/")[2] for path in paths}
        return resolved - {""} | {p.split("/", 5)[-1] for p in paths if p.startswith("/cdn/")}


class Handler(BaseHTTPRequestHandler):
    """The responses of huggingface.co that a download needs."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms

    def log_message(self, *args):
        pass

    def do_POST(self):
        self.upload(self.rfile.read(int(self.headers["Content-Length"])))

    def do_PUT(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.stored[digest(content)] = content
        self.send(200, b"{}")

    def answer(self):
        hub, path = self.server, self.path.partition("?")[0]
        hub.asked.append(f"{self.command} {path}")
        if hub.silent:
            self.close_connection = True
            return hub.hang_up.wait(20)
        part = "[^/]+"
        if match := re.fullmatch(f"/api/models/({part}/{part})(?:/revision/({part}))?", path):
            return self.within(match[1], match[2], self.model_info)
        if match := re.fullmatch(f"/api/models/({part}/{part})/tree/({part})", path):
            return self.within(match[1], match[2], self.tree)
        if match := re.fullmatch(f"/({part}/{part})/resolve/({part})/(.+)", path):
            return self.within(match[1], match[2], partial(self.file, name=match[3]))
        if match := re.fullmatch(f"/cdn/({part}/{part})/({part})/(.+)", path):
            folder = self.server.models[match[1]][self.revision(match[1], match[2])]
            if match[3] in self.server.lost:
                return self.send(404, b"")
            content = (folder / match[3]).read_bytes()
            if self.server.flips:
                self.server.flips -= 1
                content = content[:-1] + bytes([content[-1] ^ 1])
            return self.content(content, {})
        self.error(404, "EntryNotFound")

    def within(self, name, revision, answer):
        hub = self.server
        if name in hub.refusals and self.headers["Authorization"] != f"Bearer {hub.token}":
            status, headers, metadata_too = hub.refusals[name]
            if metadata_too or "/resolve/" in self.path:
                return self.send(status, b"{}", headers)
        if name not in hub.models:
            return self.error(404, "RepoNotFound")
        revision = self.revision(name, revision or "main")
        if revision is None:
            return self.error(404, "RevisionNotFound")
        answer(name, revision)

    def revision(self, name, revision):
        """Returns the branch of a name or a commit, or None if there is none."""
        known = self.server.models[name]
        by_commit = {self.server.commit(name, branch): branch for branch in known}
        return by_commit.get(revision, revision if revision in known else None)

    def send_json(self, value, status=200):
        self.send(status, json.dumps(value).encode())

    def model_info(self, name, revision):
        info = {
            "id": name,
            "modelId": name,
            "sha": self.server.commit(name, revision),
            "siblings": [{"rfilename": path} for path in self.paths(name, revision)],
        }
        self.send_json({**info, "private": name in self.server.private, "tags": []})

    def tree(self, name, revision):
        folder = self.server.models[name][revision]
        entries = []
        for path in self.paths(name, revision):
            content = (folder / path).read_bytes()
            oid = digest(content)[:40]
            entries.append({"type": "file", "path": path, "size": len(content), "oid": oid})
        self.send_json(entries)

    def file(self, model, revision, name):
        path = self.server.models[model][revision] / name
        if not path.is_file():
            return self.error(404, "EntryNotFound")
        content = path.read_bytes()
        headers = {
            "X-Repo-Commit": self.server.commit(model, revision),
            "ETag": f'"{digest(content)}"',
        }
        if path.suffix in LARGE:  # large files are on another server
            headers |= {"X-Linked-Etag": headers.pop("ETag"), "X-Linked-Size": str(len(content))}
            headers["Location"] = (
                f"http://localhost:{self.server.server_port}/cdn/{model}/{revision}/{name}"
            )
            return self.send(302, b"", headers)
        self.content(content, headers)

    def content(self, content, headers):
        status, size = 200, len(content)
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start, status = int(match[1]), 206
            content = content[start:]
            headers = {**headers, "Content-Range": f"bytes {start}-{size - 1}/{size}"}
        self.send(status, content, headers, may_break=True)

    def is_logged_in(self):
        return self.headers["Authorization"] == f"Bearer {self.server.token}"

    def upload(self, body):
        hub, path, part = self.server, self.path.partition("?")[0], "[^/]+"
        hub.asked.append(f"POST {path}")
        if path == "/api/validate-yaml":
            content = json.loads(body)["content"]
            fields = yaml.safe_load(content.split("---")[1])
            return self.send(200 if isinstance(fields, dict) else 400, b'{"warnings": []}')
        if path == "/api/repos/create":
            if self.is_logged_in() and hub.role == "write":
                return self.create(json.loads(body))
            return self.send(403 if self.is_logged_in() else 401, b'{"error": "no rights"}')
        if match := re.fullmatch(f"/api/models/({part}/{part})/preupload/main", path):
            files = json.loads(body)["files"]
            kinds = [(f["path"], "lfs" if f["path"].endswith(LARGE) else "regular") for f in files]
            modes = [{"path": n, "uploadMode": k, "shouldIgnore": False} for n, k in kinds]
            return self.send_json({"files": modes})
        if match := re.fullmatch(f"/({part}/{part}).git/info/lfs/objects/batch", path):
            objects = json.loads(body)["objects"]
            for file in objects:
                file["actions"] = {"upload": {"href": f"{hub.url}/lfs/{file['oid']}"}}
            return self.send_json({"transfer": "basic", "objects": objects})
        if match := re.fullmatch(f"/api/models/({part}/{part})/commit/main", path):
            return self.commit(match[1], [json.loads(line) for line in body.splitlines()])
        self.error(404, "EntryNotFound")

    def create(self, asked):
        hub, name = self.server, f"{asked['organization']}/{asked['name']}"
        hub.created.append(asked)
        if name in hub.refusals:
            return self.send(hub.refusals[name][0], b'{"error": "no rights"}')
        answer = {"url": f"{hub.url}/{name}"}
        if name in hub.models:
            return self.send_json(answer, 409)
        (hub.folder / name).mkdir(parents=True)
        (hub.folder / name / ".gitattributes").write_text("*.h5 filter=lfs")
        hub.models[name] = {"main": hub.folder / name}
        if asked.get("visibility") == "private":
            hub.private.add(name)
        self.send_json(answer)

    def commit(self, name, lines):
        hub, deleted = self.server, []
        folder = hub.models[name]["main"]
        for line in lines[1:]:
            kind, value = line["key"], line["value"]
            path = folder / value["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "file":
                path.write_bytes(base64.b64decode(value["content"]))
            elif kind == "lfsFile":
                path.write_bytes(hub.stored[value["oid"]])
            elif kind == "deletedFile":
                path.unlink()
                deleted.append(value["path"])
        message = lines[0]["value"]["summary"]
        hub.commits.append({"name": name, "message": message, "deleted": deleted})
        commit = hub.commit(name, "main")
        url = f"{hub.url}/{name}/commit/{commit}"
        self.send_json({"commitUrl": url, "commitOid": commit})

    do_GET = do_HEAD = answer

    def error(self, status, code):
        self.send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def send(self, status, body, headers=(), may_break=False):
        pattern, strange = self.server.strange or ("$^", None)
        if re.search(pattern, f"{self.command} {self.path}"):  # after the request was carried out
            if strange is None:
                self.close_connection = True
                return
            status, body, headers = 200, strange, {}
        self.send_response(status)
        for name, value in {**dict(headers), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if may_break and self.server.breaks:
            self.server.breaks -= 1
            self.close_connection = True
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def paths(self, name, revision):
        folder = self.server.models[name][revision]
        return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.*"))]


def digest(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def point_to(monkeypatch):
    """Replaces HF_ENDPOINT and HF_HOME, which huggingface_hub reads when it is imported."""

    def point(url, cache):
        monkeypatch.setattr(constants, "ENDPOINT", url)
        template = url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(cache / "token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # its server isn't imitated
        monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 2)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)

    return point


@pytest.fixture
def hub(tmp_path, point_to):
    """A hub that huggingface_hub is configured for, with an empty cache."""
    server = Hub()
    server.hang_up = threading.Event()
    server.folder = tmp_path / "on_the_hub"
    thread = threading.Thread(target=partial(server.serve_forever, 0.02), daemon=True)
    thread.start()
    point_to(server.url, tmp_path / "cache")
    yield server
    server.hang_up.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def no_waiting(monkeypatch):
    """Retries of huggingface_hub without a delay."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def tiny(encoder, heads, words, folder):
    """Writes the folder of a classifier, with many files that aren't needed."""

    def write(name="theirs", scale=1):
        tensors = {key: scale * tensor for key, tensor in {**encoder, **heads("class")}.items()}
        config = {
            "architectures": ["BertForSequenceClassification"],
            "id2label": {"0": "no", "1": "maybe", "2": "yes"},
        }
        needless = ("pytorch_model.bin", "tf_model.h5", "onnx/model.onnx", "README.md")
        files = {
            "vocab.txt": "\n".join(words),
            "tokenizer_config.json": {"do_lower_case": True},
            "onnx/config.json": {},
            **dict.fromkeys((*needless, "openvino/x.bin"), "much"),
        }
        return folder(tensors, config, files, name)

    return write


@pytest.fixture(scope="module")
def classifier(backbone, randomized, letters):
    reader = BertPreprocessor(letters, sequence_length=12)
    return randomized(BertClassifier(backbone(), num_classes=2, preprocessor=reader))


@pytest.fixture
def our_preset(classifier, tmp_path):
    classifier.save_to_preset(tmp_path / "ours")
    return classifier, tmp_path / "ours"
