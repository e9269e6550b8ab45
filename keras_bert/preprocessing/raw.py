"""Raw examples in all their forms. n texts, B texts of a batch. Needs no TensorFlow."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import keras
import numpy as np
import numpy.typing as npt

from keras_bert.messages import check_all_finite, check_one_each, is_missing, shown
from keras_bert.text.base_tokenizer import as_str

if TYPE_CHECKING:
    from tensorflow import Tensor
    from tensorflow.data import Dataset
else:  # models run without TensorFlow
    Dataset = Tensor = Any

Examples: TypeAlias = npt.ArrayLike | Sequence[Any] | Mapping[str, Any] | Dataset
"""Raw examples that a preprocessor reads.

Strings are a string, or a list, array, pandas Series or DataFrame of them. A pair of texts is a
tuple. Questions are dicts, alone or in a list. A dict may add extra inputs to `text`. A
`tf.data.Dataset` yields such examples.
"""

CHARACTERS_AT_ONCE = 2**23

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
    if isinstance(x, (str, bytes)):
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
        return is_single(x["text"]) if "text" in x else any(map(_is_text, x.values()))
    is_pair = isinstance(x, tuple) and bool(x) and all(isinstance(t, (str, bytes)) for t in x)
    return isinstance(x, (str, bytes)) or is_pair


def as_arrays(x: Any, lists: bool = False) -> Any:
    """Replaces pandas objects with NumPy arrays; with `lists` also lists, tuples and tensors."""
    if isinstance(x, dict):
        return {name: as_arrays(values, lists) for name, values in x.items()}
    if isinstance(x, tuple) and not lists:
        return tuple(map(as_arrays, x))
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    if not lists or isinstance(x, np.ndarray):
        return x
    return np.asarray(x) if isinstance(x, (list, tuple)) else keras.ops.convert_to_numpy(x)


def number_array(
    name: str,
    values: Any,
    expected: str = "a number for each example, [n]",
    is_shape: Callable[[tuple], bool] = lambda shape: shape[1:] in ((), (1,)) and shape != (),
    fix: str = "Leave the example out.",
    dtype: str = "float32",
) -> np.ndarray:
    """Converts finite real numbers to floats; strings, which NumPy would convert, are errors.

    >>> number_array("Scores", ["high", "low"])
    Traceback (most recent call last):
    ValueError: Scores must be a number for each example, [n]; got ['high', 'low'].
    """
    try:
        array = np.asarray(as_arrays(values))
        is_number = array.dtype.kind == "O" or holds_numbers(array)
        array = array.astype(dtype) if is_number else None
    except (TypeError, ValueError):  # lists of different lengths, or objects that are no numbers
        array = None
    if array is None or not is_shape(array.shape):
        got = shown(values) if array is None or not array.ndim else f"shape {array.shape}"
        raise ValueError(f"{name} must be {expected}; got {got}.")
    check_all_finite(name, array, fix)
    return array


def holds_numbers(array: np.ndarray) -> bool:
    """Returns whether an array holds real numbers; bfloat16 is of the kind "V" in NumPy."""
    return array.dtype.kind in "biuf" or "float" in array.dtype.name


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


def count(x: Any) -> int:
    """Counts examples in memory."""
    if is_single(x) or getattr(x, "shape", None) == ():
        return 1
    if isinstance(x, dict) and x:
        return count(x["text"] if "text" in x else next(iter(x.values())))
    if isinstance(x, tuple) and x:
        return count(x[0])
    if not hasattr(x, "__len__"):
        raise ValueError(f"Examples must be a list, an array or a column; got {shown(x)}.")
    return len(x)


def is_iterable(x: Any) -> bool:
    """Returns whether examples must be iterated over: no list, array, table, dict or dataset."""
    known = (str, bytes, dict, list, tuple, set, frozenset, keras.utils.PyDataset)
    if isinstance(x, known) or is_dataset(x) or hasattr(x, "dtype") or hasattr(x, "dtypes"):
        return False
    return hasattr(x, "__iter__")


def listed(
    x: Any, is_right: Callable[[Any], bool] = lambda question: True, expected: str = ""
) -> list:
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


def labels_spec(batches: Any) -> np.ndarray | None:
    """Returns zeros `[1, ...]` in the shape of an example's label in batches, for `check_labels`.

    None if the `tf.data.Dataset` has no labels, or their shapes are unknown.
    """
    spec = batches.element_spec
    if not isinstance(spec, tuple) or len(spec) < 2 or not hasattr(spec[1], "shape"):
        return None
    is_packed = isinstance(spec[0], dict) and "cls_positions" in spec[0]  # with labels [B, K, ...]
    shape = spec[1].shape[2 if is_packed else 1 :]
    return np.zeros((1, *shape)) if shape.is_fully_defined() else None


def split_examples(examples: tuple, validation_split: float) -> tuple[tuple, tuple]:
    """Splits `(x, y, ...)` in memory into the first examples, and the last ones, to validate on.

    The order is kept, so shuffle examples that are sorted.

    >>> split_examples((["a", "b", "c", "d"], [0, 1, 0, 1]), 0.25)
    ((['a', 'b', 'c'], [0, 1, 0]), (['d'], [1]))
    """
    x = examples[0]
    if is_dataset(x) or not (is_raw(x) or isinstance(x, (dict, tuple))):
        raise ValueError("validation_split needs examples in memory: pass validation_data.")
    number = count(x)
    for part in examples[1:]:
        if part is not None and not isinstance(part, dict):
            check_one_each(number, "examples", **{"labels or weights": part})
    cut = int(number * (1 - validation_split))
    if not 0 < cut < number:
        use = "train" if cut < 1 else "validate"
        raise ValueError(f"{validation_split=} of {number} examples leaves none to {use} on.")
    first, last = slice(cut), slice(cut, None)
    return tuple(take(p, first) for p in examples), tuple(take(p, last) for p in examples)


def extra_input_array(name: str, values: Any) -> np.ndarray:
    """Converts numbers `[n, ...]` to an array, floats as float32."""
    expected = "numbers, a row for each text, such as table.numbers([column])"
    fix = "Leave the row out, or fill the value, such as with the mean."
    array = number_array(name, values, expected, lambda shape: True, fix)
    return np.asarray(values) if np.asarray(values).dtype.kind in "iub" else array


@dataclasses.dataclass
class TextExamples:
    """Texts or pairs in memory, with the model's extra inputs."""

    columns: tuple[list[str], ...]  # n texts, the second text of each, and so on
    extra_inputs: dict[str, np.ndarray]  # `[n, ...]`

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, part):
        columns = tuple(column[part] for column in self.columns)
        return TextExamples(columns, {name: v[part] for name, v in self.extra_inputs.items()})


