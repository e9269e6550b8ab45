"""Weight files that others wrote: safetensors, PyTorch's and Keras's."""

import zlib
from functools import partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from safetensors import safe_open

from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Tensor, checked_read

FILES = ("model.safetensors", "model.safetensors.index.json")
FILES += ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""Names of weight files, in order of preference."""
POOLER_FILE = "pooler.safetensors"
"""File with the pooler of a model whose class in transformers has none."""


def read_tensors(folder: str | PathLike) -> dict[str, Tensor]:
    """Reads the tensors of a folder with one of `FILES`, each one on demand."""
    folder = Path(folder)
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


def checked_num_bytes(path: Path) -> int | None:
    """Checks a `.weights.h5` file and returns its size; None if there is no such file.

    Keras reads an array before it compares its shape, and follows links. The arrays must therefore
    be stored in the file itself, without compression.
    """
    import h5py

    if not path.is_file():
        return None
    size, stored = path.stat().st_size, 0
    try:
        with h5py.File(path, "r") as file:
            groups = [file]
            while groups:
                group = groups.pop()
                for name in group:
                    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                        raise ValueError(f"{group.name}/{name} is a link")
                    if isinstance(group[name], h5py.Group):
                        groups.append(group[name])
                    else:
                        stored += group[name].nbytes
                if stored > size or len(groups) > size:  # groups may contain each other
                    raise ValueError("it describes more data than it holds")
    except Exception as error:  # HDF5 raises errors of any kind
        raise ValueError(f"{path} is damaged, a truncated file or unsafe: {error}") from error
    return size


def crc32_of(path: Path) -> int:
    """Returns the CRC-32 of a file."""
    checksum = 0
    with open(path, "rb") as file:
        while part := file.read(2**20):
            checksum = zlib.crc32(part, checksum)
    return checksum


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

    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            dtypes = {name: part.get_dtype() for name, part in slices.items()}
    except Exception as error:  # the header is parsed in Rust, which raises errors of its own
        raise ValueError(
            f"{path} is truncated or not a safetensors file ({error}): download it again."
        ) from error
    return {
        name: Tensor(shape, checked_read(partial(read, name), path, name, dtypes[name]))
        for name, shape in shapes.items()
    }


def _pytorch(path):
    if find_spec("torch") is None:
        raise ValueError(
            f"{path} can't be read without PyTorch: pip install torch, or use model.safetensors, "
            "which most models have."
        )
    import torch

    try:  # weights_only: no code in the file is executed
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
        tensors = {name: t for name, t in dict(state).items() if isinstance(t, torch.Tensor)}
        for name, tensor in tensors.items():
            _check_holds_its_values(path, name, tensor)
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"{path} is truncated, not a PyTorch weight file, or holds more than weights (code is "
            f"never executed): {reason}"
        ) from error

    def read(tensor):
        return tensor.detach().to(torch.float32).numpy()  # a parameter may require gradients

    return {
        str(name): Tensor(
            tuple(tensor.shape),
            checked_read(partial(read, tensor), path, name, str(tensor.dtype).split(".")[-1]),
        )
        for name, tensor in tensors.items()
    }


def _check_holds_its_values(path, name, tensor):
    """Raises a ValueError for tensors without values, or with fewer values than their shape."""
    if tensor.layout.__str__() != "torch.strided" or tensor.is_meta or tensor.is_quantized:
        kind = "meta" if tensor.is_meta else "quantized" if tensor.is_quantized else tensor.layout
        raise ValueError(f"{name} is a {kind} tensor; save the model with dense float weights")
    size = tensor.untyped_storage().nbytes()
    if tensor.numel() * tensor.element_size() > size:
        raise ValueError(f"{name} is of shape {list(tensor.shape)} but has only {size} bytes")


def _is_zip(path):
    with open(path, "rb") as file:
        return file.read(2) == b"PK"
