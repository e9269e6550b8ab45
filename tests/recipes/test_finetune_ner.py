import json

import keras_bert

SETTINGS = "--sequence_length 12 --batch_size 8 --learning_rate 1e-2"


def test_it_learns_and_writes_what_it_says(finetuned, tagged):
    output, history = finetuned(tagged, "--epochs", "2", "--document_context")
    assert len(history) == 2 and max(scores["f1"] for scores in history) == 1.0
    assert set(history[0]) == {"precision", "recall", "f1", "accuracy", "types"}
    scores = json.loads((output / "test_scores.json").read_text())
    assert scores["types"]["THING"]["correct"] == 3 and scores["types"]["EVENT"]["true"] == 2
    lines = (output / "test_predictions.txt").read_text().split("\n")
    assert lines[:3] == ["the O O", "book B-THING B-THING", ""]
    assert len((output / "dev_predictions.txt").read_text().split("\n\n")) == 11
    best = keras_bert.BertTokenClassifier.from_preset(output / "best")
    assert best.preprocessor.label_names == ["O", "B-EVENT", "B-THING", "I-EVENT"]
    found = best.answer("It was the film day.")
    assert (found["entity_text"], found["entity_type"]) == (["film day"], ["EVENT"])


def test_other_columns_and_schemes_are_read(arguments, module, tagged):
    args = module.parse_args(arguments(tagged, "--tag_column", "1"))
    words = "THE BOOK SO GOOD A FILM DAY , AND IT WAS . VERY DULL".split()
    assert module.read_sentences(tagged["train"], args).tag_names() == sorted(words)
    args = module.parse_args(arguments(tagged, "--scheme", "bioes"))
    names = module.read_sentences(tagged["train"], args).tag_names()
    assert names == ["O", "B-EVENT", "E-EVENT", "S-THING"]


def test_bad_tags_are_repaired_and_counted(arguments, module, tagged, capsys):
    with open(tagged["dev"], "a") as file:
        print("book x O B-THING", file=file)
    module.read_sentences(tagged["dev"], module.parse_args(arguments(tagged, "--repair")))
    assert "repaired tags: 8" in capsys.readouterr().out
