import numpy as np
import pytest

SETTINGS = "--units 8 --layers -1 -2 --train t --dev d"


@pytest.mark.slow
def test_padding_does_not_change_predictions(arguments, assert_close, module):
    model = module.make_model(module.parse_args(arguments({}, "--combine", "mean")), 2, 16, 3)
    vectors = np.random.default_rng(1).normal(size=(1, 5, 32)).astype("float32")
    padded = np.pad(vectors, ((0, 0), (0, 4), (0, 0)))
    assert_close(model.predict_on_batch(padded)[:, :5], model.predict_on_batch(vectors))
