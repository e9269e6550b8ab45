"""Functions of tensors are traced once, and results are those of the ops run one by one."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import tensorflow as tf

from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.preprocessing.in_graph import in_graph

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]


@dataclasses.dataclass
class Pair:
    preprocessor: BertPreprocessor
    ragged: tf.RaggedTensor
    extra: dict
    missing: None = None


@pytest.fixture
def preprocessor():
    return BertPreprocessor(BertTokenizer(WORDS), sequence_length=8)


@pytest.fixture
def doubled():
    """A function in a graph, and the list of its traces."""
    traces = []

    @in_graph
    def double(pair, factor=2, *, names=()):
        traces.append(names)
        extra = {name: value * factor for name, value in pair.extra.items()}
        ragged = pair.ragged * pair.preprocessor.sequence_length
        return dataclasses.replace(pair, ragged=ragged, extra=extra), names

    return double, traces


def make(preprocessor, rows):
    extra = {"number": np.arange(rows), "width": tf.ones([rows, 2])}
    return Pair(preprocessor, tf.ragged.constant([[1, 2], [3]] * rows), extra)


def test_structures_go_in_and_come_out_and_any_number_of_rows_is_one_trace(preprocessor, doubled):
    double, traces = doubled
    for rows in (1, 3, 2):
        found, names = double(make(preprocessor, rows), names=("x", "y"))
        assert found.ragged.to_list() == [[8, 16], [24]] * rows
        assert found.extra["number"].numpy().tolist() == [2 * i for i in range(rows)]
        assert found.extra["width"].shape == (rows, 2)
        assert (found.preprocessor, found.missing, names) == (preprocessor, None, ("x", "y"))
    assert traces == [("x", "y")]
    double(make(preprocessor, 1), 3)  # another constant
    assert traces == [("x", "y"), ()]


def test_a_changed_setting_and_a_copy_have_graphs_of_their_own(preprocessor, doubled):
    double, traces = doubled
    double(make(preprocessor, 1))
    for other in (copy.copy(preprocessor), copy.deepcopy(preprocessor)):
        assert preprocessor.graphs and not other.graphs
    assert not pickle.loads(pickle.dumps(preprocessor)).graphs
    preprocessor.sequence_length = 5
    assert double(make(preprocessor, 1))[0].ragged.to_list() == [[5, 10], [15]]
    assert len(traces) == 2


def test_within_another_graph_the_function_is_part_of_it(preprocessor, doubled):
    double, traces = doubled
    numbers = tf.data.Dataset.range(2)
    found = numbers.map(lambda i: double(Pair(preprocessor, tf.ragged.range([i]), {}))[0].ragged)
    assert [row.to_list() for row in found] == [[[]], [[0]]]
    assert not preprocessor.graphs
