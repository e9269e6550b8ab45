"""The table of GLUE's tasks, and the zip of their answers."""

import zipfile

import pytest

from keras_bert.readers.glue_table import write_glue_table
from keras_bert.readers.glue_zip import zip_glue_submissions
from keras_bert.readers.table import read_table

HEADER = "seed batch_size learning_rate epochs epoch f1 accuracy score"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row.split()) + "\n" for row in rows))


def test_the_best_run_may_have_another_setting_than_the_best_mean(tmp_path):
    write(
        tmp_path / "mrpc/results.tsv",
        [
            HEADER,
            "0 16 2e-5 3 1 0.80 0.70 0.75",
            "0 16 2e-5 3 2 0.70 0.60 0.65",
            "1 16 2e-5 3 1 0.82 0.72 0.77",
            "0 32 2e-5 3 1 0.90 0.80 0.85",  # the best run, of a setting that also diverged
            "1 32 2e-5 3 1 nan nan nan",
        ],
    )
    table = read_table(write_glue_table(tmp_path))
    assert table["task"] == ["MRPC", "average of 1"]
    assert (table["mean"][0], table["deviation"][0], table["best"][0]) == ("81.00", "1.41", "90.00")
    assert (table["batch_size"][0], table["learning_rate"][0], table["epochs"][0]) == (
        *("16", "2e-5", "3"),
    )
    assert table["train"] == table["dev"] == ["", ""]


def test_a_lucky_seed_of_an_unfinished_setting_does_not_win(tmp_path):
    write(
        tmp_path / "mrpc/results.tsv",
        [
            HEADER,
            "0 16 2e-5 3 1 0.80 0.70 0.75",
            "1 16 2e-5 3 1 0.82 0.72 0.77",
            "0 32 2e-5 3 1 0.90 0.80 0.85",
        ],
    )
    table = read_table(write_glue_table(tmp_path))
    assert (table["mean"][0], table["seeds"][0], table["batch_size"][0]) == ("81.00", "2", "16")


def test_wnli_alone_has_no_average_and_no_figure_of_the_paper(tmp_path):
    write(tmp_path / "wnli/results.tsv", [HEADER, "0 16 2e-5 3 1 0.5 0.5 0.5"])
    table = read_table(write_glue_table(tmp_path))
    assert (table["task"], table["mean"], table["paper"]) == (["WNLI"], ["50.00"], [""])


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (HEADER, "0 16 2e-5 3 1 0.5 high 0.5", "line 2: 'high' in column 'accuracy'"),
        (HEADER, "one 16 2e-5 3 1 0.5 0.5 0.5", "line 2: 'one' in column 'seed'"),
        (HEADER, "0 16 2e-5 3 1 0.5", "line 2: 6 columns"),
        (HEADER.replace("accuracy", "mcc"), "0 16 2e-5 3 1 0.5 0.5 0.5", "no column 'accuracy'"),
    ],
)
def test_damaged_results_are_named(tmp_path, header, row, message):
    write(tmp_path / "wnli/results.tsv", [header, row])
    with pytest.raises(ValueError, match=rf"wnli/results\.tsv.*{message}"):
        write_glue_table(tmp_path)


def test_the_whole_of_table_1_has_the_average_of_the_paper(tmp_path):
    for task in ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte"):
        header = HEADER.replace("score", "mismatched_accuracy mcc spearman score")
        write(tmp_path / task / "results.tsv", [header, "0 16 2e-5 3 1 " + "0.5 " * 6])
    table = read_table(write_glue_table(tmp_path))
    assert table["task"][-1] == "average" and table["mean"][-1] == "50.00"
    assert table["paper"][-1] == "79.6" and len(table) == 10


def test_a_zip_lacks_no_answers_in_silence(tmp_path, caplog):
    write(tmp_path / "mnli/submission/MNLI-m.tsv", ["index prediction", "0 neutral"])
    write(tmp_path / "mnli/submission/AX.tsv", ["index prediction", "0 neutral"])
    names = ["AX.tsv", "MNLI-m.tsv"]
    assert zipfile.ZipFile(zip_glue_submissions(tmp_path, ["mnli"])).namelist() == names
    missing = "lacks CoLA.tsv, SST-2.tsv, MRPC.tsv, STS-B.tsv, QQP.tsv, MNLI-mm.tsv, QNLI.tsv"
    assert missing + ", RTE.tsv, WNLI.tsv." in caplog.text
    with pytest.raises(ValueError, match="rte/submission has no answers to a test set"):
        zip_glue_submissions(tmp_path, ["mnli", "rte"])
    assert zipfile.ZipFile(tmp_path / "submission.zip").namelist() == names  # the earlier one
