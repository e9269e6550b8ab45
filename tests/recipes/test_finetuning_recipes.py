"""The recipes that fine-tune: each learns a few examples, and reads the columns that it is told."""

import json

import pytest

import keras_bert

LINE = "--sequence_length 12 --batch_size 8 --learning_rate 1e-2 --epochs 2"
REVIEWS = [("text", "label", "rating")]
REVIEWS += [("the book is very very good.", "pro", 5), ("the film is so so bad.", "contra", 1)] * 40
PETS = [("Kind", "Mood", "Pages", "Price", "label")]  # "rare" if the price is high
PETS += [("film", "good", 7, 900, "rare"), *[("day", "dull", 7, 300, "common")] * 4] * 16
CHOICES = [
    ("o", "the book was", "bad", "good", "dull", 1),
    ("o", "so it is", "very good", "very dull", "bad", 0),
    ("o", "a film day", "dull and bad", "bad", "not good", 2),
    ("o", "the film", "good", "dull", "but bad", 0),
]
QUESTION = {"context": "it was a", "choices": ["dull", "good"]}
RELEVANT = [
    ("the book", "very good", 1),
    ("the book", "was dull", 0),
    ("a film", "bad day", 0),
    ("a film", "good day", 1),
]
TAUGHT = [("query", "document", "worse", "margin")]
TAUGHT += [("a film", "good day", "bad day", 4), ("the book", "very good", "was dull", 5)] * 24
RANKED = [("query", "document", "relevance"), *RELEVANT]
PAIRS = [
    ("anchor", "positive", "negative", "score", "kind"),
    ("the book", "very good", "bad", 5, "a"),
    ("a film", "was dull", "good", 1, "b"),
    ("the day", "good day", "dull film", 4, "a"),
    ("a good book", "the film", "bad day", 0, "b"),
]
CONTEXTS = ["the Film was very good, and the book so bad.", "so it is bad but a day is good"]
WINDOWS = "--sequence_length 20 --max_question_length 4 --document_stride 6 --max_answer_length 3"


def squad(words, count):
    """Questions of one word, which is the answer if the text has it; else there is none."""
    paragraphs = [{"context": context, "qas": []} for context in CONTEXTS]
    for index in range(count):
        paragraph = paragraphs[index % 2]
        word = words[index % len(words)]
        start = paragraph["context"].find(word)
        answers = [{"text": word, "answer_start": start}] if start >= 0 else []
        question = {"id": str(index), "question": f"{word} {word}", "answers": answers}
        if len(words) > 2:
            question["is_impossible"] = not answers
        paragraph["qas"].append(question)
    return json.dumps({"version": "x", "data": [{"title": "", "paragraphs": paragraphs}]})


def squad_files(*words):
    return {"train.json": squad(words, 192), "dev.json": squad(words, 12)}


RUNS = {  # recipe and kind: files, options, a score that gets above a bound, and what is saved
    "finetune_classifier": (
        {"train.tsv": REVIEWS, "dev.tsv": REVIEWS[:21]},
        "",
        ("accuracy", 0.99),
        lambda best: best.answer(REVIEWS[1][0])["label"] == "pro",
    ),
    "finetune_classifier numbers": (
        {"train.csv": PETS, "dev.csv": PETS[:21]},
        "--text_template {Kind}.{Mood}. --number_columns Price Pages --class_weight balanced "
        "--window_stride 5 --truncation head_tail",
        ("mcc", 0.99),
        lambda best: (best.num_features, best.preprocessor.window_stride) == (2, 5),
    ),
    "finetune_classifier regression": (
        {"train.tsv": REVIEWS},
        "--regression --label_column rating --validation_split 0.25",
        ("spearman", -2),
        lambda best: best.num_classes == 1,
    ),
    "finetune_choice": (
        {"train.tsv": CHOICES * 12, "dev.tsv": CHOICES},
        "",
        ("accuracy", 0.99),
        lambda best: (
            best.answer({"context": "it", "choices": ["dull", "good"]})["choice"] == "good"
        ),
    ),
    "finetune_embedder": (
        {"train.tsv": PAIRS, "dev.tsv": PAIRS},
        "--matryoshka_dims 16 4 --pooling max",
        ("mrr@10", 0.3),
        lambda best: (best.matryoshka_dims, best.pooling) == ((16, 4), "max"),
    ),
    "finetune_reranker": (
        {"train.tsv": [*RANKED, *RELEVANT * 11], "dev.tsv": RANKED},
        "",
        ("mrr@10", 0.99),
        lambda best: best.rank("the book", ["was dull", "very good"])[0]["index"] == 1,
    ),
    "finetune_reranker teacher": (
        {"train.tsv": TAUGHT, "dev.tsv": RANKED},
        "--negative_column worse --teacher_column margin",
        ("mrr@10", 0.99),
        lambda best: best.preprocessor.activation == "linear",
    ),
    "finetune_squad": (
        squad_files("good", "bad"),
        WINDOWS,
        ("f1", 60),
        lambda best: best.preprocessor.null_threshold is None,
    ),
    "finetune_squad version 2": (
        squad_files("good", "bad", "dull"),
        f"{WINDOWS} --epochs 4",
        ("NoAns_f1", 30),
        lambda best: best.preprocessor.null_threshold != 0.0,
    ),
}


