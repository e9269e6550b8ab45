import json

import pytest

import keras_bert
from keras_bert.scoring.ranking_scorers import VectorScorer

SETTINGS = "--sequence_length 12 --batch_size 8 --epochs 2"
PAIRS = [
    ("the book", "very good", "bad", 5),
    ("a film", "was dull", "good", 1),
    ("the day", "good day", "dull film", 4),
    ("a good book", "the film", "bad day", 0),
]


@pytest.fixture
def files(write_table, tmp_path):
    header = "anchor positive negative score kind".split()
    rows = [(*pair, "ab"[i % 2]) for i, pair in enumerate(PAIRS)]
    train = write_table(tmp_path / "train.tsv", header, *rows * 4)
    return {"train": train, "dev": write_table(tmp_path / "dev.tsv", header, *rows)}


@pytest.mark.parametrize(
    ("columns", "texts", "labels", "score"),
    [
        ("--text_columns anchor positive negative", 3, None, "accuracy"),
        ("--text_columns anchor positive --score_column score", 2, [5, 1, 4, 0], "spearman"),
        ("--text_columns anchor --label_column kind", 1, ["a", "b"] * 2, "accuracy"),
    ],
)
def test_columns_decide_on_the_training(module, files, letters, columns, texts, labels, score):
    line = f"--init b --output o --train t --dev d {columns}".split()
    x, y = module.read_examples(files["dev"], module.parse_args(line))
    x = (x,) if texts == 1 else x
    assert len(x) == texts and x[0] == [pair[0] for pair in PAIRS]
    assert labels is None and y is None or list(y) == labels
    reader = keras_bert.BertEmbedderPreprocessor(letters)
    assert VectorScorer(reader).names_for(x if texts > 1 else x[0], y)[0] == score


def test_it_writes_what_it_says(finetuned, files, tensorflow):
    files["test"] = files["dev"]
    output, history = finetuned(files, "--matryoshka_dims", "16", "4")
    assert len(history) == 2 and json.loads((output / "test_scores.json").read_text())["mrr@10"]
    best = keras_bert.BertTask.from_preset(output / "best")
    assert best.matryoshka_dims == (16, 4) and best.pooling == "mean"
    pairs = [pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS]
    assert best.scores(tensorflow.data.Dataset.from_tensor_slices(pairs)) == best.scores(pairs)
