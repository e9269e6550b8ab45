"""Numbers that stand beside a text. NumPy alone."""

import numpy as np


def checked_features(features, num_features):
    """Numbers beside texts as an array, looked at before they are learnt from.

    Args:
        features: `[n, num_features]` numbers.
        num_features: int.

    Returns:
        `[n, num_features]` float32.

    Raises:
        ValueError: if the shape is another, or something is not a finite number, with its row.

    Example:
    >>> checked_features([[30, 1.5], [41, 2]], 2).dtype
    dtype('float32')
    """
    try:
        array = np.asarray(features).astype("float32")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"features must be numbers, [n, {num_features}]: {error}. Read a column of a file "
            "with table.numbers([column])."
        ) from error
    if array.ndim != 2 or array.shape[1] != num_features:
        raise ValueError(
            f"features must be [n, {num_features}], for the model has num_features="
            f"{num_features}; got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"features must be finite numbers; row {row} has {array[row, column]} in column "
            f"{column}. Leave the row out, or fill it, for instance with the column's mean."
        )
    return array