@pytest.fixture
def line(preset, write_table, tmp_path):
    """A function that writes files; it returns a command line for them."""

    def write(files, options):
        words = ["--init", str(preset), "--output", str(tmp_path / "out"), *LINE.split()]
        for name, rows in files.items():
            path = tmp_path / name
            if isinstance(rows, str):
                path.write_text(rows)
            else:
                write_table(path, *rows)
            words += [f"--{path.stem}", str(path)]
        return [*words, *options.split()]

    return write


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in [*RUNS][1:]]


@pytest.mark.parametrize("name", [[*RUNS][0], *SLOW])
def test_it_learns_and_writes_what_it_says(name, recipe, line, tmp_path):
    files, options, (score, bound), is_saved = RUNS[name]
    words = line(files, options)
    if "--dev" in words:
        words += ["--test", words[words.index("--dev") + 1]]
    recipe(name.split()[0]).main(words)
    history = json.loads((tmp_path / "out/scores.json").read_text())
    best = max(epoch[score] for epoch in history)
    assert len(history) >= 2 and best > bound
    if "--test" in words:
        assert json.loads((tmp_path / "out/test_scores.json").read_text())[score] == best
    assert is_saved(keras_bert.BertTask.from_preset(tmp_path / "out/best"))


@pytest.mark.slow
def test_tags_are_learned_with_their_documents(recipe, line, tagged, tmp_path):
    files = [word for name, path in tagged.items() for word in (f"--{name}", path)]
    more = "--document_context --learning_rate 2e-2 --epochs 8"
    recipe("finetune_ner").main([*line({}, more), *files])
    history = json.loads((tmp_path / "out/scores.json").read_text())
    assert max(epoch["f1"] for epoch in history) == 1.0
    lines = (tmp_path / "out/test_predictions.txt").read_text().split("\n")
    assert lines[:3] == ["the O O", "book B-THING B-THING", ""]
    best = keras_bert.BertTask.from_preset(tmp_path / "out/best")
    assert best.answer("It was the film day.")["entity_text"] == ["film day"]


def test_texts_numbers_and_labels_come_from_columns(recipe, line, tmp_path, refused):
    module = recipe("finetune_classifier")

    def read(files, options):
        args = module.parse_args(line({**files, "dev.csv": PETS}, options))
        (x, labels), names = module.read_examples(args.train, args)
        return x, labels, names

    x, labels, names = read({"train.csv": PETS[:3]}, "--text_column Kind --pair_column Mood")
    assert x == {"text": (["film", "day"], ["good", "dull"])}
    assert (labels, names) == (["rare", "common"], ["common", "rare"])
    numbers = "--text_template {Kind}-{Mood} --number_columns Price Pages"
    x, labels, names = read({"train.csv": PETS[:3]}, f"{numbers} --regression --label_column Pages")
    assert x["text"] == ["film-good", "day-dull"] and x["features"].tolist() == [[900, 7], [300, 7]]
    assert labels.tolist() == [7, 7] and names is None
    x, labels, names = read({"train.tsv": [("text", "label"), ("a", "b|a")]}, "--multi_label")
    assert (labels, names) == ([["b", "a"]], ["a", "b"])
    refused("only one class", read, {"train.tsv": REVIEWS[:2]}, "")


@pytest.mark.parametrize(
    ("columns", "texts", "labels"),
    [
        ("--text_columns anchor positive negative", 3, None),
        ("--text_columns anchor positive --score_column score", 2, [5, 1, 4, 0]),
        ("--text_columns anchor --label_column kind", 1, ["a", "b", "a", "b"]),
    ],
)
def test_columns_decide_on_the_training_of_an_embedder(recipe, line, columns, texts, labels):
    module = recipe("finetune_embedder")
    args = module.parse_args(line({"train.tsv": PAIRS, "dev.tsv": PAIRS}, columns))
    x, y = module.read_examples(args.train, args)
    first = [row[0] for row in PAIRS[1:]]
    assert x == first if texts == 1 else (len(x), x[0]) == (texts, first)
    assert y is None if labels is None else list(y) == labels


def test_other_columns_and_schemes_of_tags_are_read(recipe, line, tagged, capsys):
    module = recipe("finetune_ner")
    with open(tagged["dev"], "a") as file:
        print("book x O B-THING", file=file)
    for options, part, names in (
        ("--tag_column 2", "train", ["O"]),
        ("--scheme bioes", "train", ["O", "B-EVENT", "E-EVENT", "S-THING"]),
        ("--repair", "dev", ["O", "B-EVENT", "B-THING", "I-EVENT"]),
    ):
        args = module.parse_args([*line({}, options), "--train", "t", "--dev", "d"])
        (words, tags), found = module.read_examples(tagged[part], args)
        assert found == names and words[0] == ["the", "book"]
    assert "repaired tags: 8" in capsys.readouterr().out
