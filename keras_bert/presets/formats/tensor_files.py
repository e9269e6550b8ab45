"""Files of tensors as Hugging Face folders hold them."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

from safetensors import SafetensorError, safe_open

from keras_bert.files.json_files import read_json
from keras_bert.presets.formats.checkpoint import Tensor

FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Where the weights may be, best first."""
POOLER_FILE = "pooler.safetensors"
"""What this library writes beside a model that transformers has without a pooler."""


def read_tensors(folder):
    """The tensors of a folder, each read when it is needed.

    Args:
        folder: a path that holds one of `FILES`.

    Returns:
        `{name: Tensor}`.

    Raises:
        ValueError: if there is no such file, it is cut off or is something else, a shard of it
            is missing, or it is PyTorch's and PyTorch is not installed.
    """
    folder = Path(folder)
    for name in FILES:
        if (folder / name).is_file():
            break
    else:
        found = sorted(path.name for path in folder.iterdir())
        raise ValueError(f"{folder} holds no weights, none of {', '.join(FILES)}: found {found}.")
    tensors = {}
    for path in _shards(folder / name):
        tensors |= _safetensors(path) if path.suffix == ".safetensors" else _pytorch(path)
    if (folder / POOLER_FILE).is_file():
        tensors |= _safetensors(folder / POOLER_FILE)
    return tensors


def _shards(path):
    if path.suffix != ".json":
        return [path]
    shards = sorted(set(read_json(path).get("weight_map", {}).values()))
    missing = [shard for shard in shards if not (path.parent / shard).is_file()]
    if missing or not shards:
        raise ValueError(
            f"{path} names {len(shards)} files of weights, of which {missing or 'none'} "
            f"{'are missing' if missing else 'is there'}: fetch the folder again."
        )
    return [path.parent / shard for shard in shards]


def _safetensors(path):
    def read(name):
        with safe_open(path, framework="numpy") as file:  # its pages are given back at the end
            return file.get_tensor(name)

    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} is cut off or is no safetensors file ({error}): fetch it again."
        ) from error
    return {name: Tensor(shape, partial(read, name)) for name, shape in shapes.items()}


def _pytorch(path):
    if find_spec("torch") is None:
        raise ValueError(
            f"{path} can be read by PyTorch alone, which is not installed. Install it "
            "(pip install torch), or take a model.safetensors: most models have one."
        )
    import torch

    try:  # weights_only: nothing in the file is executed
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
        named = dict(state.items())
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"{path} is cut off, is no PyTorch file of weights, or holds more than weights, which "
            f"is not executed: {reason}"
        ) from error
    return {
        name: Tensor(tuple(tensor.shape), lambda tensor=tensor: tensor.to(torch.float32).numpy())
        for name, tensor in named.items()
        if isinstance(tensor, torch.Tensor)
    }


def _is_zip(path):
    with open(path, "rb") as file:
        return file.read(2) == b"PK"
