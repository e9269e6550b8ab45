"""Another library's model in this library's terms: arguments, weights and tokenizer."""

import contextlib
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_finite, shortened, shown
from keras_bert.text.base_tokenizer import Tokenizer

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
    first_row: int = 0  # there, of ours


@dataclass
class Checkpoint:
    """A model in transit: arguments of our classes, weights under our names, a tokenizer.

    `weights` are empty if they lie elsewhere, as in an exported graph. `tokenizer` has a source's
    arguments, with its `family` if it isn't a `BertTokenizer`; without a vocabulary it is empty.
    """

    source: str  # its kind and location, for messages
    backbone: dict  # arguments of `BertBackbone`; of a model to write, also its `architecture`
    weights: dict[str, Tensor] = field(default_factory=dict)  # by our names
    task: str | None = None  # None for an encoder alone
    task_arguments: dict = field(default_factory=dict)  # except backbone and preprocessor
    other_tasks: dict[str, dict] = field(default_factory=dict)  # that the same head serves
    tokenizer: dict = field(default_factory=dict)
    own_tokenizer: Tokenizer | None = None  # of a model to write
    sequence_length: int = 128  # the longest that the source's tokenizer makes
    truncation: str | None = "head"  # the part of a longer text to keep; None reads all of it
    spellings: dict[str, Spelling] = field(default_factory=dict)  # for messages and reports
    left_over: dict[str, tuple[int, ...]] = field(default_factory=dict)  # their names: not used
    refused: dict[str, str] = field(default_factory=dict)  # "text", the tokenizer, or a class

    training = None  # no record of another library's

    def __str__(self) -> str:
        return self.source

    @property
    def model_class(self) -> type:
        """The class of the source's model."""
        return public_class(self.task or "BertBackbone")

    @property
    def backbone_class(self) -> type:
        """The class of every encoder of another library."""
        return public_class("BertBackbone")

    @property
    def settings(self) -> tuple[type, dict[str, Any]]:
        """The preprocessor's class, and arguments among which its settings are."""
        return public_class(self.task or "BertTask").preprocessor_class(), self.task_arguments

    def text(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments of the tokenizer, if there is one, and those of sequences."""
        if "text" in self.refused:
            raise ValueError(self.refused["text"])
        return self.tokenizer, {"sequence_length": self.sequence_length}

    def as_task(self, name: str) -> "Checkpoint":
        """Returns this checkpoint as one of the named class, if its head serves that class."""
        if name not in self.other_tasks:
            return self
        others = {**self.other_tasks, self.task: self.task_arguments}
        arguments = others.pop(name)
        return replace(self, task=name, task_arguments=arguments, other_tasks=others)

    def with_layers(self, layers: Any) -> "Checkpoint":
        """Returns this checkpoint with some of its encoder's layers alone."""
        number = self.backbone["num_layers"]
        layers = checked_layers(layers, number, self)
        blocks = [f"block_{i}" for i in range(number)]
        weights, spellings = (
            renumbered(named, blocks, layers) for named in (self.weights, self.spellings)
        )
        backbone = {**self.backbone, "num_layers": len(layers)}
        return replace(self, backbone=backbone, weights=weights, spellings=spellings)


def public_class(name: str) -> type:
    """Imports the public class with this name."""
    return getattr(import_module("keras_bert"), name)


def backbone_arguments(config: JsonFields, keys: dict[str, tuple]) -> dict:
    """Returns `{argument of BertBackbone: value}` from `{argument: (key, default)}`."""
    return {
        ours: config.number(*key, low=0, high=1)
        if isinstance(key[1], float)
        else config.integer(*key, low=1)
        for ours, key in keys.items()
    }


def check_size(
    backbone: dict, num_values: float, source: object, backbone_class: type | None = None
) -> None:
    """Raises a ValueError if files of `num_values` are much too small for a model's weights.

    It is called before a model of that size is made. See `Backbone.least_values`.
    """
    described = (backbone_class or public_class("BertBackbone")).least_values(backbone)
    if described > 2 * num_values + 10_000:  # a smaller difference is reported weight by weight
        raise ValueError(
            f"{source} describes a model of at least {described:,} weights, but the weight files "
            f"hold at most {num_values:,.0f}: they belong to different models."
        )


def checked_layers(layers: Any, num_layers: int, source: object) -> list[int]:
    """Returns the `keep_layers` of `from_preset`; a ValueError unless the source has them."""
    numbered = [*layers] if isinstance(layers, Iterable) else []
    are_ints = all(isinstance(i, numbers.Integral) and type(i) is not bool for i in numbered)
    if not numbered or not are_ints or numbered != sorted({*numbered} & {*range(num_layers)}):
        raise ValueError(
            f"keep_layers must be numbers of layers of {source}, 0 to {num_layers - 1}, ascending, "
            f"such as {(*range(0, num_layers, 2),)}; got {shown(layers)}."
        )
    return [*map(int, numbered)]


def renumbered(named: dict, blocks: Sequence[str], layers: Sequence[int]) -> dict:
    """Renames weights `{name: ...}` of some `layers` to those of the first ones; puts others aside.

    >>> renumbered({"a/bias": 1, "b/bias": 2, "c/bias": 3}, ["a", "b", "c"], [1, 2])
    {'(a)/bias': 1, 'a/bias': 2, 'b/bias': 3}
    """
    new = {f"{name}/": f"({name})/" for name in blocks}
    new |= {f"{blocks[layer]}/": f"{blocks[place]}/" for place, layer in enumerate(layers)}
    begins = [next((begin for begin in new if name.startswith(begin)), "") for name in named]
    names = [new.get(b, "") + n.removeprefix(b) for n, b in zip(named, begins, strict=True)]
    return dict(zip(names, named.values(), strict=True))


@contextlib.contextmanager
def explained(source: object, fault: str = "can't be loaded", advice: str = "") -> Iterator[None]:
    """Turns errors of the block into ValueErrors that name their source.

    Damaged files, other libraries and classes of users raise errors of any kind.

    >>> with explained("a.bin", "is truncated", "Download it again."):
    ...     raise KeyError("header")
    Traceback (most recent call last):
    ValueError: a.bin is truncated: 'header'. Download it again.
    """
    try:
        yield
    except ImportError:  # which says what to install
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith(str(source)):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = shortened(lines[0], 300).rstrip(".")
        raise ValueError(f"{source} {fault}: {reason}. {advice}".rstrip()) from error


def file_tensor(
    path: object, name: str, shape: tuple[int, ...], dtype: str, read: Callable[[], np.ndarray]
) -> Tensor:
    """Makes a tensor of a file; reading other than finite floats is a ValueError."""

    def read_finite():
        if not dtype.lower().startswith(("f", "bf")):
            raise ValueError(f"{path}: {name} holds {dtype}; weights must be floating point.")
        with explained(f"{path}: {name}", "can't be read", "Download it again."):
            array = read()
        check_finite(array, path, name)
        return array

    return Tensor(shape, read_finite)


def check_supported(checkpoint: Checkpoint, library: str, supported: dict) -> None:
    """Raises a ValueError unless a library supports a model, by `{argument: possible values}`."""
    arguments = {**checkpoint.task_arguments, **checkpoint.backbone}
    arguments["task"] = checkpoint.task or "BertBackbone"
    if tokenizer := checkpoint.own_tokenizer:
        arguments["tokenizer.family"] = tokenizer.family
        arguments["tokenizer.pad_token_id"] = tokenizer.pad_token_id
    for name, values in supported.items():
        if name in arguments and arguments[name] not in values:
            advice = "" if name in checkpoint.backbone else ", or write model.backbone instead"
            raise ValueError(
                f"This {checkpoint.task or 'BertBackbone'} has {name}={arguments[name]!r}; "
                f"for {library} it must be {' or '.join(map(repr, values))}. Save the model with "
                f"save_to_preset(folder){advice}."
            )


def translate(
    tensors: dict[str, Tensor],
    backbone: dict,
    spellings_of: Callable[[int], dict[str, Spelling]],
    source: str,
) -> dict[str, Any]:
    """Renames another library's tensors to our names: the fields of a `Checkpoint` for weights.

    `spellings_of` takes the number of layers, which is compared with the tensors before.
    """
    check_size(backbone, sum(math.prod(tensor.shape) for tensor in tensors.values()), source)
    spellings = spellings_of(backbone["num_layers"])
    weights, used = {}, set()
    for name, spelling in spellings.items():
        if any(part in tensors for part in spelling.names):
            weights[name] = _concatenate(tensors, spelling, source)
            used.update(spelling.names)
    left_over = {name: tensor.shape for name, tensor in tensors.items() if name not in used}
    return {"weights": weights, "spellings": spellings, "left_over": left_over}


def spell(weights: dict[str, Tensor], spellings: dict[str, Spelling]) -> dict[str, np.ndarray]:
    """Renames our weights to another library's names, the inverse of `translate`."""
    tensors = {}
    for name, weight in weights.items():
        spelling = spellings[name]
        parts = np.split(weight.read(), len(spelling.names), axis=-1)
        for part_name, part in zip(spelling.names, parts, strict=True):
            if spelling.first_row:
                part = np.pad(part, [(spelling.first_row, 0), (0, 0)])
            tensors[part_name] = np.ascontiguousarray(part.T if spelling.transposed else part)
    return tensors


def _concatenate(tensors, spelling, source):
    parts = [tensors[name] for name in spelling.names if name in tensors]
    shapes = [part.shape[::-1] if spelling.transposed else part.shape for part in parts]
    are_alike = len({shape[:-1] for shape in shapes}) == 1 and () not in shapes
    if len(parts) < len(spelling.names) or not are_alike:
        found = (
            f"{name} {list(tensors[name].shape)}" if name in tensors else f"{name} is missing"
            for name in spelling.names
        )
        raise ValueError(f"{source} is incomplete or damaged: {', '.join(found)}.")

    def read():
        arrays = [part.read() for part in parts]
        if spelling.transposed:
            arrays = [array.T for array in arrays]
        array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
        return array[spelling.first_row :] if spelling.first_row else array

    shape = (*shapes[0][:-1], sum(shape[-1] for shape in shapes))
    return Tensor((shape[0] - spelling.first_row, *shape[1:]), read)
