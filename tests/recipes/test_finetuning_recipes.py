"""The recipes that fine-tune: each learns a few examples, and reads the columns that it is told."""

import json

import numpy as np
import pytest

import keras_bert

SETTINGS = "--sequence_length 20 --batch_size 8 --learning_rate 1e-2 --epochs 2"
REVIEWS = [("text", "label"), *[("the book is very good.", "pro"), ("so so bad.", "contra")] * 40]
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
        question = {"id": str(number), "question": f"{word} {word}", "answers": answers}
        questions.append({**question, "is_impossible": not answers})
    article = {"title": "", "paragraphs": [{"context": CONTEXT, "qas": questions}]}
    return json.dumps({"version": "x", "data": [article]})


RUNS = {  # recipe: file, rows, options, a score that gets above a bound, and what is saved
    "finetune_classifier": (
        *("pets.csv", PETS),
        "--text_template {Kind}.{Mood} --number_columns Price Pages --class_weight balanced "
        "--window_stride 5 --truncation head_tail",
        *("mcc", 0.99),
        lambda best: (
            (best.num_features, best.preprocessor.window_stride) == (2, 5)
            and best.preprocessor.label_names == ["common", "rare"]
        ),
    ),
    "finetune_choice": (
        *("choices.tsv", CHOICES * 16, "", "accuracy", 0.99),
        lambda best: best.answer(QUESTION)["choice"] == "good",
    ),
    "finetune_embedder": (
        *("pairs.tsv", PAIRS, "--matryoshka_dims 16 4 --pooling max", "mrr@10", 0.3),
        lambda best: (best.matryoshka_dims, best.pooling) == ((16, 4), "max"),
    ),
    "finetune_reranker": (
        *("taught.tsv", TAUGHT, "--negative_column worse --teacher_column margin", "mrr@10", 0.99),
        lambda best: best.preprocessor.activation == "linear",
    ),
    "finetune_squad": (
        *("squad.json", squad("good", "bad", "dull")),
        "--max_question_length 4 --document_stride 6 --max_answer_length 3 --epochs 4",
        *("NoAns_f1", 30),
        lambda best: best.preprocessor.null_threshold != 0.0,
    ),
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in [*RUNS][1:]]


@pytest.mark.parametrize("name", [[*RUNS][0], *SLOW])
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
    assert is_saved(keras_bert.BertTask.from_preset(tmp_path / "out/best"))


def test_questions_that_all_have_answers_get_one(recipe, arguments, tmp_path, monkeypatch):
    (tmp_path / "squad.json").write_text(squad("good", "bad"))
    found = []
    monkeypatch.setattr(keras_bert, "finetune", lambda model, *_, **__: found.append(model))
    files = dict.fromkeys(("train", "dev"), str(tmp_path / "squad.json"))
    recipe("finetune_squad").main(arguments(files, "--max_question_length", "4"))
    assert found[0].preprocessor.null_threshold is None


@pytest.mark.slow
def test_tags_are_learned_with_their_documents(recipe, arguments, tagged, tmp_path):
    more = "--document_context --learning_rate 2e-2 --epochs 8"
    recipe("finetune_ner").main(arguments(tagged, *more.split()))
    history = json.loads((tmp_path / "out/scores.json").read_text())
    assert max(epoch["f1"] for epoch in history) == 1.0
    lines = (tmp_path / "out/test_predictions.txt").read_text().split("\n")
    assert lines[:3] == ["the O O", "book B-THING B-THING", ""]


TEXTS = tuple([row[column] for row in PAIRS[1:]] for column in range(3))
COLUMNS = [  # recipe, rows, options; what it reads
    (
        *("classifier", PETS[:3], "--text_column Kind --pair_column Mood"),
        (({"text": (["film", "day"], ["good", "dull"])}, ["rare", "common"]), ["common", "rare"]),
    ),
    (
        *("classifier", PETS[:3], "--text_template {Kind}-{Mood} --number_columns Price Pages"),
        (
            (
                {"text": ["film-good", "day-dull"], "features": [[900, 7], [300, 8]]},
                ["rare", "common"],
            ),
            ["common", "rare"],
        ),
    ),
    (
        *("classifier", PETS[:3], "--text_column Kind --regression --label_column Pages"),
        (({"text": ["film", "day"]}, [7, 8]), None),
    ),
    (
        *("classifier", [("text", "label"), ("a", "b|a")], "--multi_label"),
        (({"text": ["a"]}, [["b", "a"]]), ["a", "b"]),
    ),
    ("embedder", PAIRS, "--text_columns anchor positive negative", (TEXTS, None)),
    ("embedder", PAIRS, "--score_column score", (TEXTS[:2], [5, 1, 4])),
    (
        *("embedder", PAIRS, "--text_columns anchor --label_column kind"),
        (TEXTS[0], ["a", "b", "a"]),
    ),
]


def test_texts_numbers_and_labels_come_from_columns(
    recipe, arguments, write_table, tmp_path, refused
):
    path = tmp_path / "rows.tsv"
    for name, rows, options, expected in COLUMNS:
        module = recipe(f"finetune_{name}")
        args = module.parse_args(arguments({"train": "t", "dev": "d"}, *options.split()))
        write_table(path, *rows)
        np.testing.assert_equal(module.read_examples(path, args), expected)
    write_table(path, *REVIEWS[:2])
    module = recipe("finetune_classifier")
    args = module.parse_args(arguments({"train": "t", "dev": "d"}))
    refused("only one class", module.read_examples, path, args)


def test_other_columns_and_schemes_of_tags_are_read(recipe, arguments, tagged, capsys):
    module = recipe("finetune_ner")
    with open(tagged["dev"], "a") as file:
        print("book x O B-THING", file=file)
    for options, part, names in (
        ("--tag_column 2", "train", ["O"]),
        ("--scheme bioes", "train", ["O", "B-EVENT", "E-EVENT", "S-THING"]),
        ("--repair", "dev", ["O", "B-EVENT", "B-THING", "I-EVENT"]),
    ):
        args = module.parse_args(arguments(tagged, *options.split()))
        (words, tags), found = module.read_examples(tagged[part], args)
        assert found == names and words[0] == ["the", "book"]
    assert "repaired tags: 8" in capsys.readouterr().out
