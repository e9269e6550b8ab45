"""Vectors as points."""

import re

import numpy as np

from keras_bert.pictures import plot_vectors


def test_points_have_the_variances_of_the_principal_components(tmp_path):
    vectors = np.zeros((4, 5))
    vectors[:, 2], vectors[:, 4] = [3, 3, -3, -3], [1, -1, 1, -1]
    texts = ["pay $5\n", "b", "c", "d"]
    figure = plot_vectors(vectors, ["$x$", "$x$", "y", "y"], texts, tmp_path / "vectors.svg")
    assert figure.axes[0].get_legend_handles_labels()[1] == [r"\$x\$", "y"]
    points = [np.array(dots.get_offsets()) for dots in figure.axes[0].collections]
    assert np.allclose(np.abs(points), [[[3, 1], [3, 1]]] * 2)
    assert (points[0][:, 0] * points[1][:, 0] < 0).all()
    found = re.findall(r"<!-- (.*?) -->", (tmp_path / "vectors.svg").read_text())
    assert {"$x$", "y", "pay $5", "90% of the variance", "10% of the variance"} <= {*found}


def test_texts_cover_neither_points_nor_each_other():
    vectors = np.zeros((6, 2))
    vectors[:, 0], vectors[:, 1] = [0, 0, 0, 0.1, 9, 9], [0, 0.1, 0.2, 0, 0, 9]
    panel = plot_vectors(vectors, texts=["a long text at a point"] * 6).axes[0]
    boxes = [label.get_window_extent() for label in panel.texts]
    assert 3 <= len(boxes) < 6
    assert all(box.count_overlaps(boxes) == 1 for box in boxes)
    points = panel.transData.transform(panel.collections[0].get_offsets())
    assert not any(box.count_contains(points) for box in boxes)


def test_many_classes_have_colors_of_their_own():
    figure = plot_vectors(np.random.default_rng(1).normal(size=(60, 8)), range(60))
    assert len({tuple(dots.get_facecolor()[0]) for dots in figure.axes[0].collections}) == 60


def test_other_numbers_of_texts_are_refused(refused):
    refused("12 vectors but 11 texts", plot_vectors, np.eye(12), texts=["a"] * 11)
