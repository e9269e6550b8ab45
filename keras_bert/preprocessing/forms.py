"""The forms in which people give examples: predicates, counts and slices. Needs no TensorFlow."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.messages import is_missing, shown

if TYPE_CHECKING:
    from tensorflow import Tensor
    from tensorflow.data import Dataset
else:  # models run without TensorFlow
    Dataset = Tensor = Any

Examples: TypeAlias = npt.ArrayLike | Sequence[Any] | Mapping[str, Any] | Dataset
"""Raw examples that a preprocessor reads.

Strings are a string, or a list, array, column or frame of them (pandas, Polars, Arrow). A pair of
texts is a tuple. Questions are dicts, alone or in a list. A dict may add extra inputs to `text`. A
`tf.data.Dataset` yields such examples.
"""


class ExampleList(Sequence):
    """Raw examples in one form, whatever a user gave: what a preprocessor's `listed` makes."""


NO_EXAMPLES = "There are no examples: the dataset is empty."


Labels: TypeAlias = npt.ArrayLike | Sequence[Collection[str]] | Mapping[str, npt.ArrayLike]
"""Labels of raw examples: names, numbers, several names for each example, or a dict of labels."""


def is_dataset(x: object) -> bool:
    """Returns whether `x` is a `tf.data.Dataset`."""
    return hasattr(x, "element_spec")


def is_raw(x: Any) -> bool:
    """Returns whether `x` holds strings, for a preprocessor to read, and not prepared inputs.

    Example:
    >>> is_raw(["a text"]), is_raw({"question": "Who?"}), is_raw({"token_ids": [[2, 3]]})
    (True, True, False)
    """
    if is_dataset(x):
        spec = x.element_spec
        return is_raw(spec[0] if isinstance(spec, tuple) else spec)
    if isinstance(x, (str, bytes, ExampleList)):
        return True
    if isinstance(x, dict):
        return "token_ids" not in x and any(map(is_raw, x.values()))
    if isinstance(x, (list, tuple)):
        first = next((value for value in x if not is_missing(value)), "")
        return is_raw(first)  # an empty list counts as raw, and one of missing texts
    if hasattr(x, "columns") and hasattr(x, "dtypes"):  # a DataFrame
        return any(map(_holds_strings, x.dtypes))
    return _holds_strings(getattr(x, "dtype", None))


def is_single(x: Any) -> bool:
    """Returns whether `x` is one example: a string, a pair of strings, or a dict with either."""
    if isinstance(x, dict):
        return is_single(x["text"]) if "text" in x else any(map(is_text, x.values()))
    is_pair = isinstance(x, tuple) and bool(x) and all(isinstance(t, (str, bytes)) for t in x)
    return isinstance(x, (str, bytes)) or is_pair


def as_arrays(x: Any, lists: bool = False) -> Any:
    """Replaces columns and frames with NumPy arrays; with `lists` also lists and tensors."""
    if isinstance(x, dict):
        return {name: as_arrays(values, lists) for name, values in x.items()}
    if isinstance(x, tuple) and not lists:
        return tuple(map(as_arrays, x))
    x = np.asarray(x) if hasattr(x, "to_numpy") else x
    if not lists or isinstance(x, np.ndarray):
        return x
    return np.asarray(x) if isinstance(x, (list, tuple)) else keras.ops.convert_to_numpy(x)


def one_each(array: np.ndarray) -> np.ndarray:
    """Returns an array `[n, 1]`, such as a table of one column, as `[n]`; any other unchanged."""
    return array[:, 0] if array.shape[1:] == (1,) else array


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


def is_iterable(x: Any) -> bool:
    """Returns whether examples must be iterated over: no list, array, table, dict or dataset."""
    known = (str, bytes, dict, list, tuple, set, frozenset, ExampleList, keras.utils.PyDataset)
    if isinstance(x, known) or is_dataset(x) or hasattr(x, "dtype") or hasattr(x, "dtypes"):
        return False
    return hasattr(x, "__iter__")


def listed(x: Any, is_right: Callable[[Any], bool], expected: str) -> list:
    """Returns questions, which are dicts, or one of them, as a list; see `check_each`."""
    is_one = isinstance(x, (dict, str, bytes)) or is_dataset(x) or getattr(x, "shape", None) == ()
    questions = [x] if is_one or not hasattr(x, "__getitem__") else list(x)
    if not questions:
        raise ValueError("There are no questions: give at least one.")
    check_each(questions, is_right, expected)
    return questions


def check_each(examples: Iterable[Any], is_right: Callable[[Any], bool], expected: str) -> None:
    """Raises a ValueError, which says where, unless all examples are as `expected`."""
    for number, example in enumerate(examples):
        if not is_right(example):
            raise ValueError(f"{expected}; number {number} is {shown(example)}.")


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
        raise ValueError(NO_EXAMPLES)


def is_text(value: Any) -> bool:
    """Returns whether a value is a string, perhaps of bytes."""
    return isinstance(value, (str, bytes))


def first_to_validate_on(number: int, validation_split: float) -> int:
    """Returns the place in a number of examples where the last ones begin, to validate on.

    >>> first_to_validate_on(4, 0.25)
    3
    """
    first = int(number * (1 - validation_split))
    if not 0 < first < number:
        use = "train" if first < 1 else "validate"
        raise ValueError(f"{validation_split=} of {number} examples leaves none to {use} on.")
    return first
