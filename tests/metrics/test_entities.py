import json
from pathlib import Path

import pytest

from keras_bert.metrics.entities import entity_scores, tagged_entities

CONLLEVAL = Path(__file__).resolve().parents[1] / "golden" / "conlleval.json"
ENTITIES = {  # what conlleval doesn't know: {tags: type, first word and end of each entity}
    "S-A B-A I-A E-A S-B": "A 0 1, A 1 4, B 4 5",
    "B-A E-A I-A": "A 0 2, A 2 3",
    "U-A B-A M-A L-A": "A 0 1, A 1 4",  # BILOU, BMES
    "B-a-b I-a-b": "a-b 0 2",
    "B I O I": " 0 2,  3 4",
    "B I E O S": " 0 3,  4 5",
    "B I L O U": " 0 3,  4 5",
    "B M E O S": " 0 3,  4 5",
    "NN NN O VB": "NN 0 1, NN 1 2, VB 3 4",
    "": "",
}


def test_entities_of_other_schemes():
    for tags, expected in ENTITIES.items():
        found = tagged_entities(tags.split())
        written = [f"{type_} {first} {end}" for type_, first, end in found]
        assert ", ".join(written) == expected, tags


def test_scores_equal_those_of_conlleval_itself():
    cases = json.loads(CONLLEVAL.read_text())
    assert len(cases) == 24
    for case in cases:
        scores, theirs = entity_scores(case["true"], case["predicted"]), case["theirs"]
        types = scores["types"].values()
        sums = [sum(counts[n] for counts in types) for n in ("true", "predicted", "correct")]
        assert sums == theirs["counts"]
        assert sums[2] and sums[2] < min(sums[:2])
        assert round(100 * scores["accuracy"], 2) == theirs["accuracy"]
        percents = {
            type_: [100 * ours[name] for name in ("precision", "recall", "f1")]
            for type_, ours in scores["types"].items()
        }
        assert percents == {
            type_: pytest.approx(values, abs=0.00501)
            for type_, values in theirs["percents"].items()
        }


def test_nothing_to_find_is_a_score_of_zero_and_no_error():
    scores = entity_scores([["O", "O"]], [["O", "O"]])
    assert (scores["f1"], scores["accuracy"], scores["types"]) == (0.0, 1.0, {})
    assert entity_scores([], [])["accuracy"] == 0.0
    scores = entity_scores([["S-A"]], [["S-A"]])
    assert scores["accuracy"] == scores["f1"] == 1


def test_what_does_not_match_is_refused(refused):
    for true, predicted, message in (
        ([["O"]], [], "1 tagged sentences but 0"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "2 tags in sentence 1 but 1"),
    ):
        refused(message, entity_scores, true, predicted)
