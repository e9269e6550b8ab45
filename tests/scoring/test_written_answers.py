"""Answers are written as the files that official scripts read, by rules that need no model."""

import json

import keras_bert as kb
from keras_bert.scoring.label_scorers import ChoiceScorer, ClassScorer, TagScorer
from keras_bert.scoring.ranking_scorers import RelevanceScorer
from keras_bert.scoring.span_scorers import SpanScorer

TOKENIZER = kb.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abc"])
CLASSES = kb.BertClassifierPreprocessor(TOKENIZER, label_names=["no", "yes"])
SEVERAL = CLASSES.like(CLASSES, multi_label=True)
SCORES = CLASSES.like(CLASSES, label_names=["score"])
NUMBERS = CLASSES.like(CLASSES, label_names=["x", "y"], regression=True)
TAGS = kb.BertTokenClassifierPreprocessor(TOKENIZER, label_names=["O", "B-X"])
CHOICES = kb.BertMultipleChoicePreprocessor(TOKENIZER)
SPANS = kb.BertSpanLabelerPreprocessor(TOKENIZER, null_threshold=0.0)
LIKELY = [0.25, 0.75]
QUESTION = {"question": "a", "context": "b c", "answers": []}


def test_each_kind_of_answer_has_a_table(tmp_path):
    for scorer, answer, header, row in (
        (ClassScorer(CLASSES), {"label": "yes", "probabilities": LIKELY}, "label no yes", "yes"),
        (
            ClassScorer(SEVERAL),
            {"is_label": [True, True], "probabilities": LIKELY},
            "label no yes",
            "no|yes",
        ),
        (ClassScorer(SCORES), {"score": 1 / 3}, "score", "0.333333"),
        (ClassScorer(NUMBERS), {"score": [1 / 3, 2.0]}, "x y", "0.333333 2"),
        (ChoiceScorer(CHOICES), {"label": 1, "probabilities": LIKELY}, None, "1"),
        (RelevanceScorer(None), {"score": 0.5}, "score", "0.5"),
    ):
        scorer.write(tmp_path, "test", [answer] * 2, None)
        lines = (tmp_path / "test_predictions.tsv").read_text().splitlines()
        probabilities = "\t0.25\t0.75" if "probabilities" in answer else ""
        names = (header or "label probability0 probability1").split()
        assert lines[0].split("\t") == ["index", *names]
        assert lines[1:] == [f"{i}\t{row.replace(' ', chr(9))}{probabilities}" for i in range(2)]


def test_tags_are_written_with_their_words(tmp_path):
    scorer = TagScorer(TAGS)
    answers = [{"label": ["B-X", "O"]}]
    for tags, columns in ((None, ["a B-X", "b O"]), ([["O", -100]], ["a O B-X", "b O O"])):
        scorer.write(tmp_path, "dev", answers, [["a", "b"]], tags)
        assert (tmp_path / "dev_predictions.txt").read_text().split("\n")[:2] == columns
    assert scorer.score(answers, [["a", "b"]], [["O", -100]])["accuracy"] == 0


def test_answers_to_questions_are_squad_s_files(tmp_path):
    best = {"n_best_answer": ["", "b"], "n_best_score": [0.75, 0.25]}
    best |= {"n_best_start_logit": [2.0, 1.0], "n_best_end_logit": [4.0, 3.0]}
    answers = [{"answer": "", "null_odds": 0.5, **best}, {"answer": "c", "null_odds": -0.5, **best}]
    examples = [{**QUESTION, "id": "q"}, QUESTION]
    for split, prefix in (("dev", ""), ("test", "test_")):
        SpanScorer(SPANS).write(tmp_path, split, answers, examples)
        written = {
            name: json.loads((tmp_path / f"{prefix}{name}.json").read_text())
            for name in ("predictions", "null_odds", "nbest_predictions", "answers")
        }
        assert written["predictions"] == {"q": "b", "1": "c"}
        assert written["null_odds"] == {"q": 0.5, "1": -0.5}
        assert written["answers"] == {"q": "", "1": "c"}
        second = {"text": "b", "probability": 0.25, "start_logit": 1.0, "end_logit": 3.0}
        assert written["nbest_predictions"]["q"][1] == second
