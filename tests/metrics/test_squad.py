import hashlib
import json
from pathlib import Path

import pytest

from keras_bert.metrics import squad_scores

GOLDEN = Path(__file__).parents[1] / "golden" / "squad.json"


def question(id_, *answers, **more):
    return {"id": id_, "answers": [{"text": text, "answer_start": 0} for text in answers], **more}


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text(encoding="utf-8")))
def test_the_official_scripts_give_the_same_numbers(case):
    threshold = None if case["odds"] is None else 1.0  # what theirs takes by default
    scores = squad_scores(case["questions"], case["predictions"], case["odds"], threshold)
    theirs = {{"exact_match": "exact"}.get(k, k): v for k, v in case["theirs"].items()}
    assert "HasAns_f1" in theirs or theirs.keys() == {"exact", "f1"}
    assert theirs.keys() == scores.keys() - ({"total"} - theirs.keys())
    assert all(abs(scores[name] - value) < 1e-9 for name, value in theirs.items())


def made_up_answers(examples):
    """A prediction file and null odds: an answer, some words of the context, or nothing."""
    predictions, odds = {}, {}
    for example in examples:
        draw = hashlib.sha256(example["id"].encode()).digest()
        words = example["context"].split()
        start = draw[1] % len(words)
        text = " ".join(words[start : start + 1 + draw[2] % 6])
        if draw[0] < 120 and example["answers"]:
            text = example["answers"][-1]["text"] + (" " + words[start]) * (draw[3] % 2)
        predictions[example["id"]] = "" if draw[0] > 230 else text
        odds[example["id"]] = (draw[4] - 128) / 10 - 15 * (draw[0] < 120)
    return predictions, odds


# What the scripts gave for `made_up_answers` of these files.
OFFICIAL = {
    "dev-v1.1.json": {"exact": 26.62251655629139, "f1": 45.39317964001808},
    "dev-v2.0-part.json": {
        "exact": 29.724708664077014,
        "f1": 39.01690013328271,
        "total": 5921,
        "HasAns_exact": 27.64281024294156,
        "HasAns_f1": 45.70553699578683,
        "HasAns_total": 3046,
        "NoAns_exact": 31.930434782608696,
        "NoAns_f1": 31.930434782608696,
        "NoAns_total": 2875,
        "best_exact": 48.62354332038507,
        "best_exact_thresh": -27.6,
        "best_f1": 49.29628622103349,
        "best_f1_thresh": -13.7,
    },
}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dev-v1.1.json", "dev-v2.0-part.json"])
def test_the_official_numbers_of_a_prediction_file_for_real_questions(shared_data, name):
    from keras_bert.readers import read_squad

    examples = read_squad(shared_data / "squad" / name)
    predictions, odds = made_up_answers(examples)
    options = (odds, 1.0) if "v2" in name else ()
    scores = squad_scores(examples, predictions, *options)
    theirs = OFFICIAL[name]
    assert all(abs(scores[name] - value) < 1e-9 for name, value in theirs.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], {}), "no examples"),
        (([question("1", "a"), question("2", "a")], {"1": "a"}), "lacks 1 of the 2.*'2'"),
        (([question("1", "a")], {"1": None}), "question '1' must be a str; it is None"),
        (([question("1", "a")], {"1": "a"}, {}), "null_odds lacks 1 of the 1"),
        (([question("1", "a")], {"1": "a"}, None, 0.5), "give null_odds too"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        squad_scores(*arguments)
