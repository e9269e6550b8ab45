"""Another library's model in this library's terms: arguments, weights and vocabulary."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_finite

ENCODER_PARTS = ("embeddings/", "block_")
"""Prefixes of the weights that every source must have; the pooler may be missing."""


@dataclass(frozen=True)
class Tensor:
    """An array that is read on demand."""

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


@dataclass(frozen=True)
class Spelling:
    """Another library's names and layout for one of our weights."""

    names: tuple[str, ...]  # concatenated along our last axis: query, key and value are one here
    transposed: bool = False  # there


@dataclass
class Checkpoint:
    """A BERT in transit: arguments of our classes, weights under our names, a vocabulary.

    Args:
        source: str, the kind and location of the source, for messages.
        backbone: dict, arguments of `BertBackbone`.
        weights: `{our name: Tensor}`.
        task: str, name of the source's task class, or None if it has only an encoder.
        task_arguments: dict, arguments of the task class except backbone and preprocessor.
        other_tasks: `{name: arguments}` of other task classes that the same head serves.
        vocabulary: list of str, the tokens by id, or None.
        tokenizer: dict, the other arguments of `BertTokenizer`.
        sequence_length: int, the longest sequence that the source's tokenizer produces.
        spellings: `{our name: Spelling}`, for messages and reports.
        left_over: `{source name: shape}` of tensors that this library doesn't use.
        refused: `{part: reason}` of parts that this library can't load: `"text"` for the
            tokenizer, or the name of a class.
    """

    source: str
    backbone: dict
    weights: dict[str, Tensor]
    task: str | None = None
    task_arguments: dict = field(default_factory=dict)
    other_tasks: dict[str, dict] = field(default_factory=dict)
    vocabulary: list[str] | None = None
    tokenizer: dict = field(default_factory=dict)
    sequence_length: int = 128
    spellings: dict[str, Spelling] = field(default_factory=dict)
    left_over: dict[str, tuple[int, ...]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.source

    def as_task(self, name: str) -> "Checkpoint":
        """Returns this checkpoint as one of the named class, if its head serves that class."""
        if name not in self.other_tasks:
            return self
        others = {**self.other_tasks, self.task: self.task_arguments}
        arguments = others.pop(name)
        return replace(self, task=name, task_arguments=arguments, other_tasks=others)


def backbone_arguments(config: JsonFields, keys: dict[str, tuple]) -> dict:
    """Returns `{argument of BertBackbone: value}` from `{argument: (key, default)}`."""
    return {
        ours: config.number(*key, low=0, high=1)
        if isinstance(key[1], float)
        else config.integer(*key, low=1)
        for ours, key in keys.items()
    }


def least_bert_values(sizes: dict[str, int]) -> int:
    """Returns a lower bound of the number of weights of a `BertBackbone`."""
    hidden = sizes["hidden_dim"]
    block = 4 * hidden * hidden + 2 * hidden * sizes["intermediate_dim"]
    tables = sum(sizes[n] for n in ("vocabulary_size", "max_sequence_length", "num_segments"))
    return sizes["num_layers"] * block + tables * hidden


def check_size(
    backbone: dict,
    num_values: float,
    source: object,
    least_values: Callable[[dict], int] = least_bert_values,
) -> None:
    """Raises a ValueError if files of `num_values` are much too small for a model's weights.

    It is called before a model of that size is made. See `Backbone.least_values`.
    """
    described = least_values(backbone)
    if described > 2 * num_values + 10_000:  # a smaller difference is reported weight by weight
        raise ValueError(
            f"{source} describes a model of at least {described:,} weights, but the weight files "
            f"hold at most {num_values:,.0f}: they belong to different models."
        )


def checked_read(
    read: Callable[[], np.ndarray], path: object, name: str, dtype: str
) -> Callable[[], np.ndarray]:
    """Makes `read` raise ValueErrors that name the file and the tensor, also for other dtypes."""

    def checked():
        if not dtype.lower().startswith(("f", "bf")):
            raise ValueError(f"{path}: {name} holds {dtype}; weights must be floating point.")
        try:
            array = read()
        except Exception as error:  # of several kinds, from C++, Rust and Python
            raise ValueError(
                f"{path}: {name} can't be read ({first_line(error)}): download it again."
            ) from error
        check_finite(array, path, name)
        return array

    return checked


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message, or its class if it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def num_values(tensors: dict[str, Tensor]) -> int:
    """Counts the values of tensors."""
    return sum(math.prod(tensor.shape) for tensor in tensors.values())


def translate(
    tensors: dict[str, Tensor], spellings: dict[str, Spelling], source: str
) -> tuple[dict[str, Tensor], dict[str, tuple[int, ...]]]:
    """Renames another library's tensors to our names; also returns the shapes of the others."""
    weights = {}
    used = set()
    for name, spelling in spellings.items():
        parts = [tensors[part] for part in spelling.names if part in tensors]
        if not parts:
            continue
        if missing := [part for part in spelling.names if part not in tensors]:
            raise ValueError(
                f"{source} lacks {', '.join(missing)}, {list(parts[0].shape)} like its companions: "
                "the file is incomplete."
            )
        weights[name] = _concatenate(parts, spelling, source)
        used.update(spelling.names)
    left_over = {name: tensor.shape for name, tensor in tensors.items() if name not in used}
    return weights, left_over


def spell(weights: dict[str, Tensor], spellings: dict[str, Spelling]) -> dict[str, np.ndarray]:
    """Renames our weights to another library's names, the inverse of `translate`."""
    tensors = {}
    for name, weight in weights.items():
        spelling = spellings[name]
        parts = np.split(weight.read(), len(spelling.names), axis=-1)
        for part_name, part in zip(spelling.names, parts, strict=True):
            tensors[part_name] = np.ascontiguousarray(part.T if spelling.transposed else part)
    return tensors


def read_vocabulary(path: Path) -> list[str]:
    r"""Reads the tokens of a vocabulary file, by id, whatever the special tokens are called.

    As in Google's `load_vocab`, lines end only at "\n" and are stripped.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def is_uncased(tokens: list[str]) -> bool:
    """Returns whether at most 2 % of a vocabulary's ASCII words contain a capital letter."""
    words = [token for token in tokens if token.isascii() and not token.startswith("[")]
    return sum(word != word.lower() for word in words) <= 0.02 * len(words)


def _concatenate(parts, spelling, source):
    shapes = [part.shape[::-1] if spelling.transposed else part.shape for part in parts]
    if len({shape[:-1] for shape in shapes}) > 1 or () in shapes:  # of a single number
        named = zip(spelling.names, parts, strict=True)
        found = ", ".join(f"{name} {list(part.shape)}" for name, part in named)
        raise ValueError(f"{source} holds tensors of wrong shapes, or is damaged: {found}.")

    def read():
        arrays = [part.read() for part in parts]
        if spelling.transposed:
            arrays = [array.T for array in arrays]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)

    return Tensor((*shapes[0][:-1], sum(shape[-1] for shape in shapes)), read)
