"""The base of what scores, tunes and writes a task's answers."""

import json
import os
from pathlib import Path
from typing import Any, ClassVar

from keras_bert.files.whole import whole_file
from keras_bert.preprocessing.forms import Examples, Labels


class Scorer:
    """Scores answers, and writes them to files; `BertTask.scorer` makes one.

    A task with a metric of its own names a subclass as its `scorer_class` and overrides `score`.

    Args:
        preprocessor: the task's preprocessor, which made the answers.
    """

    names: tuple[str, ...] = ()
    """The floats of `score` that can select an epoch, the main one first."""

    answer_options: ClassVar[dict[str, Any]] = {}
    """The options of `answer` that `score`, `tuned` and `write` need."""

    needs = "labels: give y, or examples that hold their labels"
    """The labels that `score` needs, as a message names them."""

    reads_examples = False
    """Whether `score` needs the raw examples, and not only their labels."""

    def __init__(self, preprocessor: Any):
        self.preprocessor = preprocessor

    def names_for(self, x: Examples, y: Labels | None = None) -> tuple[str, ...]:
        """Returns the names of the scores of these examples, the main one first."""
        return self.names

    def has_labels(self, x: Examples, y: Labels | None = None) -> bool:
        """Returns whether examples have labels, in `y` or in `x`."""
        return y is not None

    def check(self, x: Examples, y: Labels | None = None) -> None:
        """Raises a ValueError, before any work, if these examples can't be scored."""
        if self.names_for(x, y) and not self.has_labels(x, y):
            raise ValueError(f"scores needs {self.needs}.")

    def score(self, answers: list[dict], x: Examples, y: Labels | None = None) -> dict:
        """Computes the task's official metrics.

        Args:
            answers: the result of `answer`, in the order of the examples.
            x: the examples.
            y: their labels, unless `x` contains them.

        Returns:
            A dict of floats.

        Raises:
            ValueError: if labels are missing, or the task has no official metrics.
        """
        raise ValueError(
            f"A {type(self.preprocessor).__name__} has no official scores. Use evaluate."
        )

    def tuned(self, answers: list[dict], x: Examples, y: Labels | None = None) -> tuple[Any, dict]:
        """Tunes settings of answers, such as a threshold, on a development set.

        Takes what `score` takes; returns the tuned preprocessor and the scores of its answers.
        """
        return self.preprocessor, self.score(answers, x, y)

    def write(
        self,
        folder: str | os.PathLike,
        split: str,
        answers: list[dict],
        x: Examples,
        y: Labels | None = None,
    ) -> None:
        """Writes answers to a folder, as their `table` or as lines of JSON.

        The files are `{split}_predictions.tsv`, whose floats have six digits, and
        `{split}_answers.jsonl`.
        """
        table = self.table(answers)
        if table is None:
            with whole_file(Path(folder) / f"{split}_answers.jsonl") as file:
                for answer in answers:
                    print(json.dumps(answer, default=lambda array: array.tolist()), file=file)
            return
        header, rows = table
        with whole_file(Path(folder) / f"{split}_predictions.tsv") as file:
            print("index", *header, sep="\t", file=file)
            for index, row in enumerate(rows):
                print(index, *map(_cell, row), sep="\t", file=file)

    def table(self, answers: list[dict]) -> tuple[list[str], list[list]] | None:
        """Returns the header and the rows of a table of answers; None if they have another form."""
        return None


def _cell(value):
    return value if isinstance(value, (str, int)) else f"{value:.6g}"
