import numpy as np
import pytest

from keras_bert.readers.glue import MALFORMED, read_glue
from keras_bert.readers.glue_tasks import TASKS

MNLI_HEADER = (
    "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse "
    "sentence1_parse sentence2_parse sentence1 sentence2"
).split()
MRPC_HEADER = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def mnli_row(labels):
    return ["7", "31", "31e", "travel", *["( x )"] * 4, "The inn is full.", "No bed.", *labels]


# The official files: task and split, name, rows, texts and labels.
OFFICIAL = {
    "cola train": (
        "train.tsv",
        [["gj04", "0", "*", 'He "slept the bed.'], ["gj04", "1", "", "They sang."]],
        (['He "slept the bed.', "They sang."],),
        [0, 1],
    ),
    "cola test": (
        "test.tsv",
        [["index", "sentence"], ["0", "It rained."], ["1", "Rained it."]],
        (["It rained.", "Rained it."],),
        None,
    ),
    "sst2 dev": (
        "dev.tsv",
        [["sentence", "label"], ["a slow , warm film ", "1"], ['" dull ', "0"]],
        (["a slow , warm film ", '" dull '],),
        [1, 0],
    ),
    "sst2 test": ("test.tsv", [["index", "sentence"], ["0", "so so"]], (["so so"],), None),
    "mrpc train": (
        "train.tsv",
        [["\ufeffQuality", *MRPC_HEADER[1:]], ["1", "12", "13", '"Go," he said.', "He said go."]],
        (['"Go," he said.'], ["He said go."]),
        [1],
    ),
    "mrpc test": (
        "test.tsv",
        [["index", *MRPC_HEADER[1:]], ["0", "12", "13", "Prices rose.", "Prices fell."]],
        (["Prices rose."], ["Prices fell."]),
        None,
    ),
    "stsb dev": (
        "dev.tsv",
        [
            "index genre filename year old_index source1 source2 sentence1 sentence2 score".split(),
            ["0", "g", "f", "2012test", "4", "none", "none", "A dog runs.", "A cat runs.", "2.200"],
        ],
        (["A dog runs."], ["A cat runs."]),
        [2.2],
    ),
    "stsb test": (
        "test.tsv",
        [
            "index genre filename year old_index source1 source2 sentence1 sentence2".split(),
            ["0", "g", "f", "2012test", "4", "none", "none", "A dog runs.", "A cat runs."],
        ],
        (["A dog runs."], ["A cat runs."]),
        None,
    ),
    "qqp dev": (
        "dev.tsv",
        [
            "id qid1 qid2 question1 question2 is_duplicate".split(),
            ["9", "1", "2", "How old is Rome?", "What is Rome's age?", "1"],
        ],
        (["How old is Rome?"], ["What is Rome's age?"]),
        [1],
    ),
    "qqp test": (
        "test.tsv",
        [["id", "question1", "question2"], ["0", "How old is Rome?", "Who is old?"]],
        (["How old is Rome?"], ["Who is old?"]),
        None,
    ),
    "mnli train": (
        "train.tsv",
        [[*MNLI_HEADER, "label1", "gold_label"], mnli_row(["neutral", "entailment"])],
        (["The inn is full."], ["No bed."]),
        [1],
    ),
    "mnli dev_mismatched": (
        "dev_mismatched.tsv",
        [
            [*MNLI_HEADER, *(f"label{i}" for i in range(1, 6)), "gold_label"],
            mnli_row([*["neutral"] * 5, "contradiction"]),
        ],
        (["The inn is full."], ["No bed."]),
        [0],
    ),
    "mnli test_matched": (
        "test_matched.tsv",
        [MNLI_HEADER, mnli_row([])],
        (["The inn is full."], ["No bed."]),
        None,
    ),
    "qnli train": (
        "train.tsv",
        [["index", "question", "sentence", "label"], ["0", "Who?", "He did.", "not_entailment"]],
        (["Who?"], ["He did."]),
        [1],
    ),
    "rte dev": (
        "dev.tsv",
        [["index", *("sentence1", "sentence2", "label")], ["0", "It is so.", "So.", "entailment"]],
        (["It is so."], ["So."]),
        [0],
    ),
    "wnli dev": (
        "dev.tsv",
        [["index", *("sentence1", "sentence2", "label")], ["40", "Ann left.", "She left.", "1"]],
        (["Ann left."], ["She left."]),
        [1],
    ),
    "ax test": (
        "diagnostic.tsv",
        [["index", "sentence1", "sentence2"], ["0", "All is well.", "Some is."]],
        (["All is well."], ["Some is."]),
        None,
    ),
}


