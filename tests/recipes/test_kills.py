"""Recipes are killed; the same command then ends as a run that never was.

At each change, some are killed before chosen changes of files. 100 kills, `make kill-test`: a kill
comes before a random change of a file.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pytest
import safetensors.numpy
from pyarrow import parquet

import keras_bert

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("KILL_SEED", "1"))

# Of each recipe: the writes before which it is killed at each change, one kill after the other (-1
# is the last), and the number of kills each week. The vocabulary is written last.
KILLS = {
    "learn_vocabulary": ([], 10),
    "prepare_corpus": ([-1], 28),
    "pretrain_tpu": ([9, 7], 24),
    "finetune_classifier": ([12], 26),
    "convert_checkpoint": ([-1], 12),
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
    generator, words = random.Random(0), "the a book film day was is very good bad dull".split()
    for number in range(6):
        lines = [" ".join(generator.choices(words, k=12)).capitalize() + "." for _ in range(1000)]
        if number < 4:
            (folder / f"{number}.txt").write_text("\n\n".join(lines))
        else:
            table = pyarrow.table({"text": lines})
            parquet.write_table(table, folder / f"{number}.parquet", row_group_size=100)
    return folder


@pytest.fixture(scope="module")
def commands(texts, preset, corpus, write_table, tmp_path_factory):
    """`{recipe: arguments}`, with OUT for the folder that a run writes."""
    folder = tmp_path_factory.mktemp("examples")
    reviews = [(f"the {word} is {word} {word}", word == "good") for word in ("good", "bad")] * 8
    table = write_table(folder / "reviews.tsv", ("review", "opinion"), *reviews)
    classifier = keras_bert.BertClassifier.from_preset(preset, label_names=["bad", "good"])
    classifier.save_to_preset(folder / "classifier")
    [vocabulary] = Path(preset).rglob("vocab.txt")
    lines = {
        "learn_vocabulary": f"{texts} --output_file OUT/vocab.txt --vocabulary_size 50",
        "prepare_corpus": f"{texts} --vocabulary {vocabulary} --output OUT",
        "pretrain_tpu": f"--corpus {corpus} --size tiny --num_layers 1 --steps 20 --batch_size 4 "
        "--accumulation_steps 2 --steps_per_execution 2 --warmup_proportion 0.1 --save_every 4 "
        "--preset_every 8 "
        "--strategy mirrored --output OUT",
        "finetune_classifier": f"--init {preset} --train {table} --validation_split 0.25 "
        f"--test {table} --text_column review --label_column opinion --sequence_length 12 "
        "--batch_size 4 --output OUT",
        "convert_checkpoint": f"{folder / 'classifier'} OUT/hf --to hugging_face",
    }
    return {recipe: line.split() for recipe, line in lines.items()}


def arrays_of(path):
    """The bytes of a file, or of the arrays in it where the file itself holds a date."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return [file[name].tobytes() for name in sorted(file.files)]
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            items = []
            file.visititems(lambda name, item: items.append((name.encode(), item)))
            return [n + item[()].tobytes() for n, item in items if isinstance(item, h5py.Dataset)]
    if path.suffix == ".safetensors":
        tensors = safetensors.numpy.load_file(path)
        return [name.encode() + tensors[name].tobytes() for name in sorted(tensors)]
    return [path.read_bytes()]


def digest(folder):
    """Sums up a folder, with hidden files: nothing may be left over."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not path.name.startswith("events.out.tfevents"):  # they hold times
            data = b"".join(arrays_of(path))
            found[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


CHOSEN = [(name, writes, 0) for name, (writes, _) in KILLS.items() if writes]
DRAWN = [pytest.param(name, [], n, marks=pytest.mark.weekly) for name, (_, n) in KILLS.items()]


@pytest.mark.parametrize(("name", "writes", "number"), [*CHOSEN, *DRAWN])
def test_a_killed_recipe_ends_as_if_it_had_not_been(
    name, writes, number, commands, ended, tmp_path
):
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
    generator = random.Random(f"{name} {SEED}")
    drawn = [[generator.randint(1, total)] for _ in range(number)]
    for kills in drawn or [[write % (total + 1) for write in writes]]:
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
