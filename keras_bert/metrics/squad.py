"""Question answering scores, as SQuAD's official scripts define them."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def squad_scores(
    examples: Iterable[Mapping],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float | None = None,
) -> dict[str, float]:
    """Computes exact match and F1 of answers, in percent, as SQuAD's official scripts do.

    Case, punctuation, the articles a, an and the, and spaces are ignored. F1 counts the words that
    an answer shares with a true answer; the best true answer counts. The scores equal those of
    `evaluate-v2.0.py` if an example has `is_impossible` or lists no answers, and otherwise those
    of `evaluate-v1.1.py`.

    Args:
        examples: dicts with `id`, `answers` and, for SQuAD 2.0, `is_impossible`, as `read_squad`
            returns them.
        predictions: dict from `id` to the answer, a str; "" for no answer.
        null_odds: dict from `id` to a float, the score of "no answer" minus the score of the best
            answer (`--na-prob-file`); or None.
        null_threshold: float; a question with higher `null_odds` counts as answered by ""
            (`--na-prob-thresh`, whose default is 1). None leaves the predictions unchanged.

    Returns:
        A dict of `exact`, `f1` and `total`. SQuAD 2.0 adds `HasAns_exact`, `HasAns_f1` and
        `HasAns_total`, and the same keys with `NoAns`, if such questions exist. `null_odds` adds
        `best_exact` and `best_f1`, the scores at the best thresholds, `best_exact_thresh` and
        `best_f1_thresh`. These assume that no prediction is "".

    Raises:
        ValueError: if there are no examples, or a question has no prediction or no odds.

    Example:
    >>> examples = [{"id": "1", "answers": [{"text": "the Denver Broncos", "answer_start": 0}]}]
    >>> scores = squad_scores(examples, {"1": "Broncos"})
    >>> scores["exact"], round(scores["f1"], 2)
    (0.0, 66.67)
    """
    examples = list(examples)
    _check(examples, predictions, null_odds, null_threshold)
    has_impossible = may_be_impossible(examples)
    exact = {}  # by id
    f1 = {}
    is_answerable = {}
    for example in examples:
        id_ = example["id"]
        truths = [normalized_answer(answer["text"]) for answer in example["answers"]]
        if has_impossible:
            truths = [truth for truth in truths if truth] or [""]
        prediction = normalized_answer(predictions[id_])
        exact[id_] = int(prediction in truths)
        f1[id_] = max(_f1(truth, prediction, has_impossible) for truth in truths)
        is_answerable[id_] = bool(example["answers"])
    best_scores = {}
    if null_odds is not None:
        for name, values in {"exact": exact, "f1": f1}.items():
            best, threshold = _best_threshold(predictions, values, null_odds, is_answerable)
            best_scores[f"best_{name}"] = best
            best_scores[f"best_{name}_thresh"] = threshold
    if null_threshold is not None:
        for id_, answerable in is_answerable.items():
            if null_odds[id_] > null_threshold:  # answered by ""
                exact[id_] = f1[id_] = float(not answerable)
    scores = _means(exact, f1, list(exact))
    if has_impossible:
        answerable_ids = [id_ for id_ in exact if is_answerable[id_]]
        impossible_ids = [id_ for id_ in exact if not is_answerable[id_]]
        scores |= _means(exact, f1, answerable_ids, "HasAns_")
        scores |= _means(exact, f1, impossible_ids, "NoAns_")
    return scores | best_scores


def may_be_impossible(examples: Iterable[Mapping]) -> bool:
    """Returns whether the questions are in the format of SQuAD 2.0: some may have no answer."""
    return any("is_impossible" in example or not example["answers"] for example in examples)


def normalized_answer(text: str) -> str:
    """Lower-cases an answer and removes punctuation, articles and extra spaces."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _f1(truth, prediction, both_may_be_empty):
    if both_may_be_empty and not (truth and prediction):
        return int(truth == prediction)
    truth = truth.split()
    prediction = prediction.split()
    shared = Counter(truth) & Counter(prediction)
    num_shared = shared.total()
    if not num_shared:
        return 0
    precision = num_shared / len(prediction)
    recall = num_shared / len(truth)
    return 2 * precision * recall / (precision + recall)


def _means(exact, f1, ids, prefix=""):
    if not ids:
        return {}
    return {
        f"{prefix}exact": 100.0 * sum(map(exact.get, ids)) / len(ids),
        f"{prefix}f1": 100.0 * sum(map(f1.get, ids)) / len(ids),
        f"{prefix}total": len(ids),
    }


def _best_threshold(predictions, scores, null_odds, is_answerable):
    """Finds the threshold of the odds with the best score; returns `(score, threshold)`.

    At first every question is answered by "". Then predictions are let in by rising odds.
    """
    total = best = sum(not answerable for answerable in is_answerable.values())
    threshold = 0.0
    ids = [id_ for id_ in null_odds if id_ in scores]  # equal odds: as in the official script
    for id_ in sorted(ids, key=null_odds.get):
        if is_answerable[id_]:
            total += scores[id_]
        elif predictions[id_]:
            total -= 1
        if total > best:
            best = total
            threshold = null_odds[id_]
    return 100.0 * best / len(scores), threshold


def _check(examples, predictions, null_odds, null_threshold):
    if not examples:
        raise ValueError("There are no examples.")
    given = {"predictions": predictions}
    if null_odds is not None:
        given["null_odds"] = null_odds
    elif null_threshold is not None:
        raise ValueError("null_threshold is a threshold of null_odds: give null_odds too.")
    for name, by_id in given.items():
        missing = [example["id"] for example in examples if example["id"] not in by_id]
        if missing:
            raise ValueError(
                f"{name} lacks {len(missing)} of the {len(examples)} questions, such as "
                f"{missing[0]!r}. Give one for each; the answer '' means no answer."
            )
