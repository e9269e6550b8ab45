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
    `evaluate-v2.0.py` if an example has `is_impossible`, and otherwise those of
    `evaluate-v1.1.py`.

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
    has_impossible = any("is_impossible" in example for example in examples)
    raw, has_answer = {"exact": {}, "f1": {}}, {}
    for example in examples:
        id_, prediction = example["id"], predictions[example["id"]]
        truths = [answer["text"] for answer in example["answers"]]
        if has_impossible:
            truths = [text for text in truths if normalized_answer(text)] or [""]
        f1 = (_f1(truth, prediction, has_impossible) for truth in truths)
        given = normalized_answer(prediction)
        raw["exact"][id_] = int(any(normalized_answer(truth) == given for truth in truths))
        raw["f1"][id_] = max(f1, default=0)
        has_answer[id_] = bool(example["answers"])
    final = raw
    if null_threshold is not None:
        final = {
            name: {
                id_: float(not has_answer[id_]) if null_odds[id_] > null_threshold else score
                for id_, score in values.items()
            }
            for name, values in raw.items()
        }
    scores = _means(final, list(has_answer))
    if has_impossible:
        for name, wanted in (("HasAns", True), ("NoAns", False)):
            ids = [id_ for id_, answered in has_answer.items() if answered is wanted]
            means = _means(final, ids) if ids else {}
            scores |= {f"{name}_{key}": value for key, value in means.items()}
    if null_odds is not None:
        for name, values in raw.items():
            best, threshold = _best_threshold(predictions, values, null_odds, has_answer)
            scores |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return scores


def normalized_answer(text: str) -> str:
    """Lower-cases an answer and removes punctuation, articles and extra spaces."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _f1(truth, prediction, both_may_be_empty):
    truth, prediction = (normalized_answer(text).split() for text in (truth, prediction))
    if both_may_be_empty and not (truth and prediction):
        return int(truth == prediction)
    shared = sum((Counter(truth) & Counter(prediction)).values())
    if not shared:
        return 0
    precision, recall = shared / len(prediction), shared / len(truth)
    return 2 * precision * recall / (precision + recall)


def _means(scores, ids):
    means = {name: sum(values[id_] for id_ in ids) / len(ids) for name, values in scores.items()}
    return {**{name: 100.0 * mean for name, mean in means.items()}, "total": len(ids)}


def _best_threshold(predictions, scores, null_odds, has_answer):
    """Finds the threshold of the odds with the best score; returns `(score, threshold)`."""
    current = best = sum(not answered for answered in has_answer.values())
    threshold = 0.0
    for id_ in sorted((id_ for id_ in null_odds if id_ in scores), key=null_odds.get):
        if has_answer[id_]:
            current += scores[id_]
        elif predictions[id_]:
            current -= 1
        if current > best:
            best, threshold = current, null_odds[id_]
    return 100.0 * best / len(scores), threshold


def _check(examples, predictions, null_odds, null_threshold):
    if not examples:
        raise ValueError("There are no examples.")
    if null_threshold is not None and null_odds is None:
        raise ValueError("null_threshold is a threshold of null_odds: give null_odds too.")
    for name, given in (("predictions", predictions), ("null_odds", null_odds)):
        missing = [e["id"] for e in examples if given is not None and e["id"] not in given]
        if missing:
            raise ValueError(
                f"{name} lacks {len(missing)} of the {len(examples)} questions, such as "
                f"{missing[0]!r}. Give one for each; the answer '' means no answer."
            )
