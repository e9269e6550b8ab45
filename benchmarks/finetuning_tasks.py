"""Examples, metrics and progress lines of the tasks of `against_transformers.py`."""

import multiprocessing
import random
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import keras_bert

_SPLIT = 20250101  # seed of the splits, the same for every run
_TABLES = {"sentiment": (["Text"], "Sentiment"), "nli": (["sentence1", "sentence2"], "gold_label")}
METRICS = {
    "sentiment": ["accuracy"],
    "nli": ["accuracy"],
    "mrpc": ["accuracy", "f1"],
    "ner": ["f1"],
    "choice": ["accuracy"],
    "squad1": ["f1"],
    "squad2": ["best_f1", "answers_f1"],
}
"""Scores that the table shows for each task."""


def read_task(task, folder, limit=None, limit_eval=None):
    """Returns `(training examples, examples to score, label names or None)`, lists of dicts.

    An example has `texts` and `label`, `words` and `tags`, or the fields that `read_choices` or
    `read_squad` returns. A separate process reads the files, so that TensorFlow doesn't count
    towards the memory of transformers.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        train, test, names = pool.submit(_read, task, Path(folder)).result()
    return _some(train, limit), _some(test, limit_eval), names


def head_kernel(seed, num_inputs, num_outputs):
    """Draws the initial kernel of the new head, `[inputs, outputs]`, with deviation 0.02.

    This library draws its heads from a truncated normal with deviation 0.0176, as Google does.
    With so few steps, the initial kernel alone makes a difference.
    """
    return np.random.default_rng(seed).normal(0.0, 0.02, (num_inputs, num_outputs))


def score(task, examples, predicted):
    """Scores predictions: class numbers, lists of tags, or `(texts, odds)` of answers."""
    if task == "ner":
        scores = keras_bert.metrics.entity_scores(
            [example["tags"] for example in examples], predicted
        )
        return {name: value for name, value in scores.items() if name != "types"}
    if task == "squad1":
        return keras_bert.metrics.squad_scores(examples, predicted[0])
    if task == "squad2":
        scores = keras_bert.metrics.squad_scores(examples, *predicted, null_threshold=0.0)
        always = keras_bert.metrics.squad_scores(examples, predicted[0])
        return {**scores, "answers_f1": always["HasAns_f1"]}  # questions with an answer
    labels = [example["label"] for example in examples]
    if task == "mrpc":
        return keras_bert.metrics.glue_scores(task, labels, predicted)
    return keras_bert.metrics.classification_scores(labels, predicted)


class Progress:
    """Progress of training, printed about every half minute, with the time of each epoch.

    Args:
        epochs: int.
        steps: int, steps per epoch.
    """

    def __init__(self, epochs, steps):
        self.epochs, self.steps = epochs, steps
        self.seconds, self.loss = [], None
        self.started = self.printed = time.perf_counter()

    def step(self, step, loss):
        """Records the end of a step, numbered from 0; `loss()` returns the loss."""
        now = time.perf_counter()
        if now - self.printed > 30:
            self.printed = now
            print(
                f"  epoch {len(self.seconds) + 1}/{self.epochs}, step {step + 1}/{self.steps}, "
                f"{now - self.started:.0f} s, loss {loss():.4f}",
                flush=True,
            )

    def epoch(self, loss):
        """Records the end of an epoch."""
        now = time.perf_counter()
        self.seconds.append(now - self.started)
        self.started = self.printed = now
        self.loss = float(loss)
        print(
            f"  epoch {len(self.seconds)}/{self.epochs}: {self.seconds[-1]:.1f} s, "
            f"loss {self.loss:.4f}",
            flush=True,
        )


def _read(task, folder):
    if task in _TABLES:
        parts = [folder / task / f"{part}.tsv" for part in ("train", "dev", "test")]
        return _read_tables(*map(keras_bert.readers.read_table, parts), *_TABLES[task])
    if task == "mrpc":
        return _read_glue(task, folder / "MRPC")
    if task == "ner":
        parts = ["wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"]
        return _read_names(
            *(keras_bert.readers.read_conll(folder / "ner" / part) for part in parts)
        )
    if task == "choice":
        return _read_choices(keras_bert.readers.read_choices(folder / "choice" / "codah.tsv"))
    squad = folder / "squad"
    if task == "squad1":
        files = ("train-subset-v1.1.json", "dev-v1.1.json")
        return *(list(keras_bert.readers.read_squad(squad / file)) for file in files), None
    examples = list(keras_bert.readers.read_squad(squad / "dev-v2.0-part.json"))
    titles = sorted({example["title"] for example in examples})
    held_out = set(random.Random(_SPLIT).sample(titles, len(titles) // 3))
    train = [example for example in examples if example["title"] not in held_out]
    return train, [example for example in examples if example["title"] in held_out], None


def _read_tables(train, dev, test, columns, label):
    """Joins the development and test sets: nothing is selected on the development set here."""
    names = train.class_names(label)
    parts = []
    for table in (train, dev, test):
        texts = zip(*(table[column] for column in columns), strict=True)
        labels = table.class_numbers(label, names).tolist()
        parts.append(
            [{"texts": t, "label": number} for t, number in zip(texts, labels, strict=True)]
        )
    return parts[0], parts[1] + parts[2], names


def _read_glue(task, folder):
    """Reads the training and development sets."""
    train, dev = (keras_bert.readers.read_glue(folder, task, split) for split in ("train", "dev"))
    parts = [
        [
            {"texts": pair, "label": int(label)}
            for *pair, label in zip(*part.texts, part.labels, strict=True)
        ]
        for part in (train, dev)
    ]
    return *parts, train.label_names


def _read_names(train, dev, test):
    parts = [
        [{"words": w, "tags": t} for w, t in zip(part.words, part.tags, strict=True)]
        for part in (train, dev, test)
    ]
    return parts[0], parts[1] + parts[2], train.tag_names()


def _read_choices(examples):
    random.Random(_SPLIT).shuffle(examples)
    end = len(examples) * 4 // 5
    return examples[:end], examples[end:], None


def _some(examples, limit):
    """Selects `limit` examples, always the same ones, in file order; None selects all."""
    if limit is None or limit >= len(examples):
        return examples
    chosen = random.Random(_SPLIT).sample(range(len(examples)), limit)
    return [examples[index] for index in sorted(chosen)]
