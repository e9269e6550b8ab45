"""What a folder of weights holds, in this library's words."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

ENCODER_PARTS = ("embeddings/", "block_")
"""How the names of weights begin that every source of a BERT must have; the pooler may lack."""


@dataclass(frozen=True)
class Tensor:
    """An array that is read when it is needed."""

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


@dataclass(frozen=True)
class Spelling:
    """How another library stores one of our weights.

    Args:
        names: its names of the parts, which stand side by side in our last axis (queries, keys
            and values are one matrix here).
        transposed: whether its matrices are ours transposed.
    """

    names: tuple[str, ...]
    transposed: bool = False


@dataclass
class Checkpoint:
    """A BERT outside of Keras: arguments of our classes, weights under our names, a vocabulary.

    Args:
        source: what it is and where, for messages.
        backbone: arguments of `BertBackbone`.
        weights: `{our name: Tensor}`.
        task: name of the class that the source holds, or None for an encoder alone.
        task_arguments: arguments of that class, but for backbone and preprocessor.
        vocabulary: tokens by id, or None.
        tokenizer: other arguments of `BertTokenizer`.
        sequence_length: int, the longest sequence that the source's tokenizer makes.
        spellings: `{our name: Spelling}`, for messages and reports.
        left_over: `{their name: shape}` of tensors that are none of ours.
        refused: `{part: why}` of what this library can't take over: `"text"`, the tokenizer, or
            the name of a class.
    """

    source: str
    backbone: dict
    weights: dict[str, Tensor]
    task: str | None = None
    task_arguments: dict = field(default_factory=dict)
    vocabulary: list[str] | None = None
    tokenizer: dict = field(default_factory=dict)
    sequence_length: int = 128
    spellings: dict[str, Spelling] = field(default_factory=dict)
    left_over: dict[str, tuple[int, ...]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def translate(tensors, spellings, source):
    """Another library's tensors under our names.

    Args:
        tensors: `{their name: Tensor}`.
        spellings: `{our name: Spelling}`.
        source: str, for messages.

    Returns:
        `(weights, left_over)`: `{our name: Tensor}` of what is there, and `{their name: shape}`
        of what is none of ours.

    Raises:
        ValueError: if a part of a weight is missing, or the parts don't fit each other.
    """
    weights = {}
    used = set()
    for name, spelling in spellings.items():
        parts = [tensors[part] for part in spelling.names if part in tensors]
        if not parts:
            continue
        if len(parts) < len(spelling.names):
            missing = [part for part in spelling.names if part not in tensors]
            raise ValueError(
                f"{source} lacks {', '.join(missing)}, {list(parts[0].shape)} like its companions: "
                "the file is not whole."
            )
        weights[name] = _joined(parts, spelling, source)
        used.update(spelling.names)
    left_over = {name: tensor.shape for name, tensor in tensors.items() if name not in used}
    return weights, left_over


def spell(weights, spellings):
    """Our weights under another library's names: the inverse of `translate`.

    Args:
        weights: `{our name: Tensor}`.
        spellings: `{our name: Spelling}`.

    Returns:
        `{their name: array}`, each array contiguous.
    """
    tensors = {}
    for name, weight in weights.items():
        spelling = spellings[name]
        parts = np.split(weight.read(), len(spelling.names), axis=-1)
        for part_name, part in zip(spelling.names, parts, strict=True):
            tensors[part_name] = np.ascontiguousarray(part.T if spelling.transposed else part)
    return tensors


def _joined(parts, spelling, source):
    shapes = [part.shape[::-1] if spelling.transposed else part.shape for part in parts]
    if len({shape[:-1] for shape in shapes}) > 1:
        found = ", ".join(
            f"{name} {list(part.shape)}" for name, part in zip(spelling.names, parts, strict=True)
        )
        raise ValueError(f"{source} holds tensors that should have one shape: {found}.")

    def read():
        arrays = [part.read() for part in parts]
        if spelling.transposed:
            arrays = [array.T for array in arrays]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)

    return Tensor((*shapes[0][:-1], sum(shape[-1] for shape in shapes)), read)
