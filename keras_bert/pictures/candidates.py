"""Candidates for masked words over the steps of pre-training."""

import os
import re
from typing import TYPE_CHECKING

import numpy as np

from keras_bert.files.remote import names_in
from keras_bert.messages import check_int
from keras_bert.pictures.drawing import new_figure, plain, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_TOKENS = 12  # of a panel
_MOST_NUMBERS = 16  # steps with a number in each cell


def read_candidates(
    folder: str | os.PathLike, text: str, top_k: int = 5
) -> list[dict[str, int | float | str]]:
    """Fills the [MASK]s of a text with each preset that pre-training kept.

    Args:
        folder: the output folder of `pretrain_tpu.py --preset_every`, with `preset_10000`,
            `preset_20000` and so on.
        text: str with at least one "[MASK]".
        top_k: int; the `top_k` best tokens of any step are candidates at all steps.

    Returns:
        A list of dicts of `step`; `place`, the number of the [MASK], from 0; `token`; and `score`,
        its probability. The first step comes first, and of a step the best token.

    Raises:
        ValueError: if the folder has no such presets, or the text has no [MASK].

    Example:
    ```python
    for candidate in read_candidates("bert", "Paris is the capital of [MASK]."):
        print(candidate["step"], candidate["token"], f"{candidate['score']:.1%}")
    ```
    """
    import keras_bert  # by its public name, because this room is below models/

    if not isinstance(text, str):
        raise ValueError(f"Candidates are those of one text, a str; got {type(text).__name__}.")
    check_int("top_k", top_k)
    folder = os.fspath(folder)
    found = (re.fullmatch(r"preset_(\d+)", name) for name in names_in(folder))
    presets = sorted((int(match[1]), f"{folder}/{match[0]}") for match in found if match)
    if not presets:
        raise ValueError(
            f"{folder} has no presets of earlier steps, such as preset_10000. Pre-train with "
            "--preset_every, and give the --output of that run."
        )
    answers, model = {}, None
    for step, path in presets:
        model = _with_weights(model, keras_bert.BertPretrainer.from_preset(path))
        size = 1 if model.preprocessor is None else model.preprocessor.tokenizer.vocabulary_size()
        for place, words in enumerate(model.fill_mask(text, top_k=size)):
            answers[step, place] = words
    best = {}  # of each place
    for (_, place), words in answers.items():
        best.setdefault(place, set()).update(word["token"] for word in words[:top_k])
    return [
        {"step": step, "place": place, **word}
        for (step, place), words in answers.items()
        for word in words
        if word["token"] in best[place]
    ]


def _with_weights(model, other):
    """Gives a model the weights of another, if they fit: Keras traces `predict` for each model."""
    if model is None or model.get_config() != other.get_config():
        return other
    model.set_weights(other.get_weights())
    return model


def plot_candidates(
    folder: str | os.PathLike, text: str, path: str | os.PathLike | None = None, top_k: int = 5
) -> "Figure":
    """Draws how probable the candidates for each [MASK] of a text are over pre-training.

    A row is a token, a column a step, a number its probability in percent. The best token of the
    last step is on top. Of more than 12 candidates, those with the highest probabilities are shown.

    Args:
        folder: the output folder of `pretrain_tpu.py --preset_every`; see `read_candidates`.
        text: str with at least one "[MASK]".
        path: the file to write; its ending gives the format, such as `.svg` or `.png`. None writes
            nothing.
        top_k: int; the `top_k` best tokens of any step are candidates.

    Returns:
        A `matplotlib.figure.Figure`, which a notebook shows.

    Raises:
        ValueError: if the folder has no such presets, or the text has no [MASK].
        ImportError: if matplotlib isn't installed.

    Example:
    ```python
    plot_candidates("bert", "Paris is the capital of [MASK].", "candidates.png")
    ```
    """
    figure = new_figure(1, 1)  # raises before presets load
    _draw(figure, read_candidates(folder, text, top_k), text)
    return save_figure(figure, path)


def _draw(figure, candidates, text):
    from matplotlib.colors import PowerNorm

    steps = sorted({candidate["step"] for candidate in candidates})
    tables = [
        _table(candidates, place, steps) for place in sorted({c["place"] for c in candidates})
    ]
    cell = min(0.5, max(0.25, 6 / len(steps))) if len(steps) <= 60 else 15 / len(steps)
    rows = [len(tokens) for tokens, _ in tables]
    width, height = max(4.0, 1.9 + cell * len(steps)), 1.1 + sum(0.26 * n + 0.35 for n in rows)
    figure.set_size_inches(width, height)
    figure.suptitle(plain(text, int(11 * width)), fontsize=10)
    panels = figure.subplots(len(tables), 1, squeeze=False, height_ratios=rows)[:, 0]
    highest = max(scores.max() for _, scores in tables)
    shades = PowerNorm(0.5, 0, highest)  # early in training all probabilities are low
    for number, (panel, (tokens, scores)) in enumerate(zip(panels, tables, strict=True), 1):
        image = panel.imshow(scores, aspect="auto", cmap="Blues", norm=shades)
        panel.set_yticks(range(len(tokens)), [plain(token, 20) for token in tokens])
        panel.set_xticks([])
        panel.tick_params(labelsize=8, length=0)
        if len(tables) > 1:
            panel.set_title(f"[MASK] {number}", fontsize=9)
        if len(steps) <= _MOST_NUMBERS:
            _write_numbers(panel, scores, shades)
        else:
            bar = figure.colorbar(image, ax=panel, format=_percent, pad=0.02, fraction=0.03)
            bar.ax.tick_params(labelsize=8)
    every = max(1, round(0.2 / cell))
    names = [f"{step:,}" for step in steps[::every]]
    panels[-1].set_xticks(range(0, len(steps), every), names, rotation=90 if len(steps) > 6 else 0)
    panels[-1].set_xlabel("steps; probabilities in %", fontsize=8)


def _percent(score, place=None):
    return f"{score:.0%}"


def _table(candidates, place, steps):
    """Returns the tokens of a [MASK], the last step's best first, and their scores by step."""
    columns = {step: number for number, step in enumerate(steps)}
    scores = {}
    for candidate in candidates:
        if candidate["place"] == place:
            row = scores.setdefault(candidate["token"], np.zeros(len(steps)))
            row[columns[candidate["step"]]] = candidate["score"]
    tokens = sorted(scores, key=lambda token: -scores[token].max())[:_MOST_TOKENS]
    tokens.sort(key=lambda token: -scores[token][-1])
    return tokens, np.stack([scores[token] for token in tokens])


def _write_numbers(panel, scores, shades):
    for (row, column), score in np.ndenumerate(scores):
        percent = 100 * score
        number = f"{percent:.0f}" if percent >= 9.5 else f"{percent:.1f}"
        color = "white" if shades(score) > 0.6 else "black"
        place = {"ha": "center", "va": "center"}
        panel.text(column, row, number, color=color, fontsize=7, **place)
