import math

import pytest

from keras_bert.metrics.labels import regression_scores


def test_scores_are_those_counted_by_hand():
    scores = regression_scores([1, 2, 3, 4], [2, 1, 4, 9])
    # deviations -1.5 -.5 .5 1.5 and -2 -3 0 5: products add to 12, squares to 5 and 38
    assert scores["pearson"] == pytest.approx(12 / math.sqrt(5 * 38))
    assert scores["spearman"] == pytest.approx(1 - 6 * 2 / (4 * 15))  # ranks 2 1 3 4
    assert scores["mean_squared_error"] == pytest.approx((1 + 1 + 1 + 25) / 4)


def test_a_constant_prediction_has_no_correlation_and_no_warning(recwarn):
    scores = regression_scores([1, 2, 3], [2, 2, 2])
    assert (scores["pearson"], scores["spearman"]) == (0, 0)
    assert not recwarn.list


def test_differently_many_are_refused():
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(2,\)"):
        regression_scores([1, 2, 3], [1, 2])
