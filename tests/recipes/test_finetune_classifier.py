import json

import pytest

import keras_bert

SETTINGS = "--sequence_length 12 --batch_size 8 --learning_rate 1e-2"
OF_TABLES = ["--text_template", "the {Kind} is {Mood}.", "--number_columns", "Price", "Pages"]


@pytest.fixture
def files(write_table, tmp_path):
    """Reviews whose class is that of one word in them."""
    rows = [("text", "label", "rating")]
    for i in range(240):
        words, opinion = [("very very good", "pro"), ("so so bad", "contra")][i % 2]
        rows.append((f"the {['book', 'film', 'day'][i % 3]} is {words}.", opinion, i % 5))
    ends = {"train": 241, "dev": 21, "test": 13}
    return {name: write_table(tmp_path / f"{name}.tsv", *rows[:end]) for name, end in ends.items()}


def test_it_learns_and_writes_what_it_says(rows_of, finetuned, files):
    output, history = finetuned(files, "--epochs", "2")
    assert len(history) == 2 and set(history[0]) == {"accuracy", "f1", "mcc"}
    assert max(scores["accuracy"] for scores in history) == 1.0
    predicted = rows_of(output / "test_predictions.tsv")
    assert [row["label"] for row in predicted] == ["pro", "contra"] * 6
    assert all(abs(float(row["pro"]) + float(row["contra"]) - 1) < 1e-4 for row in predicted)
    assert len(rows_of(output / "dev_predictions.tsv")) == 20
    best = keras_bert.BertClassifier.from_preset(output / "best")
    assert best.preprocessor.label_names == ["contra", "pro"]


@pytest.mark.slow
def test_regression_selected_on_a_part_of_the_texts(rows_of, arguments, module, files, tmp_path):
    line = arguments(files, "--regression", "--epochs", "1")
    line[line.index("--dev") : line.index("--test")] = ["--validation_split", "0.25"]
    module.main([*line, "--label_column", "rating"])
    history = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert set(history[0]) == {"pearson", "spearman", "mean_squared_error"}
    assert set(rows_of(tmp_path / "out" / "test_predictions.tsv")[0]) == {"index", "score"}


def test_flags_reach_the_model(arguments, module, preset, files):
    args = module.parse_args(arguments(files))
    taken = module.make_model(args, ["a", "b"]).backbone.get_weights()
    more = "--from_scratch --multi_label --window_stride 4 --truncation tail".split()
    args = module.parse_args(arguments(files, *more))
    (_, labels), names = module.read_examples(files["dev"], args)
    assert labels[:2] == [["pro"], ["contra"]] and names == ["contra", "pro"]
    model = module.make_model(args, names)
    preprocessor = model.preprocessor
    assert preprocessor.multi_label and preprocessor.label_names == names
    assert (preprocessor.window_stride, preprocessor.truncation) == (4, "tail")
    saved = keras_bert.BertPretrainer.from_preset(preset).backbone.get_weights()
    assert all((a == b).all() for a, b in zip(taken, saved, strict=True))
    assert not (model.backbone.get_weights()[0] == saved[0]).all()


def test_one_class_is_refused(arguments, module, files, refused):
    with open(files["train"], "w") as file:
        print("text\tlabel\nit is fine\tpro", file=file)
    refused("only one class", module.main, arguments(files))


@pytest.fixture
def tables(write_table, tmp_path):
    """Rows whose class is "rare" if a number is large, whatever their texts say."""
    rows = [("Kind", "Mood", "Pages", "Price", "label")]
    for i in range(80):
        kind, mood = [("film", "good"), ("book", ""), ("day", "dull")][i % 3]
        price, label = (900 + i % 3, "rare") if i % 5 == 0 else (300 + i % 7, "common")
        rows.append((kind, mood, 7, price, label))
    ends = {"train": 81, "dev": 21, "test": 11}
    return {name: write_table(tmp_path / f"{name}.csv", *rows[:end]) for name, end in ends.items()}


@pytest.mark.slow
def test_it_learns_from_numbers_of_rare_classes(rows_of, finetuned, tables):
    more = ["--epochs", "3", "--class_weight", "balanced"]
    more += ["--window_stride", "5", "--truncation", "head_tail"]
    more += [*OF_TABLES, "--learning_rate", "2e-2"]
    output, scores = finetuned(tables, *more)
    assert max(epoch["accuracy"] for epoch in scores) == 1.0
    assert json.loads((output / "test_scores.json").read_text())["mcc"] == 1.0
    predicted = [row["label"] for row in rows_of(output / "test_predictions.tsv")]
    assert predicted == ["rare", "common", "common", "common", "common"] * 2
    best = keras_bert.BertClassifier.from_preset(output / "best")
    own = best.preprocessor
    assert (best.num_features, own.window_stride, own.truncation) == (2, 5, "head_tail")
    assert own.label_names == ["common", "rare"]


def test_texts_come_from_a_column_or_from_a_template(arguments, module, tables):
    args = module.parse_args(arguments(tables, "--text_column", "Kind"))
    (x, labels), names = module.read_examples(tables["dev"], args)
    assert x == {"text": ["film", "book", "day"] * 6 + ["film", "book"]}
    assert (names, labels[:2]) == (["common", "rare"], ["rare", "common"])
