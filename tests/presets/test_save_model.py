"""Two processes save into one folder: it is always one of the whole models."""

import os
import tempfile

import pytest

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


def check_two_writers(run_python, tmp_path, parent, method, rounds):
    script = tmp_path / "writers.py"
    script.write_text(WRITERS)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        print(run_python(script, method, rounds, os.path.join(folder, "model")))


@pytest.mark.slow
def test_two_processes_that_save_into_one_folder_leave_a_whole_model(run_python, tmp_path):
    check_two_writers(run_python, tmp_path, tmp_path, "save_to_preset", 3)


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("method", ["save_to_preset", "save_to_hugging_face"])
@pytest.mark.parametrize("parent", ["disk", "/dev/shm"])
def test_so_they_do_in_many_rounds(run_python, tmp_path, parent, method):
    if parent != "disk" and not os.path.isdir(parent):
        pytest.skip(f"no {parent} on this system")
    check_two_writers(run_python, tmp_path, tmp_path if parent == "disk" else parent, method, 20)