def write(folder, name, rows, line_end="\n"):
    path = folder / name
    path.write_bytes("".join("\t".join(row) + line_end for row in rows).encode())
    return path


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("which", OFFICIAL)
def test_official_files_are_read_as_they_are(tmp_path, which, line_end):
    (task, split), (name, rows, texts, labels) = which.split(), OFFICIAL[which]
    write(tmp_path, name, rows, line_end)
    examples = read_glue(tmp_path, task, split)
    assert examples.texts == texts and len(examples) == len(texts[0])
    assert (examples.task, examples.split) == (TASKS[task].name, split)
    assert examples.is_regression == (task == "stsb")
    if labels is None:
        assert examples.labels is None
    else:
        np.testing.assert_allclose(examples.labels, labels, rtol=1e-6)
        assert examples.labels.dtype == ("float32" if task == "stsb" else "int32")


def test_examples_show_task_split_and_classes(tmp_path):
    write(tmp_path, *OFFICIAL["rte dev"][:2])
    shown = "GlueExamples(RTE dev: 1 pairs of texts; classes entailment, not_entailment)"
    assert repr(read_glue(tmp_path, "rte", "dev")) == shown


def test_classes_are_numbered_as_in_googles_code():
    names = {task: TASKS[task].class_names() for task in TASKS}
    assert names["mnli"] == names["ax"] == ["contradiction", "entailment", "neutral"]
    assert names["rte"] == names["qnli"] == ["entailment", "not_entailment"]
    assert names["wnli"] == ["not_entailment", "entailment"]  # 0 and 1 in its files
    assert names["mrpc"] == ["not_equivalent", "equivalent"]
    assert names["stsb"] is None


@pytest.fixture
def qqp(tmp_path):
    """QQP with a row that a line break splits in two, as in its official file."""
    header, row = OFFICIAL["qqp dev"][1]
    broken = [[*row[:3], '"How old']], [["is Rome?", row[4], "1"]]
    for split in ("train", "dev", "test"):
        write(tmp_path, f"{split}.tsv", [header, row, *broken[0], *broken[1], row])
    return tmp_path


def test_malformed_rows_of_qqp_are_skipped_and_reported(qqp, caplog):
    for split in ("train", "dev"):
        examples = read_glue(qqp, "qqp", split)
        assert len(examples) == 2 and examples.labels.tolist() == [1, 1]
        report = examples.reports.as_dict()[MALFORMED]
        assert report == {"count": 2, "examples": ["line 3", "line 4"]}
        assert f"{split}.tsv: 2 {MALFORMED} (line 3; line 4)" in caplog.text


def test_malformed_rows_are_errors_where_every_row_counts(qqp, tmp_path):
    with pytest.raises(ValueError, match=r"test\.tsv, line 3: 4 columns.*has 6"):
        read_glue(qqp, "qqp", "test")
    with pytest.raises(ValueError, match=r"train\.tsv, line 3: 4 columns.*has 6"):
        read_glue(qqp, "qqp", "train", malformed="error")
    write(tmp_path, "dev.tsv", [["sentence", "label"], ["good", "1"], ["bad"]])
    with pytest.raises(ValueError, match=r"dev\.tsv, line 3: 1 columns.*has 2"):
        read_glue(tmp_path, "sst2", "dev")
    assert len(read_glue(tmp_path, "sst2", "dev", malformed="skip")) == 1


@pytest.mark.parametrize(
    ("task", "rows", "message"),
    [
        ("rte", [["sentence1", "sentence2", "label"], ["a", "b", "entails"]], "line 2.*'entails'"),
        ("rte", [["sentence1", "sentence2", "label"], ["a", "b", "-"]], "entailment, not_ent"),
        ("rte", [["sentence1", "sentence2"], ["a", "b"]], "no column 'label'"),
        ("rte", [["premise", "sentence2", "label"], ["a", "b", "-"]], "no column 'sentence1'"),
        ("stsb", [["sentence1", "sentence2", "score"], ["a", "b", "high"]], "line 2: 'high'"),
        ("cola", [["sentence", "label"], ["a", "1"]], "line 1: 2 columns.*files have 4"),
        ("cola", [["x", "yes", "", "a"]], "line 1: the label 'yes'"),
    ],
)
def test_bad_files_are_refused_with_the_line(tmp_path, task, rows, message):
    write(tmp_path, "dev.tsv", rows)
    with pytest.raises(ValueError, match=message):
        read_glue(tmp_path, task, "dev")


def test_missing_tasks_splits_and_files_are_named(tmp_path):
    with pytest.raises(ValueError, match="has no train.tsv, the train set of RTE"):
        read_glue(tmp_path, "rte", "train")
    with pytest.raises(ValueError, match="no diagnostic.tsv or AX.tsv or test.tsv"):
        read_glue(tmp_path, "ax", "test")
    with pytest.raises(ValueError, match="split of MNLI must be.*'dev_matched'.*got 'dev'"):
        read_glue(tmp_path, "mnli", "dev")
    with pytest.raises(ValueError, match="no task 'snli'"):
        read_glue(tmp_path, "snli", "dev")
