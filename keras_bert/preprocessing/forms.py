"""The forms of examples in memory: predicates, checks, slices. Needs no TensorFlow."""

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

Texts are a string, or a list, array, column or frame of strings (pandas, Polars, Arrow). A pair of
texts is a tuple. A question is a dict, and several are a list. A dict may add extra inputs to
`text`. A `tf.data.Dataset` yields such examples.
"""


class ExampleList(Sequence):
    """Raw examples in the one form that a preprocessor's `listed` makes of all others."""


Labels: TypeAlias = npt.ArrayLike | Sequence[Collection[str]] | Mapping[str, npt.ArrayLike]
"""Labels of raw examples: names, numbers, several names for each example, or a dict of labels."""


def is_dataset(x: object) -> bool:
    """Returns whether `x` is a `tf.data.Dataset`."""
    return hasattr(x, "element_spec")


def is_frame(x: object) -> bool:
    """Returns whether `x` is a DataFrame of pandas or Polars."""
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def is_text(value: object) -> bool:
    """Returns whether a value is a string, perhaps of bytes."""
    return isinstance(value, (str, bytes))


def is_raw(x: Any) -> bool:
    """Returns whether `x` holds strings, which a preprocessor reads, and not prepared inputs.

    The first value of a list or a tuple decides, unless it is missing. An empty one is raw.

    Example:
    >>> is_raw(["a text"]), is_raw({"question": "Who?"}), is_raw({"token_ids": [[2, 3]]})
    (True, True, False)
    """
    if is_dataset(x):
        return is_raw(x.element_spec)
    if is_text(x) or isinstance(x, ExampleList):
        return True
    if isinstance(x, dict):
        return "token_ids" not in x and any(map(is_raw, x.values()))
    if isinstance(x, (list, tuple)):
        for value in x:
            if not is_missing(value):
                return is_raw(value)
        return True
    if is_frame(x):
        return any(map(_holds_strings, x.dtypes))
    return _holds_strings(getattr(x, "dtype", None))


def _holds_strings(dtype):
    categories = getattr(dtype, "categories", None)  # of a column of pandas
    if categories is not None:
        dtype = categories.dtype
    is_string_of_numpy = getattr(dtype, "kind", None) in ("U", "S", "O", "T")
    return is_string_of_numpy or "str" in str(dtype).lower()


def is_single(x: Any) -> bool:
    """Returns whether `x` is one example: a string, a pair of strings, or a dict with either."""
    if isinstance(x, dict) and "text" in x:
        return is_single(x["text"])
    if isinstance(x, dict):
        return any(map(is_text, x.values()))
    if isinstance(x, tuple):
        return bool(x) and all(map(is_text, x))
    return is_text(x)


def map_values(function: Callable, x: Mapping) -> dict:
    """Returns a dict of what a function makes of each value of a dict."""
    return {name: function(value) for name, value in x.items()}


def as_arrays(x: Any) -> Any:
    """Replaces columns and frames with NumPy arrays."""
    if isinstance(x, dict):
        return map_values(as_arrays, x)
    if isinstance(x, tuple):
        return tuple(map(as_arrays, x))
    return np.asarray(x) if hasattr(x, "to_numpy") else x


def in_numpy(x: Any) -> Any:
    """Converts a list, a column or a tensor, or a dict of these, to NumPy arrays."""
    if isinstance(x, dict):
        return map_values(in_numpy, x)
    if isinstance(x, (list, tuple)) or hasattr(x, "to_numpy"):
        return np.asarray(x)
    return x if isinstance(x, np.ndarray) else keras.ops.convert_to_numpy(x)


def one_each(array: np.ndarray) -> np.ndarray:
    """Returns an array `[n, 1]`, such as a table of one column, as `[n]`; any other unchanged."""
    if array.shape[1:] == (1,):
        return array[:, 0]
    return array


def take(x: Any, part: slice) -> Any:
    """Slices examples, labels or weights in memory, in any form that `is_raw` accepts."""
    if isinstance(x, dict):
        return map_values(lambda values: take(values, part), x)
    if isinstance(x, tuple):
        return tuple(take(values, part) for values in x)
    if x is None:
        return None
    return as_arrays(x)[part]


def listed(x: Any, is_right: Callable, expected: str) -> list:
    """Returns a question, a dict, or several as a list, after `check_each`."""
    is_one = isinstance(x, (dict, str, bytes)) or getattr(x, "shape", None) == ()
    is_list = hasattr(x, "__getitem__") and not is_one
    questions = list(x) if is_list else [x]
    if not questions:
        raise ValueError("There are no questions: give at least one.")
    check_each(questions, is_right, expected)
    return questions


def check_each(examples: Iterable, is_right: Callable, expected: str) -> None:
    """Raises a ValueError, which says where, unless all examples are as `expected`."""
    for index, example in enumerate(examples):
        if not is_right(example):
            raise ValueError(f"{expected}; number {index} is {shown(example)}.")
