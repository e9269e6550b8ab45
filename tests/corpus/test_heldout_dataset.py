import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import keras_bert

SETTINGS = {"batch_size": 8, "sequence_length": 32, "seed": 3}


def arrays(data):
    return [
        np.concatenate([a.ravel() for a in tf.nest.flatten(b)]) for b in data.as_numpy_iterator()
    ]


def test_every_evaluation_sees_the_same_whole_executions(corpus):
    whole = [*keras_bert.pretraining_dataset(corpus, epochs=1, **SETTINGS).as_numpy_iterator()]
    data = keras_bert.heldout_dataset(corpus, corpus, multiple_of=4, **SETTINGS)
    first, second = arrays(data), arrays(data)
    assert len(data) == len(first) == len(whole) - len(whole) % 4 > 0
    assert all(map(np.array_equal, first, second))
    np.testing.assert_array_equal(
        tf.nest.flatten(whole[0])[0], tf.nest.flatten(next(iter(data)))[0]
    )


def test_too_few_held_out_batches_are_refused(corpus):
    with pytest.raises(ValueError, match="fewer than 100000 batches of 8 rows"):
        keras_bert.heldout_dataset(corpus, corpus, multiple_of=100_000, **SETTINGS)


def test_a_held_out_corpus_of_another_vocabulary_or_casing_is_refused(
    corpus, documents_of, tmp_path
):
    other = documents_of(num_documents=4).write(tmp_path / "other")
    with pytest.raises(ValueError, match="other has a different vocabulary"):
        keras_bert.heldout_dataset(other, corpus, **SETTINGS)
    cased = shutil.copytree(corpus.folder, tmp_path / "cased") / "corpus.json"
    cased.write_text(json.dumps({**json.loads(cased.read_text()), "lowercase": False}))
    with pytest.raises(ValueError, match="or casing .*lowercase=True"):
        keras_bert.heldout_dataset(cased.parent, corpus, **SETTINGS)
