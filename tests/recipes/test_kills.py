"""Recipes are killed at random moments; the same command then ends as a run that never was.

60 kills, `make kill-test`. A kill comes before a random change of a file, at a random time from the
start or from the first change, or takes a single worker process.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

import keras_bert

pytestmark = [pytest.mark.slow, pytest.mark.weekly]
ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("KILL_SEED", "1"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A function that runs a recipe in a fork of a process that has loaded TensorFlow."""
    said = tmp_path_factory.mktemp("said") / "said.txt"
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("killable.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"},
    )  # fmt: skip

    def run(recipe, arguments, folder, kill=None):
        line = {"recipe": recipe, "arguments": [*map(str, arguments)], "folder": str(folder)}
        print(json.dumps({**line, "said": str(said), "kill": kill}), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline()), said.read_text()

    yield run
    process.stdin.close()
    process.wait(timeout=60)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A folder of about 400 KB of sentences in six files."""
    folder = tmp_path_factory.mktemp("texts")
    generator, words = random.Random(0), "the a book film day was is very good bad dull".split()
    for number in range(6):
        lines = (" ".join(generator.choices(words, k=12)).capitalize() + "." for _ in range(1000))
        (folder / f"{number}.txt").write_text("\n\n".join(lines))
    return folder


# Of each recipe: kills before a write, a time after the first, after the start, and of a worker.
# The vocabulary is written last.
COMMANDS = {
    "learn_vocabulary": (3, 0, 4, 4),
    "prepare_corpus": (7, 5, 2, 4),
    "pretrain_tpu": (4, 4, 1, 0),
    "finetune_classifier": (4, 3, 1, 0),
    "convert_checkpoint": (4, 2, 2, 0),
    "export_savedmodel": (3, 2, 1, 0),
}


@pytest.fixture(scope="module")
def commands(texts, preset, corpus, tmp_path_factory):
    """`{recipe: arguments}`, with OUT for the folder that a run writes."""
    folder = tmp_path_factory.mktemp("examples")
    rows = [f"the {w} is {w} {w}\t{w == 'good'}" for _ in range(8) for w in ("good", "bad")]
    table = folder / "reviews.tsv"
    table.write_text("\n".join(["review\topinion", *rows]) + "\n")
    classifier = keras_bert.BertClassifier.from_preset(preset, label_names=["bad", "good"])
    classifier.save_to_preset(folder / "classifier")
    [vocabulary] = Path(preset).rglob("vocab.txt")
    return {
        "learn_vocabulary": [
            texts, "--output_file", "OUT/vocab.txt", "--vocabulary_size", 50,
        ],
        "prepare_corpus": [texts, "--vocabulary", vocabulary, "--output", "OUT"],
        "pretrain_tpu": [
            "--corpus", corpus, "--size", "tiny", "--steps", 20, "--batch_size", 4,
            "--warmup_proportion", 0.1, "--save_every", 3, "--strategy", "single",
            "--output", "OUT",
        ],
        "finetune_classifier": [
            "--init", preset, "--train", table, "--validation_split", 0.25, "--test", table,
            "--text_column", "review", "--label_column", "opinion", "--sequence_length", 12,
            "--batch_size", 4, "--epochs", 3, "--strategy", "single", "--output", "OUT",
        ],
        "convert_checkpoint": [folder / "classifier", "OUT/hf", "--to", "hugging_face"],
        "export_savedmodel": [folder / "classifier", "--output", "OUT"],
    }  # fmt: skip


def arrays_of(path):
    """The bytes of a file, or of the arrays in it where the file itself holds a date."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return [file[name].tobytes() for name in sorted(file.files)]
    if path.suffix == ".h5":
        found = []
        with h5py.File(path) as file:
            file.visititems(
                lambda name, item: (
                    found.append(name.encode() + np.asarray(item).tobytes())
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
        return found
    if path.suffix == ".safetensors":
        tensors = safetensors.numpy.load_file(path)
        return [name.encode() + tensors[name].tobytes() for name in sorted(tensors)]
    if path.name.startswith("variables.data-"):  # in the order of tracing
        checkpoint = tf.train.load_checkpoint(str(path.parent / "variables"))
        names = set(checkpoint.get_variable_to_shape_map()) - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
        return sorted(checkpoint.get_tensor(name).tobytes() for name in names)
    return [path.read_bytes()]


# TensorBoard's files hold times; test_kill_and_resume.py compares what they show. The graph and
# requests of a SavedModel have another order in each export: variables and answers are compared.
TRACED = ("saved_model.pb", "fingerprint.pb", "variables.index", "tf_serving_warmup_requests")


def digests(folder):
    """Of all files of a folder, hidden ones too: nothing may be left over."""
    return {
        str(path.relative_to(folder)): None
        if path.name in TRACED
        else hashlib.sha256(b"".join(arrays_of(path))).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "events.out.tfevents" not in path.name
    }


@pytest.mark.parametrize("recipe", COMMANDS)
def test_a_killed_recipe_ends_as_if_it_had_not_been(recipe, commands, ended, tmp_path):
    by_writes, later, by_time, of_workers = COMMANDS[recipe]
    generator = random.Random(f"{recipe} {SEED}")

    def run(name, kill=None, *more):
        folder = tmp_path / name
        arguments = [str(part).replace("OUT", str(folder)) for part in commands[recipe]]
        return ended(recipe, [*arguments, *more], folder, kill), folder

    (first, said), whole = run("whole")
    assert first["status"] == 0, said[-3000:]
    expected, answers = digests(whole), served(whole) if recipe == "export_savedmodel" else None
    assert expected and first["writes"] > 0
    kills = [("write", generator.randint(1, first["writes"])) for _ in range(by_writes)]
    kills += [("later", generator.random() * first["seconds_of_writes"]) for _ in range(later)]
    kills += [("seconds", generator.random() * first["seconds"]) for _ in range(by_time)]
    kills += [("worker", generator.randrange(6), number) for number in range(of_workers)]
    for number, kill in enumerate(kills):
        name, more = f"killed_{number}", ["--num_workers", 2] if kill[0] == "worker" else []
        (one, said), folder = run(name, kill, *more)
        while kill[0] in ("later", "seconds") and one["status"] == 0:  # faster than the first run
            kill = (kill[0], kill[1] / 2)
            name += "_sooner"
            (one, said), folder = run(name, kill, *more)
        left = sum(1 for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
        if kill[0] == "worker":
            assert one["status"] == 1 and "A worker process died" in said, said[-3000:]
        else:
            assert one["status"] == -9, (kill, one, said[-3000:])
        (again, said), folder = run(name)
        is_done = recipe == "export_savedmodel" and again["status"] and "already exists" in said
        assert again["status"] == 0 or is_done, (kill, said[-3000:])
        found = digests(folder)
        # As documented in TrainingCheckpoint: a kill just after the last save leaves one more.
        older = [name for name in found.keys() - expected.keys() if "checkpoints/step-" in name]
        for name in older[:1]:
            del found[name]
        assert found == expected, (kill, sorted(found.items() ^ expected.items()))
        if answers is not None:
            assert served(folder) == answers, kill
        print(f"{recipe}, {kill}: {left} files, then {again['seconds']:.1f} s: equal", flush=True)


def served(folder):
    """The answers of an exported model to some texts."""
    answer = tf.saved_model.load(str(folder / "1")).signatures["serving_default"]
    answers = answer(text=tf.constant(["the book was good", "a dull film", ""]))
    return {name: value.numpy().tolist() for name, value in sorted(answers.items())}
