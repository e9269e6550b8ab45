"""Damaged folders load, or raise a ValueError that names them."""

import json
import random
import shutil
import warnings

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason='pip install ".[dev]"')

from hypothesis import given, settings
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from keras_bert import BertTask
from tests.fuzz.conftest import EXAMPLES
from tests.fuzz.drawn import damaged_bytes, damaged_json, seeds

KINDS = ("float16", "float64", "int64", "int8", "bool", "complex64")
SHAPES = ((), (0,), (1,), (2, 2, 2), (0, 8))
TENSORS = [  # changes of one
    lambda tensor, chance: tensor.astype(chance.choice(KINDS)),
    lambda tensor, chance: np.ascontiguousarray(tensor.T),
    lambda tensor, chance: np.zeros(chance.choice(SHAPES), "float32"),
    lambda tensor, chance: np.full_like(tensor, chance.choice((np.nan, np.inf, 1e30))),
    lambda tensor, chance: tensor[:-1].copy(),
]


def damaged_tensors(path, chance):
    """Writes a file of which a tensor is changed, removed or renamed."""
    tensors = load_file(path)
    name = chance.choice(sorted(tensors))
    tensor = tensors.pop(name)
    if chance.random() < 0.2:
        tensors[chance.choice(("x", "cls.predictions.bias", "classifier.weight"))] = tensor
    elif chance.random() < 0.8:
        tensors[name] = chance.choice(TENSORS)(tensor, chance)
    save_file(tensors, path, metadata={"format": "pt"})


def damage(folder, chance):
    """Damages a file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    if chance.random() < 0.75:
        path = chance.choice([path for path in files if path.suffix == ".json"])
    try:
        if path.suffix == ".json" and chance.random() < 0.9:
            path.write_text(damaged_json(json.loads(path.read_text()), chance))
        elif path.suffix == ".safetensors" and chance.random() < 0.5:
            damaged_tensors(path, chance)
        elif chance.random() < 0.2:
            path.unlink()
        else:
            path.write_bytes(damaged_bytes(path.read_bytes(), chance))
    except (ValueError, RecursionError, SafetensorError):  # of a file that was damaged before
        path.write_bytes(b"")


def test_the_folders_load(folders, use_folder):
    assert folders and all(isinstance(use_folder(folder), BertTask) for folder in folders)


@settings(max_examples=max(EXAMPLES, 60))
@given(seed=seeds)
def test_damaged_folders_raise_value_errors(folders, use_folder, tmp_path_factory, seed):
    chance = random.Random(seed)
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(chance.choice(folders), folder)
    for _ in range(chance.choice((1, 1, 1, 2))):
        damage(folder, chance)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use_folder(folder, whole=chance.random() < 0.3)
    except ValueError as error:
        assert str(folder) in str(error)
