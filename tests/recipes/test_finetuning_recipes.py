"""The recipes that fine-tune: each learns a few examples, and reads the columns that it is told."""

import json

import keras
import numpy as np
import pytest

import keras_bert

SETTINGS = "--sequence_length 20 --batch_size 8 --learning_rate 1e-2 --epochs 2"
PETS = [("Kind", "Mood", "Pages", "Price", "label")]
PETS += [("film", "good", 7, 900, "rare"), *[("day", "dull", 8, 300, "common")] * 4] * 16
CHOICES = [
    ("o", "the book was", "bad", "good", "dull", 1),
    ("o", "so it is", "very good", "very dull", "bad", 0),
    ("o", "the film", "good", "dull", "but bad", 0),
]
QUESTION = {"context": "it was a", "choices": ["dull", "good"]}
TAUGHT = [("query", "document", "worse", "margin", "relevance")]
TAUGHT += [
    ("a film", "good day", "bad day", 4, 1),
    ("a film", "bad day", "good day", -4, 0),
    ("the book", "very good", "was dull", 5, 1),
    ("the book", "was dull", "very good", -5, 0),
] * 12
PAIRS = [
    ("anchor", "positive", "negative", "score", "kind"),
    ("the book", "very good", "bad", 5, "a"),
    ("a film", "was dull", "good", 1, "b"),
    ("the day", "good day", "dull film", 4, "a"),
]
CONTEXT = "the Film was very good, and the book so bad."


def squad(*words):
    """Questions of one word, which is the answer if the text has it; else there is none."""
    questions = []
    for number, word in enumerate(words * 48):
        start = CONTEXT.find(word)
        answers = [{"text": word, "answer_start": start}] if start >= 0 else []
        question = {
            "id": str(number),
            "question": f"{word} {word}",
            "is_impossible": not answers,
        }
        questions.append({**question, "answers": answers})
    paragraphs = [{"context": CONTEXT, "qas": questions}]
    return json.dumps({"version": "x", "data": [{"title": "", "paragraphs": paragraphs}]})


DOCUMENT = """-DOCSTART- -X- O O

the X O O
book X O I-THING

so X O O
good X O O

a X O O
film X O I-EVENT
day X O I-EVENT
, X O O
and X O O

the X O O
very X O O
dull X O O
book X O I-THING
book X O B-THING

"""
TAGS = DOCUMENT * 40


def saved(output):
    return keras_bert.BertTask.from_preset(output / "best")


def has_tags(output):
    answers = (output / "test_predictions.txt").read_text()
    return answers.startswith("the O O\nbook B-THING B-THING\n\n")


def combines_layers(output):
    best = keras.models.load_model(output / "best.keras")
    return has_tags(output) and np.all(best.get_layer("layer_combination").get_weights()[0])


