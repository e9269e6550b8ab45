import numpy as np
import tensorflow as tf

from keras_bert.graph.datasets import as_dataset
from keras_bert.preprocessing.batches import row_batches
from keras_bert.preprocessing.batching import Batching


def rows_of(dataset):
    return [row for batch in dataset.as_numpy_iterator() for row in batch[:, 0].tolist()]


def test_passes_that_nobody_ends_dont_disturb_others():
    rows = np.arange(100)[:, None]
    batches = row_batches(np.zeros(100), lambda numbers: (rows[numbers],), Batching(1))
    dataset = as_dataset(batches)
    assert int(dataset.cardinality()) == 100
    for _ in range(4):
        begun = dataset.as_numpy_iterator()
        first = next(begun)
        assert rows_of(dataset) == [*range(100)]
        assert [first, *begun] == [*range(100)]


def test_batches_leave_the_allocator_of_the_process_alone():
    """As TensorFlow's own dataset of a generator doesn't: steps get their memory anew from then."""
    batches = row_batches(np.zeros(2), lambda numbers: (numbers[:, None],), Batching(1))
    graph = tf.raw_ops.DatasetToGraphV2(
        input_dataset=as_dataset(batches)._variant_tensor, external_state_policy=1
    )
    assert b"FlatMapDataset" in graph.numpy()
    assert b"GeneratorDataset" not in graph.numpy()
