"""Weight files that others wrote: safetensors, PyTorch's, TensorFlow's and Keras's."""

import re
import zlib
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from safetensors import safe_open

from keras_bert.files.given import check_stored, file_in
from keras_bert.files.json_files import JsonFields
from keras_bert.presets.formats.checkpoint import Tensor, check_held, explained, file_tensor
from keras_bert.presets.formats.weight_names import name_in_pytorch

FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "tf_model.h5",
    "tf_model.h5.index.json",
)
"""Names of weight files, in order of preference."""
CHECKSUMS = "checksums.json"
"""File with the CRC-32 of each file of a preset but the model card, which people edit."""
POOLER_FILE = "pooler.safetensors"
"""File with the pooler of a model whose class in transformers has none."""
ADAPTER = "adapter_config.json"
"""File that identifies a folder with a LoRA adapter of PEFT, apart from the model it changes."""


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Reads the tensors of a folder with one of `FILES`, each one on demand."""
    names = sorted(path.name for path in folder.iterdir())
    present = [name for name in FILES if name in names]
    if not present:
        raise ValueError(f"{folder} holds no weights, none of {', '.join(FILES)}; found {names}.")
    paths = _shards(file_in(folder, present[0]))
    if (folder / POOLER_FILE).is_file():
        paths.append(file_in(folder, POOLER_FILE))
    tensors = {}
    for path in paths:
        read = {".safetensors": read_safetensors, ".h5": _tensorflow}.get(path.suffix, _pytorch)
        tensors |= read(path)
    check_held(tensors, paths, folder)
    return tensors


def full_name(name: str, root: str) -> str:
    """Returns the name of a tensor with its model's prefix, which encoders alone don't have."""
    is_bare = re.match(
        r"(embeddings(_project)?|encoder|transformer|pooler|layers|final_norm)\.", name
    )
    return f"{root}.{name}" if is_bare else name


def safe_num_bytes(path: Path) -> int | None:
    """Checks a `.weights.h5` file and returns its size; None if there is no such file.

    Keras reads an array before it compares its shape. The arrays must therefore be stored in the
    file itself, without compression: not in another one, by a link, as external or virtual.
    """
    import h5py

    if not path.is_file():
        return None
    size = path.stat().st_size
    stored = 0
    links = {}
    with explained(path, "is damaged, a truncated file or unsafe"):
        with h5py.File(path, "r") as file:
            file.visititems_links(links.__setitem__)  # each group once, even within each other
            for name, link in links.items():
                if not isinstance(link, h5py.HardLink):
                    raise ValueError(f"{name} is a link")
                part = file[name]
                if isinstance(part, h5py.Dataset):
                    if part.external or part.is_virtual:
                        raise ValueError(f"{name} lies in another file")
                    stored += part.nbytes
        if stored > size:
            raise ValueError("it describes more data than it holds")
    return size


def crc32_of(path: Path) -> int:
    """Returns the CRC-32 of a file; the line endings of text, which Git changes, don't count."""
    if path.suffix == ".h5" and path.stat().st_size:
        return zlib.crc32(np.memmap(path, mode="r"))
    return zlib.crc32(path.read_bytes().replace(b"\r\n", b"\n"))


def _shards(path):
    if path.suffix != ".json":
        return [path]
    names = JsonFields(path).fields("weight_map")
    shards = sorted({names.inner_path(name) for name in names.values})
    paths = [file_in(path.parent, shard) for shard in shards]
    missing = [shard.name for shard in paths if not shard.is_file()]
    if missing or not shards:
        raise ValueError(
            f"{path} names {len(shards)} weight files; {missing[:9]} are missing: download the "
            "folder again."
        )
    return paths


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Reads the tensors of a file, each one on demand, of what the path names now."""
    tensors = {}
    with explained(path, "is truncated or not a safetensors file", "Download it again."):
        file = safe_open(path, framework="numpy")
        for name in file.keys():  # noqa: SIM118
            header = file.get_slice(name)
            shape = tuple(header.get_shape())
            read = partial(file.get_tensor, name)
            tensors[name] = file_tensor(path, name, shape, header.get_dtype(), read)
    return tensors


def _pytorch(path):
    if find_spec("torch") is None:
        raise ValueError(
            f"{path} can't be read without PyTorch: pip install torch, or use model.safetensors, "
            "which most models have."
        )
    import torch

    def read(tensor):
        return tensor.detach().to(torch.float32).numpy()  # a parameter may require gradients

    tensors = {}
    with explained(path, "is damaged or holds more than weights (code is never executed)"):
        with open(path, "rb") as file:
            is_zip = file.read(2) == b"PK"
        if is_zip:
            with ZipFile(path) as archive:
                check_stored(archive)
                damaged = archive.testzip()  # torch.load doesn't look
            if damaged:
                raise ValueError(f"{damaged} differs from its checksum")
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip)
        for name, tensor in dict(state).items():
            if not isinstance(tensor, torch.Tensor):
                continue
            shape = tuple(tensor.shape)
            dtype = str(tensor.dtype).removeprefix("torch.")
            tensors[str(name)] = file_tensor(path, str(name), shape, dtype, partial(read, tensor))
    return tensors


def _tensorflow(path):
    """Reads the file of a TensorFlow model of transformers, under the names of PyTorch's.

    A name is `layer/model/` and then the path of a weight, as in `bert/tf_bert_model/bert/encoder/
    layer_._0/output/dense/kernel:0`, or `nsp___cls/tf_bert.../nsp___cls/seq_relationship/bias:0`.
    """
    import h5py

    def read(name):
        array = file[name][()]
        return array.T if name.endswith("kernel:0") else array

    tensors = {}
    found = {}
    safe_num_bytes(path)
    file = h5py.File(path, "r")
    file.visititems(found.__setitem__)
    for name, part in found.items():
        if isinstance(part, h5py.Dataset) and name.count("/") > 2:
            shape = part.shape[::-1] if name.endswith("kernel:0") else part.shape
            _, _, *parts = name.removesuffix(":0").replace("_._", "/").split("/")
            theirs = name_in_pytorch("/".join(part.rpartition("___")[2] for part in parts))
            read_it = partial(read, name)
            tensors[theirs] = file_tensor(path, name, shape, str(part.dtype), read_it)
    return tensors