RUNS = {  # recipe: file, rows, options, a score that gets above a bound, and what is saved
    "finetune_classifier": (
        "pets.csv",
        PETS,
        "--text_template {Kind}.{Mood} --number_columns Price Pages --class_weight balanced "
        "--window_stride 5 --truncation head_tail",
        "mcc",
        0.99,
        lambda output: (
            (saved(output).num_features, saved(output).preprocessor.window_stride) == (2, 5)
            and saved(output).preprocessor.label_names == ["common", "rare"]
        ),
    ),
    "finetune_choice": (
        "choices.tsv",
        CHOICES * 16,
        "",
        "accuracy",
        0.99,
        lambda output: saved(output).answer(QUESTION)["choice"] == "good",
    ),
    "finetune_embedder": (
        "pairs.tsv",
        PAIRS,
        "--matryoshka_dims 16 4 --pooling max",
        "mrr@10",
        0.3,
        lambda output: (saved(output).matryoshka_dims, saved(output).pooling) == ((16, 4), "max"),
    ),
    "finetune_reranker": (
        "taught.tsv",
        TAUGHT,
        "--negative_column worse --teacher_column margin",
        "mrr@10",
        0.99,
        lambda output: saved(output).preprocessor.activation == "linear",
    ),
    "finetune_squad": (
        "squad.json",
        squad("good", "bad", "dull"),
        "--max_question_length 4 --document_stride 6 --max_answer_length 3 --epochs 4",
        "NoAns_f1",
        30,
        lambda output: saved(output).preprocessor.null_threshold != 0.0,
    ),
    "finetune_ner": (
        "tags.txt",
        TAGS,
        "--document_context --learning_rate 2e-2 --epochs 8",
        "f1",
        0.99,
        has_tags,
    ),
    "train_bilstm_tagger": (
        "tags.txt",
        TAGS,
        "--units 8 --layers -1 -2 --combine weighted --learning_rate 2e-2",
        "f1",
        0.99,
        combines_layers,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_it_learns_and_writes_what_it_says(name, recipe, arguments, write_table, tmp_path):
    file, rows, options, score, bound, is_saved = RUNS[name]
    files = {}
    for part in ("train", "dev", "test"):
        path = tmp_path / part / file
        files[part] = str(path)
        if isinstance(rows, str):
            path.parent.mkdir()
            path.write_text(rows)
        else:
            write_table(path, *(rows if part == "train" else rows[:5]))
    recipe(name).main(arguments(files, *options.split()))
    history = json.loads((tmp_path / "out/scores.json").read_text())
    best = max(epoch[score] for epoch in history)
    assert len(history) >= 2 and best > bound
    assert json.loads((tmp_path / "out/test_scores.json").read_text())[score] == best
    assert is_saved(tmp_path / "out")


def test_questions_that_all_have_answers_get_one(recipe, arguments, tmp_path, monkeypatch):
    (tmp_path / "squad.json").write_text(squad("good", "bad"))
    found = []
    monkeypatch.setattr(keras_bert, "finetune", lambda model, *_, **__: found.append(model))
    files = dict.fromkeys(("train", "dev"), str(tmp_path / "squad.json"))
    recipe("finetune_squad").main(arguments(files, "--max_question_length", "4"))
    assert found[0].preprocessor.null_threshold is None


def columns(rows, count):
    return tuple(map(list, zip(*rows[1:], strict=True)))[:count]


LABELS = [("text", "label"), ("a", "b|a")]
COLUMNS = [  # recipe, rows, options; what it reads
    (
        "classifier",
        PETS[:3],
        "--text_column Kind --pair_column Mood --number_columns Price",
        ({"text": columns(PETS[:3], 2), "features": [[900], [300]]}, ["rare", "common"]),
        ["common", "rare"],
    ),
    (
        "classifier",
        PETS[:3],
        "--text_template {Kind}s --regression --label_column Pages",
        ({"text": ["films", "days"]}, [7, 8]),
        None,
    ),
    ("classifier", LABELS, "--multi_label", ({"text": ["a"]}, [["b", "a"]]), ["a", "b"]),
    (
        "embedder",
        PAIRS,
        "--text_columns anchor positive negative",
        columns(PAIRS, 3),
        None,
    ),
    ("embedder", PAIRS, "--score_column score", columns(PAIRS, 2), [5, 1, 4]),
    (
        "embedder",
        PAIRS,
        "--text_columns kind --label_column kind",
        *[["a", "b", "a"]] * 2,
    ),
]


def test_texts_numbers_and_labels_come_from_columns(
    recipe, arguments, write_table, tmp_path, refused
):
    path = tmp_path / "rows.tsv"
    for name, rows, options, *expected in COLUMNS:
        module = recipe(f"finetune_{name}")
        args = module.parse_args(arguments({"train": "t", "dev": "d"}, *options.split()))
        write_table(path, *rows)
        np.testing.assert_equal(module.read_examples(path, args), tuple(expected))
    args = recipe("finetune_classifier").parse_args(arguments({"train": "t", "dev": "d"}))
    write_table(path, *LABELS)
    refused("only one class", recipe("finetune_classifier").read_examples, path, args)


def test_other_columns_and_schemes_of_tags_are_read(recipe, arguments, write, capsys):
    module = recipe("finetune_ner")
    path = write(DOCUMENT + "book X O B-THING\n", "dev.txt")
    for options, names in (
        ("--tag_column 2", ["O"]),
        ("--scheme bioes --repair", ["O", "B-EVENT", "E-EVENT", "S-THING"]),
    ):
        args = module.parse_args(arguments({"train": "t", "dev": "d"}, *options.split()))
        (words, _), found = module.read_examples(path, args)
        assert found == names and words[0] == ["the", "book"]
    assert "repaired tags: 3" in capsys.readouterr().out
