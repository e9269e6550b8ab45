"""Sources of examples other than arrays in memory. Needs no TensorFlow."""

from types import SimpleNamespace
from typing import Any

import keras

from keras_bert.preprocessing.raw import is_raw


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
