"""Damaged folders load, or raise a ValueError that names them."""

import json
import random
import shutil
import warnings

from hypothesis import given, settings

from keras_bert import BertTask
from tests.fuzz.conftest import EXAMPLES
from tests.fuzz.drawn import damaged_bytes, damaged_json, seeds


def damage(folder, chance):
    """Damages a file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = chance.choice(files)
    if chance.random() < 0.75:
        path = chance.choice([path for path in files if path.suffix == ".json"])
    try:
        if path.suffix == ".json" and chance.random() < 0.9:
            path.write_text(damaged_json(json.loads(path.read_text()), chance))
        elif chance.random() < 0.2:
            path.unlink()
        else:
            path.write_bytes(damaged_bytes(path.read_bytes(), chance))
    except (ValueError, RecursionError):  # of a file that was damaged before
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
