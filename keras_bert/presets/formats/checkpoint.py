"""Another library's model in this library's terms: arguments, weights and tokenizer."""

import contextlib
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert.files.json_files import JsonFields
from keras_bert.messages import check_all_finite, shortened, shown
from keras_bert.presets.published import Published
from keras_bert.text.base_tokenizer import Tokenizer

ENCODER_PARTS = ("embeddings/", "block_", "final_norm/")
"""Prefixes of the weights that every source must have; the pooler may be missing."""
DIVERGED = "The training that wrote it diverged, or the file is damaged."


class Tensor(NamedTuple):
    """An array that is read on demand."""

    shape: tuple[int, ...]
    read: Callable[[], np.ndarray]


class Spelling(NamedTuple):
    """Another library's names and layout for one of our weights."""

    names: tuple[str, ...]  # concatenated along our last axis: query, key and value are one here
    transposed: bool = False  # there
    first_row: int = 0  # there, of ours


@dataclass
class Checkpoint:
    """A model in transit: arguments of our classes, weights under our names, a tokenizer.

    `weights` are empty if they lie elsewhere, as in an exported graph. `tokenizer` has a source's
    arguments, for its `tokenizer_class`; without a vocabulary it is empty.
    """

    source: str  # its format and location, for messages
    backbone_class: type
    backbone: dict  # arguments of the backbone's class
    weights: dict[str, Tensor] = field(default_factory=dict)  # by our names
    task: type | None = None  # None for an encoder
    task_arguments: dict = field(default_factory=dict)  # except backbone and preprocessor
    tasks: dict[type, dict] = field(default_factory=dict)  # {task that the head serves: arguments}
    tokenizer: dict = field(default_factory=dict)
    own_tokenizer: Tokenizer | None = None  # of a model to write
    sequence_length: int = 128  # the longest that the source's tokenizer makes
    truncation: str | None = "head"  # the part of a longer text to keep; None reads all of it
    spellings: dict[str, Spelling] = field(default_factory=dict)  # for messages and reports
    left_over: dict[str, tuple[int, ...]] = field(default_factory=dict)  # their names: not used
    refused: dict[type, str] = field(default_factory=dict)  # reasons why a class can't be loaded
    text_refused: str = ""  # the reason why the tokenizer can't be

    published_source = None  # other libraries don't say

    def __str__(self) -> str:
        return self.source

    @property
    def model_class(self) -> type:
        """The class of the source's model."""
        return self.task or self.backbone_class

    @property
    def architecture(self) -> str:
        """The `model_type` of transformers."""
        return self.backbone.get("architecture", self.backbone_class.architecture)

    @property
    def published(self) -> Published:
        """What the model is called elsewhere."""
        return self.model_class.published

    @property
    def settings(self) -> tuple[type, dict[str, Any]]:
        """The preprocessor's class, and arguments that include its settings."""
        return reader_class(self.model_class), self.task_arguments

    def text(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments of the tokenizer, if there is one, and those of sequences."""
        if self.text_refused:
            raise ValueError(self.text_refused)
        return self.tokenizer, {
            "sequence_length": self.sequence_length,
            "truncation": self.truncation,
        }

    def add_reranker(self, arguments: dict) -> None:
        """Lets a classifier of one or two labels load as a `BertReranker`, and refuses others."""
        reranker = public_class("BertReranker")
        num_classes = self.task_arguments["num_classes"]
        is_softmax = self.task_arguments.keys().isdisjoint(["multi_label", "regression"])
        if num_classes == 1 or (num_classes == 2 and is_softmax):
            self.tasks[reranker] = arguments
            return
        self.refused[reranker] = (
            f"{self} has {num_classes} labels. A BertReranker ranks by one, or by two classes of "
            "which the second means relevant: load BertBackbone.from_preset, and train a new head."
        )

    def as_task(self, task: type) -> "Checkpoint":
        """Returns this checkpoint as one of the class `task`, if its head serves that class.

        Documents are ranked by the logit of the second of two labels minus that of the first.
        """
        if task not in self.tasks:
            return self
        weights = dict(self.weights)
        if task.published.wrapper == "CrossEncoder":
            for name in ("logits/kernel", "logits/bias"):
                weights[name] = _one_logit(weights[name])
        return replace(self, task=task, task_arguments=self.tasks[task], weights=weights)

    def with_layers(self, layers: Any) -> "Checkpoint":
        """Returns this checkpoint with only some of its encoder's layers."""
        num_layers = self.backbone["num_layers"]
        layers = checked_layers(layers, num_layers, self)
        self.backbone_class.check_layers(layers, self.backbone)
        blocks = [f"block_{i}" for i in range(num_layers)]
        return replace(
            self,
            backbone={**self.backbone, "num_layers": len(layers)},
            weights=renumbered(self.weights, blocks, layers),
            spellings=renumbered(self.spellings, blocks, layers),
        )


def _one_logit(tensor):
    if tensor.shape[-1] == 1:
        return tensor
    return Tensor((*tensor.shape[:-1], 1), lambda: np.diff(tensor.read()))


def public_class(name: str) -> type:
    """Imports the public class with this name."""
    return getattr(import_module("keras_bert"), name)


def reader_class(model_class: type) -> type:
    """Returns the class of a model's preprocessor, or of an encoder's in any task."""
    return model_class.preprocessor_class() or public_class("BertPreprocessor")


def task_with_head(head: str) -> type | None:
    """Finds the public task whose class name in transformers ends in `head`.

    Tasks that sentence-transformers wraps are left out, as they share their heads with others.
    """
    for name in import_module("keras_bert").__all__:
        if not name.startswith("Bert"):
            continue
        cls = public_class(name)
        if issubclass(cls, keras.Model) and cls.published[:2] == (head, None):  # head and wrapper
            return cls
    return None


def backbone_arguments(config: JsonFields, keys: dict[str, tuple]) -> dict:
    """Returns `{argument of the backbone: value}` from `{argument: (key, default)}`."""
    arguments = {}
    for name, (key, default) in keys.items():
        if isinstance(default, float):
            arguments[name] = config.number(key, default, low=0, high=1)
        else:
            arguments[name] = config.integer(key, default, low=int(name != "num_segments"))
    return arguments


def check_size(backbone_class: type, sizes: dict, num_values: float, source: object) -> None:
    """Raises a ValueError if files of `num_values` are much too small for a model's weights.

    It is called before a model of that size is made. See `Backbone.least_values`.
    """
    described = backbone_class.least_values(sizes)
    if described > 2 * num_values + 10_000:  # a smaller difference is reported weight by weight
        raise ValueError(
            f"{source} describes a model of at least {described:,} weights, but the weight files "
            f"hold at most {num_values:,.0f}: they belong to different models."
        )


def check_held(tensors: dict[str, Tensor], files: Iterable[Path], source: object) -> None:
    """Raises a ValueError if tensors have more values than their files have bytes.

    PyTorch and TensorFlow describe tensors of any shape that hold a single value.
    """
    num_values = sum(math.prod(tensor.shape) for tensor in tensors.values())
    if num_values > sum(path.stat().st_size for path in files):
        raise ValueError(f"{source} describes {num_values:,} values, more than its files hold.")


def checked_layers(layers: Any, num_layers: int, source: object) -> list[int]:
    """Returns the `keep_layers` of `from_preset`; a ValueError unless the source has them."""
    chosen = list(layers) if isinstance(layers, Iterable) else []
    are_numbers = all(isinstance(layer, numbers.Number) for layer in chosen)  # others may not hash
    if not chosen or not are_numbers or chosen != sorted({*chosen} & {*range(num_layers)}):
        raise ValueError(
            f"keep_layers must be numbers of layers of {source}, 0 to {num_layers - 1}, ascending, "
            f"such as {(*range(0, num_layers, 2),)}; got {shown(layers)}."
        )
    return [int(layer) for layer in chosen]


def renumbered(named: dict, blocks: Sequence[str], layers: Sequence[int]) -> dict:
    """Renumbers the weights of the chosen `layers` from 0, and puts the others in brackets.

    A block of a layer has a path of several parts.

    >>> renumbered({"a/bias": 1, "b/bias": 2, "c/bias": 3}, ["a", "b", "c"], [1, 2])
    {'(a)/bias': 1, 'a/bias': 2, 'b/bias': 3}
    >>> renumbered({"tower/a/bias": 1, "tower/b/bias": 2}, ["tower/a", "tower/b"], [1])
    {'(tower/a)/bias': 1, 'tower/a/bias': 2}
    """
    new_blocks = {block: f"({block})" for block in blocks}
    for index, layer in enumerate(layers):
        new_blocks[blocks[layer]] = blocks[index]
    renamed = {}
    for name, value in named.items():
        for block, new_block in new_blocks.items():
            if name.startswith(f"{block}/"):
                name = new_block + name.removeprefix(block)
                break
        renamed[name] = value
    return renamed


@contextlib.contextmanager
def explained(source: object, fault: str = "can't be loaded", advice: str = "") -> Iterator[None]:
    """Turns errors of the block into ValueErrors that name their source.

    Damaged files, other libraries and classes of users raise errors of any type.

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
        check_all_finite(f"{path}: {name}", array, DIVERGED)
        return array

    return Tensor(shape, read_finite)


def translate(
    tensors: dict[str, Tensor],
    backbone_class: type,
    backbone: dict,
    spellings_of: Callable[[int, str], dict[str, Spelling]],
    source: str,
    task: type | None,
) -> Checkpoint:
    """Makes a `Checkpoint` of another library's tensors, under our names.

    `spellings_of` takes the number of layers, after that has been compared with the tensors, and
    the `Published.head`.
    """
    num_values = sum(math.prod(tensor.shape) for tensor in tensors.values())
    check_size(backbone_class, backbone, num_values, source)
    spellings = spellings_of(backbone["num_layers"], (task or backbone_class).published.head)
    weights = {}
    used = set()
    for name, spelling in spellings.items():
        if not tensors.keys().isdisjoint(spelling.names):
            weights[name] = _concatenate(tensors, spelling, source)
            used.update(spelling.names)
    left_over = {name: tensor.shape for name, tensor in tensors.items() if name not in used}
    return Checkpoint(
        source,
        backbone_class,
        backbone,
        weights,
        task=task,
        spellings=spellings,
        left_over=left_over,
    )


def spell(weights: dict[str, Tensor], spellings: dict[str, Spelling]) -> dict[str, np.ndarray]:
    """Renames our weights to another library's names, the inverse of `translate`."""
    tensors = {}
    for name, weight in weights.items():
        spelling = spellings[name]
        arrays = np.split(weight.read(), len(spelling.names), axis=-1)
        for theirs, array in zip(spelling.names, arrays, strict=True):
            if spelling.first_row:
                array = np.pad(array, [(spelling.first_row, 0), (0, 0)])
            if spelling.transposed:
                array = array.T
            tensors[theirs] = np.ascontiguousarray(array)
    return tensors


def _concatenate(tensors, spelling, source):
    pieces = [tensors[name] for name in spelling.names if name in tensors]
    shapes = [piece.shape for piece in pieces]
    if spelling.transposed:
        shapes = [shape[::-1] for shape in shapes]
    are_alike = () not in shapes and len({shape[:-1] for shape in shapes}) == 1
    if len(pieces) < len(spelling.names) or not are_alike:
        faults = []
        for name in spelling.names:
            state = list(tensors[name].shape) if name in tensors else "is missing"
            faults.append(f"{name} {state}")
        raise ValueError(f"{source} is incomplete or damaged: {', '.join(faults)}.")

    def read():
        arrays = [piece.read() for piece in pieces]
        if spelling.transposed:
            arrays = [array.T for array in arrays]
        return np.concatenate(arrays, axis=-1)[spelling.first_row :]

    shape = [*shapes[0]]
    shape[-1] = sum(widths[-1] for widths in shapes)
    shape[0] -= spelling.first_row
    return Tensor(tuple(shape), read)
