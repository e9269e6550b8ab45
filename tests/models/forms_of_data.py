"""Every verb on every form of data of every task: what is taken, and what a refusal says.

`docs/forms.md` shows it; `python -m tests.models.forms_of_data` writes that page.
"""

import functools
import os
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_bert
from keras_bert import Batching, BertTokenizer
from tests.conftest import VOCABULARY
from tests.models.conftest import TASKS, rows_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "forms.md"
CASES = [name for name, (_, x, *_) in TASKS.items() if x is not None]
FORMS = {
    "RawExamples": "lists, arrays, columns of a table",
    "RawStream": "a generator, a loader or a `tf.data.Dataset` of examples",
    "InputArrays": "prepared arrays",
    "InputDataset": "a `tf.data.Dataset` of prepared batches",
    "InputBatches": "a `PyDataset` or loader of prepared batches",
}
KERAS_VERBS = ["fit", "evaluate", "predict"]
VERBS = [*KERAS_VERBS, "answer", "scores", "batches", "calibrate", "choose_threshold"]
WITHOUT_LABELS = ("predict", "answer")
OF_FEW_EXAMPLES = "No temperature fits"
MEANINGLESS = ("has no probabilities", "threshold needs 2 classes")  # for this task


class Loader(keras.utils.PyDataset):
    """One batch."""

    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self.batch


def make_task(name):
    """Makes the compiled task of a case."""
    kind, x, *_, settings, arguments = TASKS[name]
    task_class = getattr(keras_bert, kind)
    backbone = keras_bert.BertBackbone(30, 1, 2, 16, 32, max_sequence_length=16)
    preprocessor = task_class.preprocessor_class()(_letters(), sequence_length=12, **settings)
    task = task_class(backbone, preprocessor=preprocessor, **arguments)
    if name == "features":
        task.adapt_features(x["features"])
    loss = "mse" if kind == "BertEmbedder" else task.default_compile_args()["loss"]
    task.compile(optimizer="sgd", loss=loss, run_eagerly=True)
    return task


@functools.cache
def _letters():
    return BertTokenizer(VOCABULARY)


def given(task, case, form, with_labels):
    """Returns examples in a form, `(x,)`, `(x, y)` or `(x, y, weights)`."""
    _, x, y, *_ = TASKS[case]
    if form.startswith("Input"):
        return _prepared(task, form, x, y, with_labels)
    y = y if with_labels else None
    if form == "RawExamples":
        return (x,) if y is None else (x, y)
    rows = rows_of(x)
    return (iter(rows if y is None else zip(rows, y, strict=True)),)


def _prepared(task, form, x, y, with_labels):
    [batch] = task.batches(x, y, batching=Batching(64, shuffle=False, pad_to="full"))
    batch = keras.tree.map_structure(np.asarray, batch)
    if not with_labels:
        batch = batch[:1]
    if form == "InputArrays":
        return batch
    if form == "InputBatches":
        return (Loader(batch),)
    import tensorflow as tf

    return (tf.data.Dataset.from_tensors(batch),)


def said(task, case, form, verb):
    """Returns what a verb says of a form: "" if it takes it; None if the task has no such thing."""
    if not hasattr(task, verb):
        return None
    data = given(task, case, form, with_labels=verb not in WITHOUT_LABELS)
    options = {"verbose": 0} if verb in KERAS_VERBS else {}
    if len(data) == 3 and verb in ("fit", "evaluate"):
        options["sample_weight"] = data[2]
    try:
        getattr(task, verb)(*data[:2], **options)
    except ValueError as error:
        message = str(error)
        if any(part in message for part in MEANINGLESS):
            return None
        return "" if OF_FEW_EXAMPLES in message else message
    return ""


def all_said(case):
    """Returns `{(form, verb): what it says}` of a task."""
    task, cells = make_task(case), {}
    for form in FORMS:
        for verb in VERBS:
            cells[form, verb] = said(task, case, form, verb)
    return cells


def cells_of_page():
    """Returns `{(form, verb): cell}` of the page's table."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("| | `fit`") :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    cells = {}
    for form, row in zip(FORMS, rows[2:], strict=True):
        cells |= {(form, verb): cell for verb, cell in zip(VERBS, row[1:], strict=True)}
    return cells


def takes(cell, case):
    """Returns whether a cell of the table says that a verb takes a form of a task's data."""
    return cell == "yes" or (cell != "no" and case not in cell.removeprefix("not ").split(", "))


def _write_page():
    said_of = {case: all_said(case) for case in CASES}
    lines = [f"| | {' | '.join(f'`{verb}`' for verb in VERBS)} |", "|---" * (len(VERBS) + 1) + "|"]
    messages = {}
    for form, description in FORMS.items():
        row = [description]
        for verb in VERBS:
            answers = {case: said_of[case][form, verb] for case in CASES}
            meant = [case for case, answer in answers.items() if answer is not None]
            refusing = [case for case in meant if answers[case]]
            for case in refusing:
                messages.setdefault(verb, {})[answers[case].split("; got ")[0]] = None
            row.append("no" if refusing == meant else f"not {', '.join(refusing)}")
            row[-1] = row[-1] if refusing else "yes"
        lines.append(f"| {' | '.join(row)} |")
    table, text = "\n".join(lines), PAGE.read_text(encoding="utf-8")
    start = text.index("| | `fit`")
    print(*(f"{verb}: {message}" for verb in messages for message in messages[verb]), sep="\n")
    PAGE.write_text(text[:start] + table + text[start + len(text[start:].split("\n\n")[0]) :])


if __name__ == "__main__":
    _write_page()
