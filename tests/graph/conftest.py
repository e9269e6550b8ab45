"""Characters of the tests in `tests/text`, and how results of both kinds of ops are compared."""

import numpy as np
import pytest

from tests.text.conftest import (  # noqa: F401
    alphabet,
    assigned_characters,
    special_tokens,
    varied_characters,
)


def arrays_of(result):
    """Returns a result as a list of arrays, strings as bytes; ragged rows one by one."""
    if isinstance(result, dict):
        result = [result[name] for name in sorted(result)]
    if isinstance(result, (list, tuple)) or hasattr(result, "row_lengths"):
        return sum(map(arrays_of, result), [])
    array = np.asarray(result)
    if array.dtype == object:
        texts = [text.encode() if isinstance(text, str) else text for text in array.flat]
        array = np.array(texts, object).reshape(array.shape)
    return [array]


@pytest.fixture(scope="session")
def same(assert_close):
    """A function that asserts that tensors equal arrays, floats within the rounding of both."""

    def check(found, expected, size=0.0, name="", any_int=False):
        for ours, theirs in zip(arrays_of(found), arrays_of(expected), strict=True):
            assert ours.shape == theirs.shape, name
            assert ours.dtype == theirs.dtype or (any_int and theirs.dtype.kind == "i"), name
            if theirs.dtype.kind == "f":
                assert_close(ours, theirs, sums=4, size=size, name=name)
            else:
                assert np.array_equal(ours, theirs), name

    return check
