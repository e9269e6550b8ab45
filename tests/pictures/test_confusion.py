"""Confusion matrices."""

import re
import sys

import numpy as np
import pytest

from keras_bert import BertClassifierPreprocessor, plot_confusion

LABELS = ["bad", "good", "good", "so-so", "bad"]
PREDICTIONS = ["bad", "good", "bad", "good", "bad"]
ANSWERS = [{"label": name, "labels": ["bad", "so-so", "good"]} for name in PREDICTIONS]


def words(path):
    """The texts of an SVG, which matplotlib writes as comments before their outlines."""
    return re.findall(r"<!-- (.*?) -->", path.read_text())


def cells(figure):
    """The numbers of the matrix, by row and column."""
    [panel] = figure.axes
    return {text.get_position()[::-1]: text.get_text() for text in panel.texts}


def test_every_example_is_in_the_cell_of_its_two_classes(tmp_path):
    figure = plot_confusion(LABELS, ANSWERS, tmp_path / "confusion.svg")
    counts = [[2, 0, 0], [0, 0, 1], [1, 0, 1]]
    assert cells(figure) == {place: str(n) for place, n in np.ndenumerate(counts)}
    found = words(tmp_path / "confusion.svg")
    assert {"bad", "so-so", "good", "true", "predicted", "3 of 5 right, 60.0%"} <= {*found}
    assert np.allclose(figure.axes[0].images[0].get_array(), [[1, 0, 0], [0, 0, 1], [0.5, 0, 0.5]])


def test_classes_may_be_names_or_numbers():
    expected = cells(plot_confusion(LABELS, ANSWERS))
    numbers = np.array([0, 2, 2, 1, 0])
    assert cells(plot_confusion(numbers, ANSWERS)) == expected
    assert cells(plot_confusion(numbers, [0, 2, 0, 2, 0], None, ["a", "b", "c"])) == expected
    figure = plot_confusion([10, 9, 2], [10, 2, 2])  # sorted as numbers
    assert cells(figure)[1, 0] == "1" and cells(figure)[0, 1] == "0"
    assert cells(plot_confusion([*range(9)], [0] * 9)) == {(i, 0): "1" for i in range(9)}
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["2", "9", "10"]


def test_a_notebook_shows_the_figure_without_a_file():
    figure = plot_confusion([1], [1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_names_are_short_and_no_formulas(tmp_path):
    long = ["pay $5 or $6 " * 9 + "now", "an\nother"]
    plot_confusion([0, 1], [0, 0], tmp_path / "confusion.svg", long)
    found = words(tmp_path / "confusion.svg")
    assert "pay $5 or $6 pay $5 …or $6 now" in found and "an other" in found


def test_what_has_no_confusion_matrix_is_refused(tmp_path):
    path = tmp_path / "none.svg"
    for labels, predictions in (([0, 1], [1]), ([], [])):
        with pytest.raises(ValueError, match=f"{len(labels)} labels and {len(predictions)} pred"):
            plot_confusion(labels, predictions, path)
    with pytest.raises(
        ValueError, match=r"labels\[1\] is 'fine', which is none of the 3 classes: ba"
    ):
        plot_confusion(["bad", "fine"], ANSWERS[:2], path)
    with pytest.raises(ValueError, match=r"predictions\[0\] is 3"):
        plot_confusion([0], [3], path, ["bad", "good"])
    with pytest.raises(ValueError, match="got answers with score. A regression"):
        plot_confusion([0.5], [{"score": 0.5}], path)
    for wrong in ([0.5], [[0, 1]]):
        with pytest.raises(ValueError, match="labels must be .n. names or numbers"):
            plot_confusion(wrong, [1], path)
    assert not path.exists()


def test_fine_tuning_draws_a_classifiers_answers(tmp_path, preprocessor, monkeypatch):
    def draw(y, answers, **settings):
        reader = BertClassifierPreprocessor(preprocessor.tokenizer, 8, **settings)
        reader.draw_answers(tmp_path, answers, None, y)
        path = tmp_path / "confusion.png"
        is_drawn = path.exists()
        path.unlink(missing_ok=True)
        return is_drawn

    names = {"label_names": ["bad", "so-so", "good"]}
    assert draw(LABELS, ANSWERS, **names) and draw(np.eye(3)[[0, 1, 2, 0, 1]], ANSWERS, **names)
    assert not draw([0.5], [{"score": 0.5}], label_names=["score"])
    assert not draw([["bad"]], [{"is_label": [True]}], multi_label=True, **names)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="plots"):
        plot_confusion([0], [0])
