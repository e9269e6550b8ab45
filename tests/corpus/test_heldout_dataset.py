import json
import shutil

import pytest

import keras_bert

SETTINGS = {"batch_size": 8, "sequence_length": 64}


def test_every_evaluation_sees_the_same_whole_executions(corpus, one_epoch, equal):
    data = keras_bert.heldout_dataset(corpus, corpus, multiple_of=4, **SETTINGS)
    whole = one_epoch[: len(one_epoch) - len(one_epoch) % 4]
    assert len(data) == len(whole) < len(one_epoch)
    for _ in range(2):
        assert equal([*data.as_numpy_iterator()], whole)


def test_too_few_held_out_batches_are_refused(corpus):
    with pytest.raises(ValueError, match="fewer than 100000 batches of 8 rows"):
        keras_bert.heldout_dataset(corpus, corpus, multiple_of=100_000, **SETTINGS)


def test_another_vocabulary_or_casing_is_refused(corpus, documents_of, tmp_path):
    other = documents_of(num_documents=4).write(tmp_path / "other")
    with pytest.raises(ValueError, match="other has a different vocabulary"):
        keras_bert.heldout_dataset(other, corpus, **SETTINGS)
    cased = shutil.copytree(corpus.folder, tmp_path / "cased") / "corpus.json"
    cased.write_text(json.dumps({**json.loads(cased.read_text()), "lowercase": False}))
    with pytest.raises(ValueError, match="or casing .*lowercase=True"):
        keras_bert.heldout_dataset(cased.parent, corpus, **SETTINGS)
