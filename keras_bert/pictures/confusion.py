"""Pictures of which classes a classifier confuses."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.pictures.drawing import new_figure, plain, save_figure

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

_MOST_NUMBERS = 60  # classes with a number in each cell


def plot_confusion(
    labels: "npt.ArrayLike",
    predictions: "npt.ArrayLike | Sequence[Mapping[str, Any]]",
    path: str | os.PathLike | None = None,
    label_names: Sequence[str] | None = None,
) -> "Figure":
    """Draws a confusion matrix: how often each class was predicted as each other.

    A cell holds a number of examples. Its shade is their share of the true class, so that rare
    classes are as visible as frequent ones.

    Args:
        labels: `[n]` true classes, names or numbers.
        predictions: what `BertClassifier.answer` returned for the n examples, which has the names
            of the classes; or `[n]` predicted classes, names or numbers.
        path: the file to write; its ending gives the format, such as `.svg` or `.png`. None writes
            nothing.
        label_names: C strings, the classes in order; by default those of the answers, or the names
            that occur, sorted.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if labels and predictions differ in number, there are none, one is no class, or
            the answers are those of a regression or of a model with several labels for a text.
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_confusion(labels, classifier.answer(texts), "confusion.png")
    ```
    """
    from sklearn.metrics import confusion_matrix

    if len(predictions) and isinstance(predictions[0], Mapping):
        predictions, label_names = _answered(predictions, label_names)
    columns = {
        "labels": _column("labels", labels),
        "predictions": _column("predictions", predictions),
    }
    sizes = [len(column) for column in columns.values()]
    if sizes[0] != sizes[1] or not sizes[0]:
        raise ValueError(
            f"There are {sizes[0]} labels and {sizes[1]} predictions. Give one of each for every "
            "example."
        )
    if label_names is None:
        both = {value for column in columns.values() for value in column}
        label_names = sorted(both, key=lambda value: (isinstance(value, str), value))
        numbers = {value: number for number, value in enumerate(label_names)}
        true, predicted = ([numbers[value] for value in column] for column in columns.values())
    else:
        label_names = [*map(str, label_names)]
        true, predicted = (_numbers(*named, label_names) for named in columns.items())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A single label")  # of one class in all
        counts = confusion_matrix(true, predicted, labels=range(len(label_names)))  # [C, C]
    return save_figure(_drawn(counts, label_names), path)


def _answered(answers, label_names):
    """Returns the predicted names and the names of the classes from answers."""
    first = answers[0]
    if "label" not in first or not isinstance(first["label"], str):
        raise ValueError(
            "plot_confusion takes answers with one class for each text; got answers with "
            f"{', '.join(map(str, first))}. A regression and a model with several labels for a "
            "text have no confusion matrix."
        )
    names = first.get("labels") if label_names is None else label_names
    return [answer["label"] for answer in answers], names


def _column(name, values):
    """Returns classes as a list of str and int."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise ValueError(
            f"{name} must be [n] names or numbers of classes; got an array of {array.dtype} and "
            f"shape {array.shape}."
        )
    column = array.astype("int64").tolist() if array.dtype.kind in "buif" else array.tolist()
    return [value.decode() if isinstance(value, bytes) else value for value in column]


def _numbers(name, column, label_names):
    """Returns the numbers of classes that are given by name or number."""
    places = {name: number for number, name in enumerate(label_names)}
    found = [places.get(value) if isinstance(value, str) else value for value in column]
    for index, number in enumerate(found):
        if number is None or not 0 <= number < len(label_names):
            raise ValueError(
                f"{name}[{index}] is {column[index]!r}, which is none of the {len(label_names)} "
                f"classes: {plain(', '.join(label_names), 200)}."
            )
    return found


def _drawn(counts, label_names):
    size, names = len(label_names), [plain(name) for name in label_names]
    cell = max(0.24, 0.6 - 0.03 * size) if size <= _MOST_NUMBERS else 14 / size
    every = max(1, math.ceil(0.11 / cell))  # names that don't overlap
    margin = 1.1 + 0.07 * max(map(len, names))
    side = cell * size + margin
    figure = new_figure(max(side, 3.6), max(side, 3.2) + 0.2)
    panel = figure.subplots()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    places = range(0, size, every)
    is_wide = 0.08 * max(map(len, names)) > max(cell, 2 / size)
    fontsize = min(9, max(5, 36 * cell))
    panel.set_xticks(places, names[::every], rotation=90 if is_wide else 0)
    panel.set_yticks(places, names[::every])
    panel.tick_params(labelsize=fontsize, length=0)
    panel.set_xlabel("predicted", fontsize=9)
    panel.set_ylabel("true", fontsize=9)
    right, total = np.trace(counts), counts.sum()
    figure.suptitle(f"{right:,} of {total:,} right, {right / total:.1%}", fontsize=10)
    if size <= _MOST_NUMBERS:
        for row, column in np.argwhere(counts if size > 5 else counts >= 0):
            color = "white" if shares[row, column] > 0.6 else "black"
            text = f"{counts[row, column]:,}"
            small = fontsize * min(1, 72 * cell / (0.62 * fontsize * len(text) + 2))
            panel.text(column, row, text, ha="center", va="center", color=color, fontsize=small)
    return figure
