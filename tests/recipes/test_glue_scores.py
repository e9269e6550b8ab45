import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from glue.tasks import TASKS, glue_scores


def drawn(task, seed):
    """Labels and predictions of a task, drawn at random but related."""
    random = np.random.default_rng(seed)
    if task == "stsb":
        labels = random.uniform(0, 5, 57).round(1)  # with ties
        return labels, labels + random.normal(0, 2, 57)
    num_classes = 3 if task in ("mnli", "ax") else 2
    labels = random.integers(0, num_classes, 57)
    other = random.integers(0, num_classes, 57)
    return labels, np.where(random.random(57) < 0.6, labels, other)


REFERENCES = {
    "mcc": metrics.matthews_corrcoef,
    "accuracy": metrics.accuracy_score,
    "f1": metrics.f1_score,
    "pearson": lambda *both: stats.pearsonr(*both)[0],
    "spearman": lambda *both: stats.spearmanr(*both)[0],
}


@pytest.mark.parametrize("task", TASKS)
def test_scores_are_those_of_scikit_learn_and_scipy(task):
    for seed in range(20):
        labels, predictions = drawn(task, seed)
        scores = glue_scores(task, labels, predictions)
        expected = {name: REFERENCES[name](labels, predictions) for name in TASKS[task].metrics}
        expected["score"] = sum(expected.values()) / len(expected)
        assert list(scores) == list(expected)
        for name, value in expected.items():
            assert scores[name] == pytest.approx(value, abs=1e-12)


def test_a_third_class_is_one_of_mnli_only(refused):
    assert glue_scores("MNLI", [0, 1, 2], [0, 1, 1])["score"] == pytest.approx(2 / 3)
    refused("0 to 1", glue_scores, "RTE", [0, 1, 2], [0, 1, 1])


def test_tasks_are_known_however_they_are_written():
    for name in ("STS-B", "sts-b", "STSB", "sts_b"):
        assert glue_scores(name, [0.0, 1.0, 5.0], [0.0, 2.0, 3.0])["spearman"] == 1.0
