"""A folder is always one of the whole models, whoever writes or reads it, at whatever limit."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile

import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertTask, TrainingCheckpoint
from keras_bert.files import given
from keras_bert.presets import preset
from keras_bert.presets.formats import tensor_files


def filled(value):
    """A model whose weights all have one value."""
    backbone = BertBackbone(30, 2, 2, hidden_dim=8, intermediate_dim=12, max_sequence_length=16)
    model = BertClassifier(backbone, num_classes=2)
    for weight in model.weights:
        weight.assign(np.full(weight.shape, value))
    return model


def values_in(model):
    return set(np.concatenate([np.ravel(weight) for weight in model.get_weights()]))


@pytest.mark.parametrize(("when", "value"), [("opened", 2), ("gone", 2), ("loaded", 1)])
def test_a_folder_that_is_replaced_while_it_is_read_is_one_of_two(
    tmp_path, monkeypatch, when, value
):
    filled(1).save_to_hugging_face(tmp_path / "model")
    filled(2).save_to_hugging_face(tmp_path / "other")
    module, name = (preset, "load_checkpoint") if when == "loaded" else (tensor_files, "safe_open")
    real, calls = getattr(module, name), []

    def meets_a_writer(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            (tmp_path / "model").rename(tmp_path / "old")
            (tmp_path / "other").rename(tmp_path / "model")
            shutil.rmtree(tmp_path / "old")
            if when == "gone":
                raise OSError("the file is gone")
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, meets_a_writer)
    assert values_in(BertTask.from_preset(tmp_path / "model")) == {value}
    assert len(calls) == (1 if when == "loaded" else 2)


def save_lora(model, folder):
    if not model.backbone.adapted:
        model.enable_lora(2)
    model.save_lora(folder, "user/base")


def save_checkpoint(model, folder):
    model.compile("sgd", "mse")
    checkpoint = TrainingCheckpoint(folder)
    checkpoint.save(model, step=1)
    checkpoint.wait()


WRITERS = [
    BertClassifier.save_to_preset,
    BertClassifier.save_to_hugging_face,
    save_lora,
    save_checkpoint,
]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", WRITERS)
def test_at_any_limit_of_file_size_what_was_there_stays(tmp_path, file_limit, write):
    write(filled(1), tmp_path / "model")
    before = contents(tmp_path)
    largest = max(map(len, before.values()))
    model = filled(2)
    for limit in (1, largest // 9, largest // 2, largest * 7 // 8, largest - 1):
        with (
            file_limit(limit),
            pytest.raises(OSError, match="The disk was full while .* written"),
        ):
            write(model, tmp_path / "model")
        assert contents(tmp_path) == before
    with file_limit(2 * largest + 2**19):
        write(model, tmp_path / "model")
    assert contents(tmp_path) != before


@pytest.mark.parametrize("write", WRITERS)
def test_on_a_disk_of_any_size_what_was_there_stays(tmp_path, write):
    write(filled(1), tmp_path / "other")
    size = sum(-(-len(content) // 4096) * 4096 for content in contents(tmp_path).values())
    for part in (1.3, 1.6, 1.9, 1.97):
        disk = tmp_path / f"disk of {part}"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={int(part * size)}", "tmpfs", disk]
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("mounting a disk of a chosen size needs root")
        try:
            shutil.copytree(tmp_path / "other", disk / "model")
            before = contents(disk)
            with contextlib.suppress(OSError):
                write(filled(2), disk / "model")
                continue
            assert contents(disk) == before
        finally:
            subprocess.run(["umount", disk], check=True)


def test_a_folder_that_never_stays_is_an_error(tmp_path, monkeypatch):
    filled(1).save_to_preset(tmp_path / "model")
    versions = itertools.count()
    monkeypatch.setattr(given, "_version", lambda folder: next(versions))
    with pytest.raises(OSError, match="model is replaced faster than it can be read"):
        BertTask.from_preset(tmp_path / "model")


# Each round starts from a model of zeros; two processes then save ones and twos at the same time.
WRITERS = """
import multiprocessing
import os
import shutil
import sys


def write(number, method, rounds, folder, together):
    import numpy as np
    from keras_bert import BertBackbone, BertClassifier, sizes

    model = BertClassifier(BertBackbone(vocabulary_size=30, **sizes.tiny), num_classes=2)
    save = getattr(model, method)

    def fill(value):
        for weight in model.weights:
            weight.assign(np.full(weight.shape, value))

    failures = 0
    for _ in range(rounds):
        if number == 1:
            fill(0)
            save(folder)
            assert os.listdir(os.path.dirname(folder)) == ["model"]
        fill(number)
        together.wait()
        for _ in range(4):
            try:
                save(folder)
            except OSError:
                failures += 1
        together.wait()
        if number == 1:
            loaded = BertClassifier.from_preset(folder)
            values = {v for w in loaded.get_weights() for v in w.flat}
            assert len(values) == 1 and values < {0, 1, 2}, values
            assert not loaded.load_report.new
        together.wait()
    print(f"process {number}: {failures} of {4 * rounds} failed")


if __name__ == "__main__":
    method, rounds, folder = sys.argv[1:]
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2, timeout=120)
    arguments = (method, int(rounds), folder, together)
    writers = [context.Process(target=write, args=(n, *arguments)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    sys.exit(any(writer.exitcode for writer in writers))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "rounds"),
    [
        ("save_to_preset", 3),
        pytest.param("save_to_preset", 20, marks=pytest.mark.weekly),
        pytest.param("save_to_hugging_face", 20, marks=pytest.mark.weekly),
    ],
)
def test_two_processes_that_save_into_one_folder_leave_a_whole_model(
    run_python, tmp_path, method, rounds
):
    script = tmp_path / "writers.py"
    script.write_text(WRITERS)
    for parent in {tmp_path, "/dev/shm"} if os.path.isdir("/dev/shm") else {tmp_path}:
        with tempfile.TemporaryDirectory(dir=parent) as folder:
            print(run_python(script, method, rounds, os.path.join(folder, "model")))
