import numpy as np
import tensorflow as tf

from keras_bert import Batching
from keras_bert.preprocessing.batches import prepared_batches
from keras_bert.preprocessing.text_streams import labels_of

X = {"token_ids": np.arange(10).reshape(5, 2)}
Y, WEIGHTS = np.arange(5), np.arange(5.0)


def test_inputs_in_memory_become_batches():
    data = prepared_batches(X, Y, WEIGHTS, Batching(2))
    parts = list(data)
    assert [len(y) for _, y, _ in parts] == [2, 2, 1]
    assert np.array_equal(np.concatenate([x["token_ids"] for x, _, _ in parts]), X["token_ids"])
    assert isinstance(prepared_batches(X, None, None, Batching())[0], dict)
    dropped = prepared_batches(X, Y, None, Batching(2, drop_remainder=True))
    assert [len(y) for _, y in dropped] == [2, 2]


def test_an_epoch_is_shuffled_by_its_seed_and_rows_stay_together():
    def epoch(seed):
        [(x, y)] = prepared_batches(X, Y, None, Batching(5, shuffle=True, seed=seed))
        assert np.array_equal(x["token_ids"], X["token_ids"][y])
        return y.tolist()

    assert epoch(1) == epoch(1) and len({tuple(epoch(seed)) for seed in range(5)}) > 1


def test_a_dataset_stays_as_it_is_and_is_read_with_its_labels():
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    assert prepared_batches(dataset, None, None, Batching(3)) is dataset
    x, y = labels_of(dataset)
    assert np.array_equal(x["token_ids"], X["token_ids"]) and y.tolist() == Y.tolist()
    texts, y = labels_of(tf.data.Dataset.from_tensor_slices((["a", "b"], [1, 0])))
    assert texts.tolist() == [b"a", b"b"] and y.tolist() == [1, 0]
