"""Files for GLUE's server."""

import numpy as np
import pytest

from glue.reading import GlueExamples
from glue.submission import write_glue_submission
from glue.tasks import TASKS


def unlabeled(task, count, split):
    task = TASKS[task]
    texts = (["x"] * count,)
    return GlueExamples(task.name, split, texts, None, task.class_names())


@pytest.mark.parametrize(
    ("task", "split", "predictions", "name", "answers"),
    [
        ("sst2", "test", [1, 0], "SST-2.tsv", ["1", "0"]),
        ("stsb", "test", [-0.2, 3.14159, 5.4], "STS-B.tsv", ["0.000", "3.142", "5.000"]),
        ("rte", "test", [0, 1], "RTE.tsv", ["entailment", "not_entailment"]),
        ("mnli", "test_mismatched", [2], "MNLI-mm.tsv", ["neutral"]),
        ("ax", "test", [2, 0, 1], "AX.tsv", ["neutral", "contradiction", "entailment"]),
    ],
)
def test_submissions_match_the_servers_format(tmp_path, task, split, predictions, name, answers):
    examples = unlabeled(task, len(predictions), split)
    path = write_glue_submission(tmp_path / "submission", examples, np.array(predictions))
    expected = [f"{index}\t{answer}" for index, answer in enumerate(answers)]
    assert path.name == name
    assert path.read_bytes().decode() == "\n".join(["index\tprediction", *expected]) + "\n"
