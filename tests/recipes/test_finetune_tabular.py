import csv
import json

import pytest

import keras_bert


@pytest.fixture
def files(tmp_path):
    """Rows whose class is "rare" where a number is large, whatever their texts say."""
    paths = {}
    for name, rows in (("train", 80), ("dev", 20), ("test", 10)):
        paths[name] = str(tmp_path / f"{name}.csv")
        with open(paths[name], "w") as file:
            print("Kind,Mood,Pages,Price,label", file=file)
            for i in range(rows):
                label = "rare" if i % 5 == 0 else "common"
                price = 900 + i % 3 if label == "rare" else 300 + i % 7
                mood = ["good", "", "dull"][i % 3]
                print(f"{'film book day'.split()[i % 3]},{mood},7,{price},{label}", file=file)
    return paths


def arguments(preset, files, output, *more):
    return [
        "--init", str(preset), "--output", str(output),
        "--train", files["train"], "--dev", files["dev"], "--test", files["test"],
        "--text_template", "the {Kind} is {Mood}.", "--number_columns", "Price", "Pages",
        "--sequence_length", "12", "--batch_size", "8", "--learning_rate", "2e-2", *more,
    ]  # fmt: skip


def test_it_learns_from_numbers_and_writes_what_it_says(recipe, preset, files, tmp_path, capsys):
    output = tmp_path / "out"
    more = ["--epochs", "4", "--class_weight", "balanced", "--window_stride", "5"]
    recipe("finetune_tabular").main(arguments(preset, files, output, *more))
    scores = json.loads((output / "scores.json").read_text())
    assert max(epoch["accuracy"] for epoch in scores) == 1.0
    assert json.loads((output / "test_scores.json").read_text())["mcc"] == 1.0
    with open(output / "test_predictions.tsv") as file:
        predicted = [row["label"] for row in csv.DictReader(file, delimiter="\t")]
    assert predicted == ["rare", "common", "common", "common", "common"] * 2
    best = keras_bert.BertClassifier.from_preset(output / "best")
    assert (best.num_features, best.window_stride, best.label_names) == (2, 5, ["common", "rare"])
    assert str(output / "best") in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--text_template", "{Sort}."], "no column 'Sort'.*Kind, Mood, Pages, Price, label"),
        (["--number_columns", "Mood"], "train.csv, line 2: 'good' in column 'Mood' is not a"),
        (["--label_column", "lable"], "no column 'lable'.*Did you mean 'label'"),
    ],
)
def test_what_is_wrong_in_files_is_said_before_work_starts(
    recipe, preset, files, tmp_path, more, message
):
    with pytest.raises(ValueError, match=message):
        recipe("finetune_tabular").main(arguments(preset, files, tmp_path / "out", *more))


def test_texts_come_from_a_column_or_from_a_template(recipe, preset, files, capsys):
    module = recipe("finetune_tabular")
    with pytest.raises(SystemExit):
        module.parse_args(arguments(preset, files, "out", "--text_column", "Kind"))
    assert "either --text_column or --text_template" in capsys.readouterr().err
    args = module.parse_args(arguments(preset, files, "out"))
    args.text_template, args.text_column, args.number_columns = None, "Kind", []
    x, labels, names = module.read_examples(files["dev"], args)
    assert x == {"text": ["film", "book", "day"] * 6 + ["film", "book"]}
    assert (names, labels[:2].tolist()) == (["common", "rare"], [1, 0])
