from types import SimpleNamespace

import pytest

from keras_bert.models.task_data import check_columns


@pytest.mark.parametrize("weights", [[b"\xff", "a"], [[1.0], [1.0, 2.0]]])
def test_weights_that_numpy_cannot_hold_are_refused(weights):
    task = SimpleNamespace(output=SimpleNamespace(shape=(None, 2)))
    with pytest.raises(ValueError, match=r"sample_weight must be \[n\]") as error:
        check_columns(task, [0, 1], weights)
    assert not isinstance(error.value, UnicodeError)
