"""Checks of vectors and what belongs to each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.messages import check_all_finite, check_one_each

if TYPE_CHECKING:
    import numpy.typing as npt


def checked_vectors(
    vectors: "npt.ArrayLike", least: int, **columns: Sequence[Any] | None
) -> tuple[np.ndarray, dict[str, list]]:
    """Returns vectors as float32, `[n, H]`, and the columns that aren't None as lists.

    Args:
        vectors: `[n, H]` numbers.
        least: int, the lowest n.
        **columns: n values each, such as texts; or None.

    Raises:
        ValueError: if the shape is another, a number isn't finite, or a column has other than n
            values.
    """
    array = np.asarray(vectors)
    is_table = array.ndim == 2 and array.dtype.kind in "biuf"
    if not is_table or len(array) < least or array.shape[1] < 2:
        raise ValueError(
            f"Vectors must be [n, H] numbers, n at least {least} and H at least 2, as "
            f"BertEmbedder.predict returns them; got {array.dtype} of shape {array.shape}."
        )
    array = array.astype("float32")
    check_all_finite("Vectors", array, "Leave the row out.")
    given = {name: values for name, values in columns.items() if values is not None}
    check_one_each(len(array), "vectors", **given)
    return array, {name: [*values] for name, values in given.items()}
