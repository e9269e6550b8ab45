"""Scores as tables of pandas."""

import sys

import numpy as np
import pytest

from keras_bert import entity_scores, score_frame

pytest.importorskip("pandas", reason='pip install ".[dev]"')


def test_scores_of_a_model_and_its_classes_are_rows():
    scores = entity_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    frame = score_frame(scores)
    assert [*frame.index] == ["all", "LOC", "PER"]
    assert frame.loc["LOC", "f1"] == 1 and frame.loc["all", "accuracy"] == 0.75
    assert frame.loc["PER", "true"] == 1 and np.isnan(frame.loc["PER", "accuracy"])
    assert [*score_frame({"pearson": 0.5}).loc["all"]] == [0.5]


def test_epochs_and_runs_are_rows():
    frame = score_frame([{"f1": 0.5, "types": {"LOC": {"f1": 1}}}, {"f1": 0.75, "types": {}}])
    assert [*frame.index] == [1, 2] and frame.index.name == "epoch" and [*frame] == ["f1"]
    runs = [{"learning_rate": 5e-5, "epoch": 3, "f1": 0.5}, {"learning_rate": 2e-5, "epoch": 2}]
    frame = score_frame(runs)
    assert [*frame] == ["learning_rate", "epoch", "f1"] and [*frame.index] == [0, 1]


def test_metrics_are_columns_with_means_over_seeds():
    scores = [
        {"row": row, "metric": metric, "seed": seed, "value": value + seed, "step": None}
        for row, metric, value in (("No NSP", "F1", 80.0), ("BERT", "F1", 90.0), ("BERT", "acc", 5))
        for seed in range(3)
    ]
    frame = score_frame(scores)
    assert [*frame.index] == ["No NSP", "BERT"] and [*frame] == ["F1", "acc"]
    assert [*frame["F1"]] == [81, 91] and np.isnan(frame.loc["No NSP", "acc"])
    frame = score_frame([{**score, "step": 10 * score["seed"]} for score in scores])
    assert frame.loc[("BERT", 20), "F1"] == 92 and len(frame) == 6
    glue = [{"metric": m, "seed": s, "value": s + 0.5} for m in ("RTE", "CoLA") for s in (1, 0)]
    frame = score_frame(glue)
    assert [*frame] == ["RTE", "CoLA"] and frame.loc[0, "CoLA"] == 0.5
    assert score_frame([{"metric": "F1", "value": 3.0}])["F1"].tolist() == [3]


def test_no_scores_and_no_pandas_are_refused(monkeypatch):
    for wrong, shown in (([], "list without any"), ({}, "dict"), ([0.5], "list"), (["a"], "list")):
        with pytest.raises(ValueError, match=f"takes a dict of scores, .*got {shown}"):
            score_frame(wrong)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        score_frame({"f1": 0.5})
