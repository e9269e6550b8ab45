"""Streams of other libraries, which are told by the names of their classes."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from keras_bert import Batching
from keras_bert.data.translators import (
    _TEXTS,
    count_of,
    first_element,
    label_name,
    text_names,
    with_first,
)
from keras_bert.preprocessing.batches import StreamBatches

ROWS = ["a", "b", "c"]
slices = tf.data.Dataset.from_tensor_slices(ROWS)


def made_by(package, **attributes):
    return type("Stream", (), {"__module__": f"{package}.data", **attributes})()


def test_the_first_element_is_read_without_losing_it():
    methods = {"__iter__": lambda self: iter(ROWS), "__next__": None}
    for x, expected in (
        (made_by("torch", dataset=ROWS), "a"),
        (made_by("torch", dataset=object()), ()),
        (made_by("grain", **methods), None),
        (slices, tf.TensorSpec((), tf.string)),
        (StreamBatches(lambda: iter([("b",), ("c",)]), Batching()), "b"),
        (ROWS, None),
    ):
        assert first_element(x) == expected
    x, first = with_first(iter(ROWS))
    assert first == "a" and list(x) == ROWS
    assert with_first(iter([]))[1] == ()


def test_the_texts_of_a_row_are_known_by_the_names_that_the_page_shows():
    page = (Path(__file__).parents[2] / "docs" / "forms.md").read_text(encoding="utf-8")
    shown = [re.findall("`(.+?)`", row) for row in re.findall("^\\| texts: (.*?) \\|", page, re.M)]
    assert [*map(tuple, shown)] == [*_TEXTS]
    for names in _TEXTS:
        assert text_names(dict.fromkeys(["idx", "labels", *names])) == names


def test_a_label_is_rather_that_of_a_class_than_a_score():
    assert label_name({"text": "a", "score": 1, "label": 0}) == "label"


def test_examples_are_counted_where_their_number_is_known():
    loader = {
        "dataset": ROWS,
        "sampler": np.arange(3),
        "batch_sampler": None,
        "batch_size": 2,
    }
    for x, expected in (
        (slices, 3),
        (slices.repeat(), math.inf),
        (slices.filter(lambda text: text != ""), None),
        (made_by("torch", drop_last=False, **loader), 3),
        (made_by("torch", drop_last=True, __len__=lambda self: 1, **loader), 2),
        (made_by("torch", **{**loader, "batch_size": None, "batch_sampler": ROWS}), None),
    ):
        assert count_of(x) == expected
