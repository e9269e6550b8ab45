"""A model's row of GLUE's table, from the results of its tasks."""

import numpy as np

from keras_bert.recipes.glue.results import read_glue_results

HEADER = "seed batch_size learning_rate epochs epoch f1 accuracy score"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row.split()) + "\n" for row in rows))


def test_a_lucky_seed_and_a_setting_that_diverged_do_not_win(tmp_path):
    rows = """
    0 16 2e-5 3 1 0.80 0.70 0.75
    0 16 2e-5 3 2 0.70 0.60 0.65
    1 16 2e-5 3 1 0.82 0.72 0.77
    0 32 2e-5 3 1 0.90 0.80 0.85
    0 32 5e-5 3 1 0.90 0.80 0.85
    1 32 5e-5 3 1 nan nan nan"""
    write(tmp_path / "mrpc/results.tsv", [HEADER, *rows.splitlines()[1:]])
    found = [(s["metric"], s["seed"], s["value"]) for s in read_glue_results(tmp_path)]
    assert found == [
        ("MRPC", 0, 80.0), ("MRPC", 1, 82.0), ("average of 1", 0, 80.0), ("average of 1", 1, 82.0),
    ]  # fmt: skip


def test_the_whole_of_table_1_has_the_average_of_the_paper(tmp_path):
    for task in ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"):
        header = HEADER.replace("score", "mismatched_accuracy mcc spearman score")
        write(tmp_path / task / "results.tsv", [header, "0 16 2e-5 3 1 " + "0.5 " * 6])
    *columns, average = read_glue_results(tmp_path)
    assert len(columns) == 9 and average["metric"] == "average"
    assert np.isclose(average["value"], 50.0)
