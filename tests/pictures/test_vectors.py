"""Vectors as points, and in TensorBoard's projector."""

import json
import re

import numpy as np
import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin
from werkzeug.test import Client

from keras_bert import plot_vectors, save_projector

VECTORS = np.random.default_rng(1).normal(size=(12, 8)).astype("float32")
TEXTS = [f"text {i}" for i in range(12)]
LABELS = ["good", "bad", "so-so"] * 4


@pytest.fixture
def served(tmp_path):
    """What the projector's plugin serves of a folder: its config, vectors and lines."""

    def serve(folder):
        provider = MultiplexerDataProvider(EventMultiplexer(), str(folder))
        context = TBContext(logdir=str(folder), data_provider=provider)
        apps = ProjectorPlugin(context).get_plugin_apps()
        assert Client(apps["/runs"]).get("/").json == ["."]
        [found] = json.loads(Client(apps["/info"]).get("/?run=.").data)["embeddings"]
        place = f"/?run=.&name={found['tensorName']}&num_rows=100000"
        vectors = np.frombuffer(Client(apps["/tensor"]).get(place).data, "float32")
        lines = Client(apps["/metadata"]).get(place)
        shape = [*map(int, found["tensorShape"])]
        return vectors.reshape(shape), lines.text.split("\n")[
            :-1
        ] if lines.status_code == 200 else None

    return serve


def words(path):
    return re.findall(r"<!-- (.*?) -->", path.read_text())


@pytest.mark.parametrize("texts", [None, TEXTS])
@pytest.mark.parametrize("labels", [None, LABELS])
def test_the_projector_reads_the_vectors(served, tmp_path, texts, labels):
    save_projector(tmp_path, VECTORS, texts, labels)
    vectors, lines = served(tmp_path)
    assert np.array_equal(vectors, VECTORS)
    if texts is None and labels is None:
        assert lines is None
    elif texts is None or labels is None:
        assert lines == (texts or labels)
    else:
        rows = (f"{text}\t{label}" for text, label in zip(texts, labels, strict=True))
        assert lines == ["text\tlabel", *rows]


def test_every_text_is_a_line_that_the_projector_keeps(served, tmp_path):
    texts = ["a\tb\r\nc", "", "\ufeff\u2028 \x0b", "d\x85e\ud800", 7, b"\xff\n."]
    save_projector(tmp_path, VECTORS[:6] * 0, texts)
    vectors, lines = served(tmp_path)
    assert not vectors.any() and vectors.shape == (6, 8)
    assert lines == ["a b c", "(empty)", "(empty)", "d e?", "7", "\N{REPLACEMENT CHARACTER} ."]


def test_points_have_the_variances_of_the_principal_components(tmp_path):
    vectors = np.zeros((4, 5))
    vectors[:, 2], vectors[:, 4] = [3, 3, -3, -3], [1, -1, 1, -1]
    figure = plot_vectors(vectors, ["a", "a", "b", "b"], path=tmp_path / "vectors.svg")
    points = [np.array(dots.get_offsets()) for dots in figure.axes[0].collections]
    assert np.allclose(np.abs(points), [[[3, 1], [3, 1]]] * 2)
    assert (points[0][:, 0] * points[1][:, 0] < 0).all()
    found = words(tmp_path / "vectors.svg")
    assert {"a", "b", "90% of the variance", "10% of the variance"} <= {*found}


def test_classes_are_sorted_and_texts_are_written_where_there_is_room(tmp_path):
    plot_vectors(VECTORS, [10, 9, 2] * 4, ["pay $5\n", *TEXTS[1:]], tmp_path / "some.svg")
    found = words(tmp_path / "some.svg")
    assert [word for word in found if word in ("2", "9", "10")][-3:] == ["2", "9", "10"]
    assert "pay $5" in found
    same = np.repeat(VECTORS[:2], 6, axis=0)
    plot_vectors(same, None, TEXTS, tmp_path / "same.svg")
    assert [word for word in words(tmp_path / "same.svg") if word in TEXTS] == ["text 0", "text 6"]
    plot_vectors(VECTORS[:2] * 0, path=tmp_path / "equal.png")
    assert (tmp_path / "equal.png").exists()
    many = [f"class {i}" for i in range(60)]
    plot_vectors(np.tile(VECTORS, (5, 1)), many, path=tmp_path / "many.svg")
    assert "40 of 60 classes" in words(tmp_path / "many.svg")


@pytest.mark.parametrize("write", [save_projector, lambda path, *rest: plot_vectors(*rest)])
def test_other_vectors_and_other_numbers_of_texts_are_refused(write, tmp_path):
    path = tmp_path / "none"
    for wrong in (VECTORS[None], VECTORS[0], VECTORS[:0], VECTORS[:, :1], [["a", "b"]] * 2):
        with pytest.raises(ValueError, match=r"Vectors must be \[n, H\] numbers, n at least"):
            write(path, wrong)
    with pytest.raises(ValueError, match="Vectors must be finite.* row 3 "):
        write(path, np.where(np.arange(12)[:, None] == 3, np.nan, VECTORS))
    with pytest.raises(ValueError, match="12 vectors but 11 "):
        write(path, VECTORS, TEXTS[:-1])
    with pytest.raises(ValueError, match="12 vectors but a single value as"):
        write(path, VECTORS, "abcdefghijkl")
    assert not path.exists()
