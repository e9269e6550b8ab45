import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from glue.tasks import TASKS, glue_scores

REFERENCES = {
    "mcc": metrics.matthews_corrcoef,
    "accuracy": metrics.accuracy_score,
    "f1": metrics.f1_score,
    "pearson": lambda *both: stats.pearsonr(*both)[0],
    "spearman": lambda *both: stats.spearmanr(*both)[0],
}


@pytest.mark.parametrize("task", TASKS)
def test_scores_are_those_of_scikit_learn_and_scipy(task):
    random = np.random.default_rng(1)
    classes = TASKS[task].values
    labels = random.integers(0, 6 if classes is None else len(classes), 57)  # with ties
    predictions = np.where(random.random(57) < 0.6, labels, random.permutation(labels))
    scores = glue_scores(task, labels, predictions)
    expected = {name: REFERENCES[name](labels, predictions) for name in TASKS[task].metrics}
    expected["score"] = sum(expected.values()) / len(expected)
    assert scores == pytest.approx(expected, abs=1e-12)
