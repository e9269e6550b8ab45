"""Seeded damage to the files of a model folder: JSON values, bytes and tensors."""

import json
import random
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

HUGE = (10**9, 10**18, 10**30, 1e308, 2**31, 2**63)
WRONG = (None, True, False, 0, -1, 1, 2, 3, 0.5, 1.5, float("nan"), float("inf"), "", "x", "1")
WRONG += ("\ud800", "a\nb", "..", "/etc/passwd", "../../x", [], {}, [[]], [None], {"": None})
WRONG += (
    [1, "x"],
    {"content": 1},
    {"type": "x"},
    "gelu",
    "keras_bert>sizes",
    "keras_bert>read_glue",
)


def mutate(folder: Path, seed: int) -> str:
    """Damages one or two files of a folder; returns a description."""
    chance = random.Random(seed)
    said = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if not files:
            break
        texts = [path for path in files if path.suffix == ".json"]
        path = chance.choice(texts if texts and chance.random() < 0.75 else files)
        said.append(f"{path.name}: {_mutate_file(path, chance)}")
    return "; ".join(said)


def _mutate_file(path, chance):
    if path.suffix == ".json" and chance.random() < 0.9:
        return _mutate_json(path, chance)
    if path.suffix == ".safetensors" and chance.random() < 0.5:
        return _mutate_tensors(path, chance)
    return _mutate_bytes(path, chance)


def _mutate_json(path, chance):
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):  # damaged before
        return "left"
    if chance.random() < 0.04:
        depth = chance.choice((50, 900, 100_000))
        path.write_text('{"a": ' * depth + "1" + "}" * depth)
        return f"nested {depth} times"
    places = list(_places(content))
    if not places or chance.random() < 0.03:
        wrong = chance.choice(WRONG)
        path.write_text(json.dumps(wrong))
        return f"is {wrong!r}"
    holder, key = chance.choice(places)
    old, how = holder[key], chance.randrange(8)
    if how == 0:
        del holder[key]
        said = "deleted"
    elif how == 1:
        holder[key] = chance.choice(HUGE)
        said = f"is {holder[key]!r}"
    elif how == 2:
        holder[key] = [old] if chance.random() < 0.5 else {"x": old}
        said = "wrapped"
    elif how == 3:
        depth = chance.choice((20, 200, 700))
        for _ in range(depth):
            old = [old]
        holder[key] = old
        said = f"nested {depth} times"
    elif how == 4 and isinstance(old, (int, float)):
        holder[key] = -old if chance.random() < 0.3 else old * chance.choice((2, 1000, 0.5))
        said = f"is {holder[key]!r}"
    elif how == 5 and isinstance(holder, dict):
        holder[chance.choice(("x", "0", "999999999", "", "vocab_size"))] = holder.pop(key)
        said = "renamed"
    else:
        holder[key] = chance.choice(WRONG)
        said = f"is {holder[key]!r}"
    path.write_text(json.dumps(content))
    return f"{key!r} {said}"


def _places(content):
    """Yields `(holder, key)` of every value in a JSON value."""
    if isinstance(content, (dict, list)):
        keys = range(len(content)) if isinstance(content, list) else content
        for key in keys:
            yield content, key
            yield from _places(content[key])


def _mutate_tensors(path, chance):
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError):
        return "left"
    if not tensors:
        return "left"
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
    return f"{name} changed ({how})"


def _mutate_bytes(path, chance):
    content = bytearray(path.read_bytes())
    how = chance.randrange(5)
    if how == 0:
        path.unlink()
        return "removed"
    if how == 1:
        kept = chance.randrange(len(content) + 1)
        path.write_bytes(content[:kept])
        return f"cut at {kept} of {len(content)}"
    if how == 2 or not content:
        path.write_bytes(b"")
        return "empty"
    spots = [chance.randrange(len(content)) for _ in range(chance.choice((1, 3, 30)))]
    for spot in spots:
        content[spot] = (
            chance.randrange(256) if how == 3 else content[spot] ^ 1 << chance.randrange(8)
        )
    path.write_bytes(content)
    return f"{len(spots)} bytes changed"
