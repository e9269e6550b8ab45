import json
from pathlib import Path

from keras_bert.metrics.squad import may_be_impossible, squad_scores

GOLDEN = Path(__file__).parents[1] / "golden" / "squad.json"


def test_the_official_scripts_give_the_same_numbers():
    for case in json.loads(GOLDEN.read_text(encoding="utf-8")):
        threshold = None if case["odds"] is None else 1.0  # what theirs takes by default
        scores = squad_scores(case["questions"], case["predictions"], case["odds"], threshold)
        theirs = {{"exact_match": "exact"}.get(k, k): v for k, v in case["theirs"].items()}
        assert "HasAns_f1" in theirs or theirs.keys() == {"exact", "f1"}
        assert theirs.keys() == scores.keys() - ({"total"} - theirs.keys())
        assert all(abs(scores[name] - value) < 1e-9 for name, value in theirs.items())


def test_questions_without_answers_or_with_is_impossible_are_of_squad_2():
    for more in ({"answers": []}, {"is_impossible": False}):
        assert may_be_impossible([{"answers": ["a"], **more}])


def test_bad_input_is_named(refused):
    answers = [{"text": "a", "answer_start": 0}]
    first, second = ({"id": id_, "answers": answers} for id_ in "12")
    for message, *arguments in (
        ("no examples", [], {}),
        ("lacks 1 of the 2.*'2'.*one for each", [first, second], {"1": "a"}),
        ("null_odds lacks 1 of the 1", [first], {"1": "a"}, {}),
    ):
        refused(message, squad_scores, *arguments)
