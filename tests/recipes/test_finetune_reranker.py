import json

import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --batch_size 8 --learning_rate 5e-3"

ROWS = [
    ("the book", "very good", 1),
    ("the book", "was dull", 0),
    ("a film", "bad day", 0),
    ("a film", "good day", 1),
]


@pytest.fixture
def files(write_table, tmp_path):
    """Documents of which those with "good" are relevant, as TSV and JSONL, and a teacher's."""
    taught = [
        {"query": good[0], "document": good[1], "worse": bad[1], "margin": margin}
        for good, bad, margin in ((ROWS[3], ROWS[2], 4), (ROWS[0], ROWS[1], 5))
    ]
    (tmp_path / "taught.jsonl").write_text("\n".join(map(json.dumps, taught * 24)))
    for name, rows in (("train", ROWS * 12), ("dev", ROWS)):
        write_table(tmp_path / f"{name}.tsv", ("query", "document", "relevance"), *rows)
    return {path.stem: str(path) for path in tmp_path.iterdir()}


def test_it_learns_and_writes_what_it_says(finetuned, files):
    output, history = finetuned(files, "--epochs", "2", "--test", files["dev"])
    assert len(history) == 2 and max(scores["mrr@10"] for scores in history) == 1.0
    lines = (output / "dev_predictions.tsv").read_text().splitlines()
    assert lines[0] == "index\tscore" and len(lines) == 5
    assert json.loads((output / "test_scores.json").read_text())["map"] == 1.0
    best = keras_bert.BertTask.from_preset(output / "best")
    assert type(best) is keras_bert.BertReranker
    assert best.rank("the book", ["was dull", "very good"])[0]["index"] == 1


@pytest.mark.slow
def test_it_learns_from_a_teacher(finetuned, files):
    more = ("--negative_column", "worse", "--teacher_column", "margin", "--epochs", "1")
    output, _ = finetuned({**files, "train": files["taught"]}, *more)
    best = keras_bert.BertTask.from_preset(output / "best")
    assert best.preprocessor.activation == "linear"
    good, dull = best.answer([("the book", "very good"), ("the book", "was dull")])
    assert good["score"] > dull["score"]
