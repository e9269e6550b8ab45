"""Scores of answers to questions on contexts, and the files of SQuAD's scripts."""

from pathlib import Path

from keras_bert.files.json_files import write_json
from keras_bert.metrics.squad import squad_scores
from keras_bert.preprocessing.forms import listed
from keras_bert.preprocessing.question_windows import check_answers
from keras_bert.scoring.scorer import Scorer


class SpanScorer(Scorer):
    """Exact match and F1 as SQuAD's scripts compute them; for 2.0 also the best threshold."""

    names = ("f1", "exact")
    answer_options = {"n_best": 20}  # as many as run_squad.py writes

    def has_labels(self, x, y=None):
        return all(isinstance(each, dict) and "answers" in each for each in listed(x))

    def check(self, x, y=None):
        def is_scored(example):
            return isinstance(example, dict) and {"id", "answers"} <= set(example)

        examples = listed(x, is_scored, "scores needs an id and answers of questions")
        check_answers(examples, with_starts=False)

    def score(self, answers, x, y=None):
        examples = listed(x)
        if not _may_be_impossible(examples):
            return squad_scores(examples, _by_id(examples, (a["answer"] for a in answers)))
        texts, odds = _best_texts(examples, answers), _null_odds(examples, answers)
        return squad_scores(examples, texts, odds, self.preprocessor.null_threshold)

    def tuned(self, answers, x, y=None):
        """Tunes `null_threshold` for F1 if some questions may be impossible, as in SQuAD 2.0.

        Answers need an `n_best` of 2 or more; the scores include the threshold.
        """
        examples = listed(x)
        if not _may_be_impossible(examples):
            return self.preprocessor, self.score(answers, x)
        texts, odds = _best_texts(examples, answers), _null_odds(examples, answers)
        best, never = squad_scores(examples, texts, odds)["best_f1_thresh"], min(odds.values()) - 1
        # If it is best never to answer, Google's search gives 0.0, below all probabilities.
        scores = {each: squad_scores(examples, texts, odds, each) for each in (best, never)}
        threshold = max(scores, key=lambda each: scores[each]["f1"])
        preprocessor = self.preprocessor.like(self.preprocessor, null_threshold=threshold)
        return preprocessor, {**scores[threshold], "null_threshold": threshold}

    def write(self, folder, split, answers, x, y=None):
        """Writes the JSON files that SQuAD's scripts read and Google's `run_squad.py` writes.

        `predictions.json` has an answer to every question, and `null_odds.json` the `null_odds`.
        With `n_best`, `nbest_predictions.json` has more answers. With a `null_threshold`,
        `answers.json` has "" for questions without an answer. For splits other than "dev", file
        names begin with the split.
        """
        examples = listed(x)
        texts, odds = _best_texts(examples, answers), _null_odds(examples, answers)
        files = {"predictions": texts, "null_odds": odds}
        if answers and "n_best_answer" in answers[0]:
            files["nbest_predictions"] = _by_id(examples, map(_n_best, answers))
        limit = self.preprocessor.null_threshold
        if limit is not None:
            files["answers"] = {i: "" if odds[i] > limit else text for i, text in texts.items()}
        for name, content in files.items():
            name = name if split == "dev" else f"{split}_{name}"
            write_json(Path(folder) / f"{name}.json", content, indent=1)


def _may_be_impossible(examples):
    return any("is_impossible" in example for example in examples)


def _best_texts(examples, answers):
    """Returns the best non-empty answer to each question, by id; "" if there is none."""
    candidates = ([answer["answer"], *answer.get("n_best_answer", ())] for answer in answers)
    return _by_id(examples, (next(filter(None, texts), "") for texts in candidates))


def _null_odds(examples, answers):
    return _by_id(examples, (answer["null_odds"] for answer in answers))


def _by_id(examples, values):
    """Names values by the `id` of their questions, or by their places if questions have none."""
    pairs = enumerate(zip(examples, values, strict=True))
    return {example.get("id", str(place)): value for place, (example, value) in pairs}


def _n_best(answer):
    """Formats the best answers to a question as `run_squad.py` does."""
    names = ("score", "start_logit", "end_logit")
    rows = zip(*(answer[f"n_best_{name}"] for name in ("answer", *names)), strict=True)
    keys = ("probability", "start_logit", "end_logit")
    return [
        {"text": text, **dict(zip(keys, map(float, values), strict=True))} for text, *values in rows
    ]
