import json

import pytest

import keras_bert

PAIRS = [
    ("the book", "very good", "bad", 5),
    ("a film", "was dull", "good", 1),
    ("the day", "good day", "dull film", 4),
    ("a good book", "the film", "bad day", 0),
]


@pytest.fixture
def files(tmp_path):
    found = {}
    for name, count in (("train", 16), ("dev", 4)):
        found[name] = str(tmp_path / f"{name}.tsv")
        with open(found[name], "w") as file:
            print("anchor", "positive", "negative", "score", "kind", sep="\t", file=file)
            for i in range(count):
                print(*PAIRS[i % 4], "ab"[i % 2], sep="\t", file=file)
    return found


def run(recipe, preset, files, output, *more):
    recipe("finetune_embedder").main(
        [
            "--init", str(preset), "--output", str(output), "--train", files["train"],
            "--dev", files["dev"], "--sequence_length", "12", "--batch_size", "8",
            "--epochs", "2", *more,
        ]
    )  # fmt: skip
    return json.loads((output / "scores.json").read_text())


@pytest.mark.parametrize(
    ("columns", "score"),
    [
        pytest.param(
            ["--text_columns", "anchor", "positive", "negative"], "accuracy", marks=pytest.mark.slow
        ),
        (["--text_columns", "anchor", "positive", "--score_column", "score"], "spearman"),
        pytest.param(
            ["--text_columns", "anchor", "--label_column", "kind"],
            "accuracy",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_columns_decide_on_the_training(recipe, preset, files, tmp_path, columns, score):
    history = run(recipe, preset, files, tmp_path / "out", *columns, "--epochs", "1")
    assert [score in scores for scores in history] == [True]


def test_it_writes_what_it_says(assert_close, recipe, preset, files, tmp_path):
    output = tmp_path / "out"
    history = run(
        recipe, preset, files, output, "--test", files["dev"],
        "--hugging_face", "--matryoshka_dims", "16", "4",
    )  # fmt: skip
    assert len(history) == 2 and json.loads((output / "test_scores.json").read_text())["mrr@10"]
    best, theirs = (
        keras_bert.BertTask.from_preset(output / name) for name in ("best", "hugging_face")
    )
    assert best.matryoshka_dims == (16, 4) and best.pooling == theirs.pooling == "mean"
    vectors = [model.predict(["the good book"], verbose=0) for model in (best, theirs)]
    assert_close(*vectors)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["--text_columns", "anchor"], "one of --text_columns needs --label_column"),
        (["--label_column", "kind"], "--label_column needs one of --text_columns"),
        (["--text_columns", "a", "b", "c", "--score_column", "s"], "needs two --text_columns"),
    ],
)
def test_columns_that_do_not_fit_are_refused(recipe, capsys, columns, message):
    with pytest.raises(SystemExit):
        recipe("finetune_embedder").parse_args(
            ["--init", "a", "--train", "b", "--dev", "c", "--output", "d", *columns]
        )
    assert message in capsys.readouterr().err
