"""Weight files that others wrote: safetensors, PyTorch's and Keras's."""

import zlib
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from safetensors import safe_open

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Tensor, explained, file_tensor

FILES = ("model.safetensors", "model.safetensors.index.json")
FILES += ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""Names of weight files, in order of preference."""
POOLER_FILE = "pooler.safetensors"
"""File with the pooler of a model whose class in transformers has none."""


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Reads the tensors of a folder with one of `FILES`, each one on demand."""
    found = sorted(path.name for path in folder.iterdir())
    name = next((name for name in FILES if name in found), None)
    if name is None:
        raise ValueError(f"{folder} holds no weights, none of {', '.join(FILES)}; found {found}.")
    tensors = {}
    for path in _shards(folder / name):
        tensors |= _safetensors(path) if path.suffix == ".safetensors" else _pytorch(path)
    if (folder / POOLER_FILE).is_file():
        tensors |= _safetensors(folder / POOLER_FILE)
    return tensors


def safe_num_bytes(path: Path) -> int | None:
    """Checks a `.weights.h5` file and returns its size; None if there is no such file.

    Keras reads an array before it compares its shape, and follows links. The arrays must therefore
    be stored in the file itself, without compression.
    """
    import h5py

    if not path.is_file():
        return None
    size, stored, links = path.stat().st_size, 0, {}
    with explained(path, "is damaged, a truncated file or unsafe"), h5py.File(path, "r") as file:
        file.visititems_links(links.__setitem__)  # each group once, even if they contain each other
        for name, link in links.items():
            if not isinstance(link, h5py.HardLink):
                raise ValueError(f"{name} is a link")
            stored += getattr(file[name], "nbytes", 0)
        if stored > size:
            raise ValueError("it describes more data than it holds")
    return size


def crc32_of(path: Path) -> int:
    """Returns the CRC-32 of a file."""
    return zlib.crc32(np.memmap(path, mode="r"))


def check_crc32(path: Path, expected: int | None) -> None:
    """Raises a ValueError if a file doesn't have this CRC-32; None is that of no file."""
    if expected is not None and crc32_of(path) != expected:
        raise ValueError(
            f"{path} is damaged, or not the file that belongs to config.json: its checksum is "
            "another one. Write the preset again, or download it again."
        )


def _shards(path):
    if path.suffix != ".json":
        return [path]
    names = JsonFields(path).fields("weight_map")
    shards = sorted({names.inner_path(name) for name in names.values})
    missing = [shard for shard in shards if not (path.parent / shard).is_file()]
    if missing or not shards:
        raise ValueError(
            f"{path} names {len(shards)} weight files"
            f"{f'; {missing[:9]} are missing' if missing else ''}: download the folder again."
        )
    return [path.parent / shard for shard in shards]


def _safetensors(path):
    def read(name):
        with safe_open(path, framework="numpy") as file:  # unmaps the file's pages at the end
            return file.get_tensor(name)

    with explained(path, "is truncated or not a safetensors file", "Download it again."):
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}
            looks = {name: (tuple(s.get_shape()), s.get_dtype()) for name, s in slices.items()}
    return {
        name: file_tensor(path, name, *look, partial(read, name)) for name, look in looks.items()
    }


def _pytorch(path):
    if find_spec("torch") is None:
        raise ValueError(
            f"{path} can't be read without PyTorch: pip install torch, or use model.safetensors, "
            "which most models have."
        )
    import torch

    with explained(path, "is damaged or holds more than weights (code is never executed)"):
        with open(path, "rb") as file:
            is_zip = file.read(2) == b"PK"
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip)
        tensors = {str(n): t for n, t in dict(state).items() if isinstance(t, torch.Tensor)}
        for name, tensor in tensors.items():
            size = tensor.untyped_storage().nbytes()
            if tensor.numel() * tensor.element_size() > size:  # it would be written out
                raise ValueError(f"{name} is of shape {[*tensor.shape]} but has only {size} bytes")

    def read(tensor):
        return tensor.detach().to(torch.float32).numpy()  # a parameter may require gradients

    return {
        name: file_tensor(path, name, tuple(t.shape), str(t.dtype).split(".")[-1], partial(read, t))
        for name, t in tensors.items()
    }
