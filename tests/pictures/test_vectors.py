"""Vectors as points."""

import re

import numpy as np

from keras_bert.pictures import plot_vectors


def test_points_have_the_variances_of_the_principal_components(tmp_path):
    vectors = np.zeros((4, 5))
    vectors[:, 2], vectors[:, 4] = [3, 3, -3, -3], [1, -1, 1, -1]
    figure = plot_vectors(vectors, ["$x$", "$x$", "y", "y"], tmp_path / "vectors.svg")
    assert figure.axes[0].get_legend_handles_labels()[1] == [r"\$x\$", "y"]
    points = [np.array(dots.get_offsets()) for dots in figure.axes[0].collections]
    assert np.allclose(np.abs(points), [[[3, 1], [3, 1]]] * 2)
    assert (points[0][:, 0] * points[1][:, 0] < 0).all()
    found = re.findall(r"<!-- (.*?) -->", (tmp_path / "vectors.svg").read_text())
    assert {"$x$", "y", "90% of the variance", "10% of the variance"} <= {*found}


def test_many_classes_have_colors_of_their_own():
    figure = plot_vectors(np.random.default_rng(1).normal(size=(60, 8)), range(60))
    assert len({tuple(dots.get_facecolor()[0]) for dots in figure.axes[0].collections}) == 60


def test_other_numbers_of_labels_are_refused(refused):
    refused("12 vectors but 11 labels", plot_vectors, np.eye(12), ["a"] * 11)
