"""Scores of answers to questions on contexts, and the files of SQuAD's scripts."""

from pathlib import Path

from keras_bert.files.json_files import write_json
from keras_bert.metrics.squad import may_be_impossible, squad_scores
from keras_bert.preprocessing.forms import check_each
from keras_bert.preprocessing.question_windows import check_answers
from keras_bert.scoring.scorer import Scorer


class SpanScorer(Scorer):
    """Exact match and F1 as SQuAD's scripts compute them; for 2.0 also the best threshold."""

    names = ("f1", "exact")
    answer_options = {"n_best": 20}  # as many as run_squad.py writes
    reads_examples = True

    def has_labels(self, x, y=None):
        return all("answers" in example for example in self.preprocessor.listed(x))

    def check(self, x, y=None):
        def is_scored(example):
            return {"id", "answers"} <= example.keys()

        examples = self.preprocessor.listed(x)
        check_each(examples, is_scored, "scores needs an id and answers of questions")
        check_answers(examples, with_starts=False)

    def score(self, answers, x, y=None):
        examples = self.preprocessor.listed(x)
        if not may_be_impossible(examples):
            texts = [answer["answer"] for answer in answers]
            return squad_scores(examples, _by_id(examples, texts))
        texts = _best_texts(examples, answers)
        odds = _null_odds(examples, answers)
        return squad_scores(examples, texts, odds, self.preprocessor.null_threshold)

    def tuned(self, answers, x, y=None):
        """Tunes `null_threshold` for F1 if some questions may be impossible, as in SQuAD 2.0.

        Answers need an `n_best` of 2 or more; the scores include the threshold.
        """
        examples = self.preprocessor.listed(x)
        if not may_be_impossible(examples):
            return self.preprocessor, self.score(answers, x)
        texts = _best_texts(examples, answers)
        odds = _null_odds(examples, answers)
        threshold = squad_scores(examples, texts, odds)["best_f1_thresh"]
        scores = squad_scores(examples, texts, odds, threshold)
        # If it is best never to answer, Google's search gives 0.0, below all probabilities.
        never = min(odds.values()) - 1
        unanswered = squad_scores(examples, texts, odds, never)
        if unanswered["f1"] > scores["f1"]:
            threshold = never
            scores = unanswered
        preprocessor = self.preprocessor.like(self.preprocessor, null_threshold=threshold)
        return preprocessor, scores | {"null_threshold": threshold}

    def write(self, folder, split, answers, x, y=None):
        """Writes the JSON files that SQuAD's scripts read and Google's `run_squad.py` writes.

        `predictions.json` has an answer to every question, and `null_odds.json` the `null_odds`.
        With `n_best`, `nbest_predictions.json` has more answers. With a `null_threshold`,
        `answers.json` has "" for questions without an answer. For splits other than "dev", file
        names begin with the split.
        """
        examples = self.preprocessor.listed(x)
        texts = _best_texts(examples, answers)
        odds = _null_odds(examples, answers)
        contents = {"predictions": texts, "null_odds": odds}
        if answers and "n_best_answer" in answers[0]:
            contents["nbest_predictions"] = _by_id(examples, map(_n_best, answers))
        threshold = self.preprocessor.null_threshold
        if threshold is not None:
            impossible = [id_ for id_ in texts if odds[id_] > threshold]
            contents["answers"] = texts | dict.fromkeys(impossible, "")
        prefix = "" if split == "dev" else f"{split}_"
        for name, content in contents.items():
            write_json(Path(folder) / f"{prefix}{name}.json", content, indent=1)


def _by_id(examples, values):
    """Returns values by the `id` of their questions, or by index if questions have none."""
    ids = [example.get("id", str(index)) for index, example in enumerate(examples)]
    return dict(zip(ids, values, strict=True))


def _best_texts(examples, answers):
    """Returns the best non-empty answer to each question, by id; "" if there is none."""
    texts = []
    for answer in answers:
        candidates = [answer["answer"], *answer.get("n_best_answer", ())]
        texts.append(next(filter(None, candidates), ""))
    return _by_id(examples, texts)


def _null_odds(examples, answers):
    return _by_id(examples, [answer["null_odds"] for answer in answers])


def _n_best(answer):
    """Formats the best answers to a question as `run_squad.py` does."""
    rows = []
    for index, text in enumerate(answer["n_best_answer"]):
        row = {"text": text, "probability": float(answer["n_best_score"][index])}
        for name in ("start_logit", "end_logit"):
            row[name] = float(answer[f"n_best_{name}"][index])
        rows.append(row)
    return rows
