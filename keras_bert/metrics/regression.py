"""Regression scores."""

import numpy as np
import numpy.typing as npt

from keras_bert.metrics.paired_arrays import paired_arrays


def regression_scores(labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Computes Pearson and Spearman correlation, as GLUE does for STS-B, and the squared error.

    Args:
        labels: `[n]` floats, the true values.
        predictions: `[n]` floats, the predicted values.

    Returns:
        A dict of floats: `pearson`, `spearman` (both 0 if labels or predictions are constant) and
        `mean_squared_error`.

    Raises:
        ValueError: if the arrays hold fewer than two values or differ in length.

    Example:
    >>> regression_scores([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["spearman"]
    1.0
    """
    from scipy.stats import pearsonr, spearmanr

    labels, predictions = np.asarray(labels, "float64"), np.asarray(predictions, "float64")
    labels, predictions = paired_arrays(labels, predictions, "[n]", "numbers", least=2)
    constant = np.ptp(labels) == 0 or np.ptp(predictions) == 0
    return {
        "pearson": 0.0 if constant else float(pearsonr(labels, predictions).statistic),
        "spearman": 0.0 if constant else float(spearmanr(labels, predictions).statistic),
        "mean_squared_error": float(np.mean((labels - predictions) ** 2)),
    }
