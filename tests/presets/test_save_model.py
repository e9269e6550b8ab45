"""A folder is always one of the whole models, whoever writes or reads it, at whatever limit."""

import itertools
import shutil

import numpy as np
import pytest

from keras_bert import BertBackbone, BertClassifier, BertTask, TrainingCheckpoint
from keras_bert.files import given
from keras_bert.presets import preset
from keras_bert.presets.formats import tensor_files


def filled(value):
    """A model whose weights all have one value."""
    backbone = BertBackbone(30, 2, 2, hidden_dim=8, intermediate_dim=12, max_sequence_length=16)
    model = BertClassifier(backbone, num_classes=2)
    for weight in model.weights:
        weight.assign(np.full(weight.shape, value))
    return model


@pytest.mark.parametrize(("when", "value"), [("opened", 2), ("gone", 2), ("loaded", 1)])
def test_a_folder_that_is_replaced_while_it_is_read_is_one_of_two(
    tmp_path, monkeypatch, when, value
):
    filled(1).save_to_hugging_face(tmp_path / "model")
    filled(2).save_to_hugging_face(tmp_path / "other")
    module, name = (preset, "load_checkpoint") if when == "loaded" else (tensor_files, "safe_open")
    real, calls = getattr(module, name), []

    def meets_a_writer(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            shutil.rmtree(tmp_path / "model")
            (tmp_path / "other").rename(tmp_path / "model")
            if when == "gone":
                raise OSError("the file is gone")
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, meets_a_writer)
    model = BertTask.from_preset(tmp_path / "model")
    assert all((weight == value).all() for weight in model.get_weights())
    assert len(calls) == (1 if when == "loaded" else 2)


def save_checkpoint(model, folder):
    """Trains a step after the last one; files are written in the background."""
    model.compile("sgd", run_eagerly=True)
    checkpoint = TrainingCheckpoint(folder)
    checkpoint.restore(model)
    x = {"token_ids": np.ones((1, 4), "int32")}
    model.fit(x, np.zeros(1), verbose=0, callbacks=[checkpoint])


WRITERS = [
    BertClassifier.save_to_preset,
    BertClassifier.save_to_hugging_face,
    save_checkpoint,
]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_at_any_limit_what_was_there_stays(tmp_path, file_limit):
    for write in WRITERS:
        folder = tmp_path / write.__name__
        write(filled(1), folder / "model")
        before = contents(folder)
        largest = max(map(len, before.values()))
        model = filled(2)
        for limit in (1, largest // 9, largest // 2, largest * 7 // 8, largest - 1):
            full = pytest.raises(OSError, match=f"The disk was full while .*{folder}.* written")
            with file_limit(limit), full:
                write(model, folder / "model")
            assert contents(folder) == before
        with file_limit(2 * largest + 2**19):
            write(model, folder / "model")
        assert contents(folder) != before


def test_a_folder_that_never_stays_is_an_error(tmp_path, monkeypatch):
    filled(1).save_to_preset(tmp_path / "model")
    versions = itertools.count()
    monkeypatch.setattr(given, "_version", lambda folder: next(versions))
    with pytest.raises(OSError, match="model is replaced faster than it can be read"):
        BertTask.from_preset(tmp_path / "model")
