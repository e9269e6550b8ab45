"""Splitting of raw examples into a first and a last part."""

from __future__ import annotations

from keras_bert.preprocessing.raw import count, is_dataset, take


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
