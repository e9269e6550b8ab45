"""Processes that train together do in recipes as one does; the first of them writes."""

import json
import re

import pytest

import keras_bert
from tests.gates import ROOT

RECIPES = ROOT / "recipes"


DIFFERENT = """
import json, os, signal
import keras_bert
from keras_bert.training.processes import check_same, is_chief, wait_for_all

stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
strategy = keras_bert.get_strategy("auto")
os.kill(os.getpid(), signal.SIGTERM)
assert stopped
number = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
check_same(7, "This is never said.", strategy)
wait_for_all("both", strategy)
try:
    check_same(number, "They differ.", strategy)
except ValueError as error:
    print(is_chief(strategy), error)
"""


@pytest.mark.slow
def test_workers_are_told_where_they_differ(tensorflow, run_together, two_workers):
    texts = run_together(["-c", DIFFERENT], *two_workers)
    said = [text.splitlines()[-1] for text in texts]
    assert said[0] == "True They differ. (They have [0, 1], in order of processes.)"
    assert said[1] == said[0].replace("True", "False")


@pytest.mark.slow
def test_the_program_for_two_machines_runs(
    tensorflow, run_together, two_workers, preset, write_table, tmp_path, monkeypatch
):
    guide = (RECIPES.parent / "docs" / "guides" / "many_devices.md").read_text(encoding="utf-8")
    program = guide.partition("```py\n")[2].partition("```\n")[0]
    program = re.sub('"hf://.*?"', repr(str(preset)), program)
    rows = [(f"the book was {word}", word) for word in ("good", "bad")] * 20
    write_table(tmp_path / "train.tsv", ("text", "label"), *rows)
    monkeypatch.chdir(tmp_path)
    run_together(["-c", program], *two_workers)
    scores = json.loads((tmp_path / "reviews" / "scores.json").read_text())
    assert len(scores) == 3
    keras_bert.BertClassifier.from_preset(tmp_path / "reviews" / "best")


@pytest.mark.slow
def test_two_processes_finetune_on_glue_and_the_first_writes(
    run_together, two_workers, preset, write_table, tmp_path
):
    output, data = tmp_path / "out", tmp_path / "SST-2"
    words = ("bad", "good") * 3
    for split, count in (("train", 40), ("dev", 2), ("test", 1)):
        rows = [(f"the book was {word}", int(word == "good")) for word in words * count]
        write_table(data / f"{split}.tsv", ("sentence", "label"), *rows)
    settings = "--task sst2 --sequence_length 8 --batch_sizes 8 --learning_rates 1e-2 1e-5"
    settings += " --epochs 2 --strategy multiworker --data"
    paths = [data, "--init", preset, "--output", output]
    command = [RECIPES / "finetune_glue.py", *settings.split(), *paths]
    first, second = run_together(command, *two_workers)
    assert "2 replicas on CPU" in first and "Wrote " in first and "Wrote " not in second
    results = [re.findall(r"^0\t8\t.*$", text, re.MULTILINE) for text in (first, second)]
    assert results[0] == results[1] and len(results[0]) == 2  # the settings and scores of runs
    best = json.loads((output / "best.json").read_text())
    assert (best["score"], best["learning_rate"]) == (1.0, 0.01)
    answers = (output / "submission" / "SST-2.tsv").read_text().splitlines()
    assert answers == ["index\tprediction", *(f"{i}\t{i % 2}" for i in range(6))]
