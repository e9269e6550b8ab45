import math

import pytest

from keras_bert import Perplexity


@pytest.mark.parametrize("name", ["masked_lm_loss", "loss"])
def test_losses_of_training_and_validation_get_a_perplexity(name):
    logs = {name: 2.0, f"val_{name}": 3.0}
    Perplexity().on_epoch_end(0, logs)
    assert logs["masked_lm_perplexity"] == math.exp(2)
    assert logs["val_masked_lm_perplexity"] == math.exp(3)


def test_the_loss_of_both_tasks_together_is_not_taken():
    logs = {"loss": 5.0, "masked_lm_loss": 2.0}
    Perplexity().on_epoch_end(0, logs)
    assert logs["masked_lm_perplexity"] == math.exp(2) and len(logs) == 3


def test_a_loss_beyond_floats_stays_finite():
    logs = {"loss": 1e6}
    Perplexity().on_epoch_end(0, logs)
    assert math.isfinite(logs["masked_lm_perplexity"])