def in_parts(examples: Any, size: int) -> Iterator[Any]:
    """Cuts a sequence of examples into parts.

    A part has at most `size` examples, with at most 8 million characters unless it is only one.
    """
    if isinstance(examples, TextExamples):
        lengths = [sum(map(len, texts)) for texts in zip(*examples.columns, strict=True)]
    else:  # questions
        lengths = [sum(len(x) for x in q.values() if isinstance(x, str)) for q in examples]
    ends, start = np.cumsum(lengths), 0
    while start < max(len(examples), 1):
        room = CHARACTERS_AT_ONCE + (ends[start - 1] if start else 0)
        end = min(max(int(np.searchsorted(ends, room, "right")), start + 1), start + size)
        yield examples[start:end]
        start = end


def text_examples(x: Examples, most: int = 2) -> TextExamples:
    """Reads texts in memory, in any form, up to `most` of them in an example.

    `x` is a string, a list, array or Series of strings, a tuple of two columns `(texts, texts)`, a
    list of pairs, an array `[n, 2]` or a DataFrame of two columns; or a dict with any of these as
    `text`, and extra inputs `[n, ...]`.
    """
    if isinstance(x, TextExamples):
        return x
    x, extra = split_inputs(as_arrays(x))
    extra = {name: extra_input_array(name, values) for name, values in extra.items()}
    if is_single(x):
        extra = {name: v[None] if v.ndim < 2 else v for name, v in extra.items()}
    columns = text_columns(x, most)
    check_one_each(len(columns[0]), "texts", **{f"rows of {n}": v for n, v in extra.items()})
    return TextExamples(columns, extra)


_MADE_FROM_TEXT = frozenset(("token_ids", "segment_ids", "padding_mask"))


def split_inputs(x: Any) -> tuple[Any, dict[str, Any]]:
    """Splits `x` into `(texts, extra inputs)`."""
    if not isinstance(x, dict):
        return x, {}
    if "text" not in x:
        raise ValueError(
            f"A dict of raw examples must have its texts as 'text'; this one has {[*map(str, x)]}."
        )
    made = _MADE_FROM_TEXT.intersection(x)
    if made:
        raise ValueError(f"The preprocessor makes {min(made)} from the texts: leave it out.")
    return x["text"], {name: values for name, values in x.items() if name != "text"}


def text_columns(x: Any, most: int | None = None) -> tuple[list[str], ...]:
    """Converts texts, pairs, or examples of up to `most` texts to columns, lists of n str."""
    x = as_arrays(x)
    if any(map(is_dataset, x[:2] if isinstance(x, (list, tuple)) else [x])):
        raise ValueError(
            "A tf.data.Dataset can't be part of the examples. Make one dataset of all, with "
            "tf.data.Dataset.zip(texts, labels), or ((texts, second texts), labels) for pairs."
        )
    columns = _columns(x)
    if most is not None and len(columns) > most:
        most = "1 text" if most == 1 else f"{most} texts"
        raise ValueError(
            f"An example has up to {most}; got {len(columns)} together. Pairs are a list of "
            "tuples, or a tuple of two columns. Batches of a generator are arrays."
        )
    for part in columns[1:]:
        check_one_each(len(columns[0]), "texts", **{"second texts": part})
    return columns


def _columns(x):
    """Converts `x` to a tuple of lists of str."""
    if _is_text(x) or (isinstance(x, tuple) and x and all(map(_is_text, x))):
        x = [x]
    elif not isinstance(x, (list, tuple)):
        x = np.atleast_1d(x)
    if not isinstance(x, tuple):
        widths = {len(row) if _is_row(row) else 0 for row in x}
        if len(widths) > 1:
            raise ValueError(
                "Some texts are pairs and others are not; give all of them a second text, or none."
            )
        x = (x,) if widths <= {0} else zip(*x, strict=True)
    columns = tuple(map(_strings, x))
    if not columns or not columns[0]:
        raise ValueError("There are no texts: give at least one.")
    return columns


def _strings(column):
    if _is_text(column) or not hasattr(column, "__iter__"):
        raise ValueError(
            f"Texts must be a list or an array of strings, or a tuple of two; got {shown(column)}."
        )
    if hasattr(column, "numpy"):  # a tensor
        column = column.numpy()
    texts = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [as_str(f"Text {index}", text) for index, text in enumerate(texts)]


def _is_row(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _is_text(value):
    return isinstance(value, (str, bytes))
