"""Damaged folders load, or raise a ValueError that names them."""

import contextlib
import faulthandler
import json
import os
import random
import shutil
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from keras_bert import BertTask

HUGE = (10**9, 10**18, 10**30, 1e308, 2**31, 2**63)
WRONG = (None, True, False, 0, -1, 1, 2, 3, 0.5, 1.5, float("nan"), float("inf"), "", "x", "1")
WRONG += ("\ud800", "a\nb", "..", "/etc/passwd", "../../x", [], {}, [[]], [None], {"": None})
WRONG += ([1, "x"], {"content": 1}, {"type": "x"}, "gelu")
WRONG += ("keras_bert>sizes", "keras_bert>finetune")


def mutate(folder: Path, seed: int) -> None:
    """Damages one or two files of a folder, in a way that the seed repeats."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 1, 2))):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        texts = [path for path in files if path.suffix == ".json"]
        if files:
            _mutate_file(
                chance.choice(texts if texts and chance.random() < 0.75 else files), chance
            )


def _mutate_file(path, chance):
    mutate = {".json": _mutate_json, ".safetensors": _mutate_tensors}.get(path.suffix)
    if mutate is None or chance.random() < (0.1 if path.suffix == ".json" else 0.5):
        mutate = _mutate_bytes
    with contextlib.suppress(LookupError, ValueError, RecursionError, SafetensorError, OSError):
        mutate(path, chance)  # of a file that was damaged before there is an error


def _mutate_json(path, chance):
    content = json.loads(path.read_text("utf-8"))
    if chance.random() < 0.04:
        depth = chance.choice((50, 900, 100_000))
        path.write_text('{"a": ' * depth + "1" + "}" * depth)
        return
    places = list(_places(content))
    if not places or chance.random() < 0.03:
        path.write_text(json.dumps(chance.choice(WRONG)))
        return
    holder, key = chance.choice(places)
    old, how = holder[key], chance.randrange(8)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = chance.choice(HUGE)
    elif how == 2:
        holder[key] = [old] if chance.random() < 0.5 else {"x": old}
    elif how == 3:
        for _ in range(chance.choice((20, 200, 700))):
            old = [old]
        holder[key] = old
    elif how == 4 and isinstance(old, (int, float)):
        holder[key] = -old if chance.random() < 0.3 else old * chance.choice((2, 1000, 0.5))
    elif how == 5 and isinstance(holder, dict):
        holder[chance.choice(("x", "0", "999999999", "", "vocab_size"))] = holder.pop(key)
    else:
        holder[key] = chance.choice(WRONG)
    path.write_text(json.dumps(content))


def _places(content):
    if isinstance(content, (dict, list)):
        keys = range(len(content)) if isinstance(content, list) else content
        for key in keys:
            yield content, key
            yield from _places(content[key])


def _mutate_tensors(path, chance):
    tensors = load_file(path)
    name = chance.choice(sorted(tensors))
    tensor, how = tensors[name], chance.randrange(7)
    if how == 0:
        del tensors[name]
    elif how == 1:
        kinds = ("float16", "float64", "int64", "int8", "bool", "complex64")
        tensors[name] = tensor.astype(chance.choice(kinds))
    elif how == 2:
        tensors[name] = np.ascontiguousarray(tensor.T)
    elif how == 3:
        tensors[name] = np.zeros(chance.choice(((), (0,), (1,), (2, 2, 2), (0, 8))), "float32")
    elif how == 4:
        tensors[chance.choice(("x", "cls.predictions.bias", "classifier.weight"))] = tensor
    elif how == 5:
        tensors[name] = np.full_like(tensor, chance.choice((np.nan, np.inf, 1e30)))
    else:
        tensors[name] = tensor[:-1].copy()
    save_file(tensors, path, metadata={"format": "pt"})


def _mutate_bytes(path, chance):
    content, how = bytearray(path.read_bytes()), chance.randrange(5)
    if how == 0:
        path.unlink()
        return
    if how == 1:
        content = content[: chance.randrange(len(content) + 1)]
    elif how == 2 or not content:
        content = b""
    else:
        for _ in range(chance.choice((1, 3, 30))):
            spot = chance.randrange(len(content))
            bit = content[spot] ^ 1 << chance.randrange(8)
            content[spot] = chance.randrange(256) if how == 3 else bit
    path.write_bytes(content)


SEED = int(os.environ.get("FUZZ_SEED", "1"))


def faults_of(folders, use, work, seeds, until=None, whole_every=1):
    """Damages and uses folders; returns `(cases, those that loaded, descriptions of faults)`.

    One in `whole_every` becomes a model; of the others, all files but the tensors are read.
    """
    faults, cases, loaded = [], 0, 0
    for seed in seeds:
        if until and time.monotonic() > until:
            break
        source = folders[seed % len(folders)]
        folder = work / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        mutate(folder, seed)
        said = f"seed {seed}, {source.name}"
        faulthandler.dump_traceback_later(300, exit=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(folder, whole=seed % whole_every == 0)
            loaded += 1
        except ValueError as error:
            if str(folder) not in str(error):
                faults.append(f"{said}: names no file: {_end(error)}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            faults.append(f"{said}: {_end(error)}")
        faulthandler.cancel_dump_traceback_later()
        cases += 1
        if faults and said in faults[-1]:
            print(faults[-1], flush=True)
    return cases, loaded, faults


def _end(error):
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error).splitlines()[:1]
    return f"{type(error).__name__} {text} at {last.filename}:{last.lineno}"


def test_the_folders_load(folders, use_folder):
    assert folders and all(isinstance(use_folder(folder), BertTask) for folder in folders)


def test_damaged_folders_raise_value_errors(folders, use_folder, tmp_path):
    seeds = range(SEED, SEED + 60)
    cases, _, faults = faults_of(folders, use_folder, tmp_path, seeds, whole_every=3)
    assert cases == 60 and not faults, "\n".join(faults)


@pytest.mark.weekly
def test_many_damaged_folders_raise_value_errors(folders, use_folder, tmp_path, share):
    started = time.monotonic()
    first = SEED + 10**6 * int(os.environ.get("FUZZ_PART", "0"))
    until = started + (share or 60)
    seeds = range(first, first + 10**6)
    cases, loaded, faults = faults_of(folders, use_folder, tmp_path, seeds, until, 4)
    print(f"{cases:,} damaged folders from seed {first}: {loaded:,} load, {len(faults)} faults")
    assert not faults, "\n".join(faults)
