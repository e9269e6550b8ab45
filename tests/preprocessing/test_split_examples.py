import pytest

from keras_bert.preprocessing.raw import split_examples


def test_columns_are_split_alike_in_order():
    pairs = (["a", "b", "c", "d"], ["e", "f", "g", "h"])
    x = {"text": pairs, "features": [1, 2, 3, 4]}
    first, last = split_examples((x, [0, 1, 2, 3], None), 0.5)
    assert first == ({"text": (["a", "b"], ["e", "f"]), "features": [1, 2]}, [0, 1], None)
    assert last == ({"text": (["c", "d"], ["g", "h"]), "features": [3, 4]}, [2, 3], None)


@pytest.mark.parametrize(
    ("examples", "share", "message"),
    [
        ((["a", "b"], [0]), 0.5, "2 examples but 1 labels"),
        ((["a", "b"], [0, 1]), 0.9, "leaves none to train on"),
    ],
)
def test_what_cannot_be_split_is_refused(examples, share, message):
    with pytest.raises(ValueError, match=message):
        split_examples(examples, share)
