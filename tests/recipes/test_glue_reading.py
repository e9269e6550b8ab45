"""GLUE's files: its tasks as they are published, and answers as its server takes them."""

import sys
import types

import numpy as np

from glue.reading import GlueExamples, read_glue, read_tfds
from glue.submission import write_glue_submission
from glue.tasks import TASKS

MNLI = "index|promptID|pairID|genre|sentence1_binary_parse|sentence2_binary_parse|"
MNLI += "sentence1_parse|sentence2_parse|sentence1|sentence2"
MNLI_ROW = "7|31|31e|travel|( x )|( x )|( x )|( x )|The inn is full.|No bed."
MRPC = "#1 ID|#2 ID|#1 String|#2 String"
STSB = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"
STSB_ROW = "0|g|f|2012test|4|none|none|A dog runs.|A cat runs."
QQP = "id|qid1|qid2|question1|question2|is_duplicate"
QQP_ROW = "9|1|2|How old?|What is its age?|1"
QNLI, NLI = "index|question|sentence", "index|sentence1|sentence2"
INN, GO = "The inn is full.|No bed.", '"Go," he said.|He said go.'

# The official files, with | for tabs: task and split -> rows, the texts of the last and its label.
OFFICIAL = {
    "cola train": (
        ['gj04|0|*|He "slept the bed.', "gj04|1||They sang."],
        "They sang.",
        1,
    ),
    "cola test": (["index|sentence", "0|It rained."], "It rained.", None),
    "sst2 dev": (
        ["sentence|label", '" a slow , warm film |1'],
        '" a slow , warm film ',
        1,
    ),
    "mrpc train": ([f"\ufeffQuality|{MRPC}", f"1|12|13|{GO}"], GO, 1),
    "stsb dev": ([f"{STSB}|score", f"{STSB_ROW}|2.200"], "A dog runs.|A cat runs.", 2.2),
    "stsb test": ([STSB, STSB_ROW], "A dog runs.|A cat runs.", None),
    "qqp test": (["id|question1|question2", "0|How old?|Who?"], "How old?|Who?", None),
    "mnli dev_mismatched": ([f"{MNLI}|gold_label", f"{MNLI_ROW}|contradiction"], INN, 0),
    "mnli test_matched": ([MNLI, MNLI_ROW], INN, None),
    "qnli train": ([f"{QNLI}|label", "0|Who?|He did.|not_entailment"], "Who?|He did.", 1),
    "wnli dev": ([f"{NLI}|label", "40|Ann left.|She left.|1"], "Ann left.|She left.", 1),
    "ax test": ([NLI, "0|All is well.|Some is."], "All is well.|Some is.", None),
}


def write(folder, name, rows):
    text = "".join(row.replace("|", "\t") + "\r\n" for row in rows)
    (folder / f"{name}.tsv").write_bytes(text.encode())


def test_official_files_are_read_as_they_are(tmp_path):
    for which, (rows, texts, label) in OFFICIAL.items():
        task, split = which.split()
        write(tmp_path, "diagnostic" if task == "ax" else split, rows)
        examples = read_glue(tmp_path, task, split)
        assert [column[-1] for column in examples.texts] == texts.split("|"), which
        assert len(examples) == len(rows) - (which != "cola train")
        assert (examples.task, examples.split) == (TASKS[task].name, split)
        assert examples.label_names == TASKS[task].class_names()
        if label is None:
            assert examples.labels is None
        else:
            kind = np.float32 if task == "stsb" else np.int32
            np.testing.assert_array_equal(examples.labels[-1], kind(label), strict=True)


def test_malformed_rows_of_qqp_are_skipped_and_those_of_others_refused(tmp_path, caplog, refused):
    broken = ['9|1|2|"How', "old?|What is its age?|1"]  # a line break splits a row in two
    for split in ("train", "test"):
        write(tmp_path, split, [QQP, QQP_ROW, *broken, QQP_ROW])
    assert read_glue(tmp_path, "qqp", "train").labels.tolist() == [1, 1]
    assert "train.tsv: 2 rows skipped; line 3 has 4 columns" in caplog.text
    refused(r"test\.tsv, line 3: 4 columns.*has 6", read_glue, tmp_path, "qqp", "test")
    for task, split, rows, message in (
        (
            "rte",
            "dev",
            [f"{NLI}|label", "0|a|b|entails"],
            "line 2.*'entails'.*entailment, not_",
        ),
        ("stsb", "dev", ["sentence1|sentence2|score", "a|b|nan"], "line 2: 'nan'"),
        ("cola", "dev", ["sentence|label", "a|1"], "line 1: 2 columns.*files have 4"),
        ("ax", "test", [], "no diagnostic.tsv or AX.tsv or test.tsv"),
        ("snli", "dev", [], "no task 'snli'.*cola, sst2, mrpc.*dev_matched"),
    ):
        (tmp_path / "test.tsv").unlink(missing_ok=True)
        write(tmp_path, "dev", rows)
        refused(message, read_glue, tmp_path, task, split)


def test_tensorflow_datasets_gives_the_same_classes_in_the_order_of_the_files(
    monkeypatch,
):
    # Not the order of Google's code.
    theirs, asked = (
        ["entailment", "neutral", "contradiction"],
        [],
    )
    rows = [{"premise": b"p%d" % i, "hypothesis": b"h", "idx": i, "label": i} for i in (2, 0, 1)]

    def load(name, split, data_dir, with_info):
        asked.append((name, split, data_dir))
        label = types.SimpleNamespace(names=theirs)
        return rows, types.SimpleNamespace(features={"label": label})

    module = types.SimpleNamespace(load=load, as_numpy=list)
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", module)
    examples = read_tfds("a", "mnli", "dev_matched")
    assert asked == [("glue/mnli", "validation_matched", "a")]
    assert examples.texts == (["p0", "p1", "p2"], ["h"] * 3)
    assert [examples.label_names[label] for label in examples.labels] == theirs
    rows = [{**row, "label": -1} for row in rows]
    assert read_tfds("a", "mnli", "test_matched").labels is None
    rows = [{"sentence1": b"a", "sentence2": b"b", "idx": 0, "label": np.float32(2.5)}]
    assert read_tfds(None, "sts-b", "dev").labels.tolist() == [2.5]
    assert read_tfds(None, "sts-b", "test").labels is None


def test_submissions_match_the_servers_format(tmp_path):
    for task, split, predictions, name, answers in (
        ("sst2", "test", [1, 0], "SST-2.tsv", ["1", "0"]),
        ("stsb", "test", [-0.2, 3.14159, 5.4], "STS-B.tsv", ["0.000", "3.142", "5.000"]),
        ("rte", "test", [0, 1], "RTE.tsv", ["entailment", "not_entailment"]),
        ("mnli", "test_matched", [0], "MNLI-m.tsv", ["contradiction"]),
        ("mnli", "test_mismatched", [2], "MNLI-mm.tsv", ["neutral"]),
        ("ax", "test", [2, 0, 1], "AX.tsv", ["neutral", "contradiction", "entailment"]),
    ):
        texts = (["x"] * len(predictions),)
        examples = GlueExamples(TASKS[task].name, split, texts, None, TASKS[task].class_names())
        path = write_glue_submission(tmp_path / "submission", examples, np.array(predictions))
        lines = ["index\tprediction", *map("{}\t{}".format, range(9), answers)]
        assert path.name == name and path.read_bytes().decode() == "\n".join([*lines, ""])
