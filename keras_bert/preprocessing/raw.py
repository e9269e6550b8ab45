"""Raw examples in all their forms. Needs no TensorFlow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import keras
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy.typing as npt
    import tensorflow as tf


Examples: TypeAlias = "npt.ArrayLike | Sequence[Any] | Mapping[str, Any] | tf.data.Dataset"
"""Raw examples that a preprocessor reads.

Strings are a string, or a list, array, pandas Series or DataFrame of them. A pair of texts is a
tuple. Questions are dicts, alone or in a list. A dict may add extra inputs to `text`. A
`tf.data.Dataset` yields such examples.
"""

Labels: TypeAlias = "npt.ArrayLike | Sequence[Collection[str]] | Mapping[str, npt.ArrayLike]"
"""Labels of raw examples: names, numbers, several names for each example, or a dict of labels."""


def is_dataset(x: object) -> bool:
    """Returns whether `x` is a `tf.data.Dataset`."""
    return hasattr(x, "element_spec")


def is_raw(x: Any) -> bool:
    """Returns whether `x` holds strings, for a preprocessor to read, and not prepared inputs.

    Args:
        x: a string, a list, tuple, array, pandas Series or DataFrame, a dict of these, or a
            `tf.data.Dataset`.

    Example:
    >>> is_raw(["a text"]), is_raw({"question": "Who?"}), is_raw({"token_ids": [[2, 3]]})
    (True, True, False)
    """
    if is_dataset(x):
        spec = x.element_spec
        return is_raw(spec[0] if isinstance(spec, tuple) else spec)
    if isinstance(x, (str, bytes)):
        return True
    if isinstance(x, dict):
        return "token_ids" not in x and any(map(is_raw, x.values()))
    if isinstance(x, (list, tuple)):
        found = next((value for value in x if not is_missing(value)), "")
        return is_raw(found)  # an empty list counts as raw, and one of missing texts
    if hasattr(x, "columns") and hasattr(x, "dtypes"):  # a DataFrame
        return any(map(_holds_strings, x.dtypes))
    return _holds_strings(getattr(x, "dtype", None))


def is_missing(value: Any) -> bool:
    """Returns whether a value is None, NaN or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def is_single(x: Any) -> bool:
    """Returns whether `x` is one example: a string, a pair of strings, or a dict of strings."""
    if isinstance(x, dict):
        return bool(x) and isinstance(next(iter(x.values())), (str, bytes))
    is_pair = isinstance(x, tuple) and bool(x) and all(isinstance(t, (str, bytes)) for t in x)
    return isinstance(x, (str, bytes)) or is_pair


def as_arrays(x: Any) -> Any:
    """Replaces all pandas objects in `x` with NumPy arrays."""
    if isinstance(x, dict):
        return {name: as_arrays(values) for name, values in x.items()}
    if isinstance(x, tuple):
        return tuple(map(as_arrays, x))
    return x.to_numpy() if hasattr(x, "to_numpy") else x


def as_floats(values: Any, dtype: str = "float32") -> np.ndarray:
    """Converts real numbers in any form to floats.

    Raises:
        TypeError or ValueError: if they are something else. NumPy would read numbers out of
            strings, and drop the imaginary part of complex ones.
    """
    array = np.asarray(as_arrays(values))
    if array.dtype.kind in "cSU":
        raise TypeError(f"expected real numbers; got {array.dtype}")
    return array.astype(dtype)


def _holds_strings(dtype):
    if getattr(dtype, "categories", None) is not None:  # of a pandas column
        return _holds_strings(dtype.categories.dtype)
    return getattr(dtype, "kind", None) in ("U", "S", "O", "T") or "str" in str(dtype).lower()


def take(x: Any, part: slice) -> Any:
    """Slices examples, labels or weights in memory, in any form that `is_raw` accepts."""
    if isinstance(x, dict):
        return {name: take(values, part) for name, values in x.items()}
    if isinstance(x, tuple):
        return tuple(take(values, part) for values in x)
    return None if x is None else as_arrays(x)[part]


def count(x: Any) -> int:
    """Counts examples in memory."""
    if is_single(x):
        return 1
    if isinstance(x, dict):
        x = next(iter(x.values()))
    return count(x[0]) if isinstance(x, tuple) and x else len(x)


def first_element(x: Any) -> Any:
    """Returns the first example or batch of a `PyDataset`, a PyTorch or a grain loader, or None."""
    packages = {base.__module__.partition(".")[0] for base in type(x).__mro__}
    if isinstance(x, keras.utils.PyDataset):
        return x[0]
    if "torch" in packages and hasattr(x, "dataset"):  # a DataLoader, whose order isn't touched
        return x.dataset[0] if hasattr(x.dataset, "__getitem__") else ()
    if "grain" in packages:
        return x[0] if hasattr(x, "__getitem__") else next(iter(x))
    return None


def check_not_empty(dataset: Any) -> None:
    """Raises a ValueError if a `tf.data.Dataset` is known to have no elements."""
    if hasattr(dataset, "cardinality") and int(dataset.cardinality()) == 0:
        raise ValueError("There are no examples: the dataset is empty.")


def labels_spec(dataset: Any) -> list[SimpleNamespace] | None:
    """Returns what `check_labels` takes in place of the labels of a dataset: an example's spec.

    The result is a list with one element that has the `shape` of one example's label, or None if
    the dataset has no labels, or their shapes are unknown.
    """
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2 or not hasattr(spec[1], "shape"):
        return None
    x, label = spec[0], spec[1]
    example_axes = 2 if isinstance(x, dict) and "cls_positions" in x else 1  # [B, K, ...] if packed
    while isinstance(x, (dict, tuple)):
        x = x.get("text", x.get("token_ids")) if isinstance(x, dict) else x[0]
    rank = getattr(getattr(x, "shape", None), "rank", None)
    if rank is None or label.shape.rank is None or label.dtype.name == "string":
        return None
    is_batch = rank > (0 if is_raw(dataset) else 1)
    return [SimpleNamespace(shape=tuple(label.shape[example_axes:] if is_batch else label.shape))]


def split_examples(examples: tuple, validation_split: float) -> tuple[tuple, tuple]:
    """Splits examples in memory into the first ones, to train on, and the last, to validate on.

    `fit` and `finetune` split by it. The order is kept, so shuffle examples that are sorted.

    Args:
        examples: tuple `(x, y, ...)` of raw examples, labels and weights, as for `fit`; each may be
            None but the first.
        validation_split: the share of the examples in the second part, above 0 and below 1.

    Returns:
        Two tuples like `examples`.

    Raises:
        ValueError: if a part would be empty, the columns differ in length, or the examples are a
            dataset.

    Example:
    >>> split_examples((["a", "b", "c", "d"], [0, 1, 0, 1]), 0.25)
    ((['a', 'b', 'c'], [0, 1, 0]), (['d'], [1]))
    """
    if is_dataset(examples[0]):
        raise ValueError(
            "validation_split needs examples in memory. Split the dataset with take and skip, and "
            "pass validation_data."
        )
    number = count(examples[0])
    for part in examples[1:]:
        if part is not None and not isinstance(part, dict) and len(part) != number:
            raise ValueError(
                f"There are {number} examples but {len(part)} labels or weights: give one for each."
            )
    cut = int(number * (1 - validation_split))
    if not 0 < cut < number:
        raise ValueError(
            f"validation_split={validation_split} of {number} examples leaves none to "
            f"{'train' if cut < 1 else 'validate'} on."
        )
    first, last = slice(cut), slice(cut, None)
    return tuple(take(p, first) for p in examples), tuple(take(p, last) for p in examples)
