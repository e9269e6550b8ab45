import json

import pytest

import keras_bert

ROWS = [
    ("the book", "very good", 1),
    ("the book", "was dull", 0),
    ("a film", "bad day", 0),
    ("a film", "good day", 1),
]


@pytest.fixture
def files(tmp_path):
    """Documents of which those with "good" are relevant, as TSV and JSONL, and a teacher's."""
    paths = {}
    for name, count in (("train", 48), ("dev", 4)):
        paths[name] = str(tmp_path / f"{name}.tsv")
        with open(paths[name], "w") as file:
            print("query", "document", "relevance", sep="\t", file=file)
            for i in range(count):
                print(*ROWS[i % 4], sep="\t", file=file)
    paths["taught"] = str(tmp_path / "taught.jsonl")
    with open(paths["taught"], "w") as file:
        for i in range(48):
            better, worse = (ROWS[0], ROWS[1]) if i % 2 else (ROWS[3], ROWS[2])
            row = {"query": better[0], "document": better[1], "worse": worse[1]}
            print(json.dumps({**row, "margin": 4 + i % 2}), file=file)
    return paths


def arguments(preset, files, output, *more):
    return [
        "--init", str(preset), "--output", str(output),
        "--train", files["train"], "--dev", files["dev"],
        "--sequence_length", "12", "--batch_size", "8", "--learning_rate", "5e-3", *more,
    ]  # fmt: skip


def test_it_learns_and_writes_what_it_says(recipe, preset, files, tmp_path, capsys):
    output = tmp_path / "out"
    more = ("--epochs", "2", "--test", files["dev"], "--hugging_face")
    recipe("finetune_reranker").main(arguments(preset, files, output, *more))
    history = json.loads((output / "scores.json").read_text())
    assert len(history) == 2 and max(scores["mrr@10"] for scores in history) == 1.0
    lines = (output / "dev_predictions.tsv").read_text().splitlines()
    assert lines[0] == "index\tscore" and len(lines) == 5
    assert json.loads((output / "test_scores.json").read_text())["map"] == 1.0
    for folder in ("best", "hugging_face"):
        best = keras_bert.BertTask.from_preset(output / folder)
        assert type(best) is keras_bert.BertReranker
        assert best.rank("the book", ["was dull", "very good"])[0]["index"] == 1
    assert str(output / "best") in capsys.readouterr().out


@pytest.mark.slow
def test_it_learns_from_a_teacher(recipe, preset, files, tmp_path):
    output = tmp_path / "out"
    more = ("--negative_column", "worse", "--teacher_column", "margin", "--epochs", "1")
    files = {**files, "train": files["taught"]}
    recipe("finetune_reranker").main(arguments(preset, files, output, *more))
    best = keras_bert.BertTask.from_preset(output / "best")
    assert best.preprocessor.activation == "linear"
    good, dull = best.answer([("the book", "very good"), ("the book", "was dull")])
    assert good["score"] > dull["score"]


def test_files_are_read_before_long_work(recipe, preset, files, tmp_path):
    module = recipe("finetune_reranker")
    with open(files["dev"], "a") as file:
        print("the film\tgood\thigh", file=file)
    with pytest.raises(ValueError, match="dev.tsv, line 6: 'high' in column 'relevance'"):
        module.main(arguments(preset, files, tmp_path / "out"))
    with open(files["train"], "a") as file:
        print("the film\tgood\t3", file=file)
    with pytest.raises(ValueError, match="relevance from 0 to 1.*example 48 is 3"):
        module.main(arguments(preset, {**files, "dev": files["train"]}, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
