"""Recipes are killed; the same command then ends as a run that never was.

They are killed before chosen changes of files, and by `make kill-test` before 99 random ones.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates import ROOT

pytestmark = pytest.mark.slow
SEED = os.environ.get("KILL_SEED")
KILLS = {  # the writes before which a recipe is killed, one kill after the other; -1 is the last
    "prepare_corpus": [-1],
    "pretrain_tpu": [9, 7],
    "finetune_classifier": [12],
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    said = tmp_path_factory.mktemp("said") / "said.txt"
    folders = os.pathsep.join([str(ROOT), str(ROOT / "recipes")])
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("killable.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": folders, "KERAS_BACKEND": "tensorflow"},
    )  # fmt: skip

    def run(**line):
        print(json.dumps({**line, "said": str(said)}), file=server.stdin, flush=True)
        return json.loads(server.stdout.readline()), said.read_text()

    yield run
    server.stdin.close()
    server.wait(timeout=60)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for number in range(6):
        (folder / f"{number}.txt").write_text("The film is very good.\n\nA day was dull.\n" * 2000)
    return folder


@pytest.fixture(scope="module")
def commands(texts, preset, corpus, write_table, tmp_path_factory):
    """`{recipe: arguments}`, with OUT for the folder that a run writes."""
    folder = tmp_path_factory.mktemp("examples")
    reviews = [(f"the {word} is {word} {word}", word == "good") for word in ("good", "bad")] * 8
    table = write_table(folder / "reviews.tsv", ("review", "opinion"), *reviews)
    [vocabulary] = Path(preset).rglob("vocab.txt")
    lines = {
        "prepare_corpus": f"{texts} --vocabulary {vocabulary} --output OUT",
        "pretrain_tpu": f"--corpus {corpus} --size tiny --num_layers 1 --steps 20 --batch_size 4 "
        "--accumulation_steps 2 --steps_per_execution 2 --warmup_proportion 0.1 --save_every 4 "
        "--preset_every 8 "
        "--strategy mirrored --output OUT",
        "finetune_classifier": f"--init {preset} --train {table} --validation_split 0.25 "
        f"--test {table} --text_column review --label_column opinion --sequence_length 12 "
        "--batch_size 4 --output OUT",
    }
    return {recipe: line.split() for recipe, line in lines.items()}


def digest(folder):
    """Sums up a folder, with hidden files: nothing may be left over."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not path.name.startswith("events.out.tfevents"):  # they hold times
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.mark.parametrize("name", KILLS)
def test_a_killed_recipe_ends_as_if_it_had_not_been(name, commands, ended, tmp_path):
    """Runs a recipe to its end, and with each list of kills one after another; then it's rerun."""
    folder = tmp_path / "out"  # of all runs: its name is in their settings
    arguments = [part.replace("OUT", str(folder / "run")) for part in commands[name]]

    def run(kill=None):
        return ended(recipe=name, arguments=arguments, folder=str(folder), kill=kill)

    first, said = run()
    assert first["status"] == 0, said[-3000:]
    assert "2 replicas" in said or name != "pretrain_tpu"
    expected, total = digest(folder), first["writes"]
    assert expected and total > 0
    chosen, generator = [KILLS[name]], random.Random(f"{name} {SEED}")
    if SEED:
        chosen = [[generator.randint(1, total)] for _ in range(33)]
    for kills in chosen:
        kills = [kill % (total + 1) for kill in kills]
        shutil.rmtree(folder, ignore_errors=True)
        for kill in kills:
            one, said = run(kill)
            assert one["status"] == -9, (kill, one, said[-3000:])
        again, said = run()
        assert again["status"] == 0, (kills, said[-3000:])
        found = digest(folder)
        # As documented in TrainingCheckpoint: a kill just after the last save leaves one more.
        older = [name for name in found.keys() - expected.keys() if "checkpoints/step-" in name]
        for checkpoint in older[:1]:
            del found[checkpoint]
        differ = [n for n in {**found, **expected} if found.get(n) != expected.get(n)]
        assert not differ, (kills, {n: (expected.get(n), found.get(n)) for n in differ})
        print(f"{name}, {kills}: equal", flush=True)
