"""How well questions are answered, as SQuAD's own scripts count it."""

import re
import string
from collections import Counter

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def squad_scores(examples, predictions, null_odds=None, null_threshold=None):
    """Exact match and F1 of answers, in percent, as SQuAD's official scripts compute them.

    Case, punctuation, the articles a, an and the, and spaces don't count. F1 is that of the words
    that an answer shares with a true one, and the best of the true ones counts. Where examples say
    whether they are impossible, the numbers are those of `evaluate-v2.0.py`, and else those of
    `evaluate-v1.1.py`.

    Args:
        examples: dicts with `id` and `answers`, and of SQuAD 2.0 `is_impossible`, as `read_squad`
            gives them.
        predictions: dict of str, the answer to each `id`; "" for none.
        null_odds: dict of floats, how much rather each question has no answer (`--na-prob-file`);
            or None.
        null_threshold: float, above which `null_odds` make the answer "" (`--na-prob-thresh`, there
            1 by default); None leaves the predictions as they are.

    Returns:
        A dict of `exact`, `f1` and `total`. Of SQuAD 2.0, also `HasAns_exact`, `HasAns_f1`,
        `HasAns_total` and the same with `NoAns`, as far as there are such questions. With
        `null_odds` also `best_exact` and `best_f1`, what the best threshold would give, and those
        thresholds, `best_exact_thresh` and `best_f1_thresh`: they suppose predictions that always
        answer.

    Raises:
        ValueError: if there are no examples, a question lacks its prediction or odds, or a
            prediction is no string.

    Example:
    >>> examples = [{"id": "1", "answers": [{"text": "the Denver Broncos", "answer_start": 0}]}]
    >>> scores = squad_scores(examples, {"1": "Broncos"})
    >>> scores["exact"], round(scores["f1"], 2)
    (0.0, 66.67)
    """
    examples = list(examples)
    _check(examples, predictions, null_odds, null_threshold)
    is_second = any("is_impossible" in example for example in examples)
    exact, f1, has_answer = {}, {}, {}
    for example in examples:
        id_, prediction = example["id"], predictions[example["id"]]
        truths = [answer["text"] for answer in example["answers"]]
        if is_second:
            truths = [text for text in truths if normalized_answer(text)] or [""]
        exact[id_] = max(_exact(truth, prediction) for truth in truths) if truths else 0
        f1[id_] = max(_f1(truth, prediction, is_second) for truth in truths) if truths else 0
        has_answer[id_] = bool(example["answers"])
    raw = {"exact": exact, "f1": f1}
    if null_odds is not None and null_threshold is not None:
        exact, f1 = (
            {
                id_: float(not has_answer[id_]) if null_odds[id_] > null_threshold else score
                for id_, score in values.items()
            }
            for values in (exact, f1)
        )
    scores = _means(exact, f1, list(exact))
    if is_second:
        for name, wanted in (("HasAns", True), ("NoAns", False)):
            ids = [id_ for id_ in exact if has_answer[id_] is wanted]
            means = _means(exact, f1, ids) if ids else {}
            scores |= {f"{name}_{key}": value for key, value in means.items()}
    if null_odds is not None:
        for name, values in raw.items():
            best, threshold = _best_threshold(predictions, values, null_odds, has_answer)
            scores |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return scores


def normalized_answer(text):
    """An answer in lower case, without punctuation, articles and superfluous spaces."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _exact(truth, prediction):
    return int(normalized_answer(truth) == normalized_answer(prediction))


def _f1(truth, prediction, both_may_be_empty):
    truth, prediction = (normalized_answer(text).split() for text in (truth, prediction))
    if both_may_be_empty and not (truth and prediction):
        return int(truth == prediction)
    shared = sum((Counter(truth) & Counter(prediction)).values())
    if not shared:
        return 0
    precision, recall = shared / len(prediction), shared / len(truth)
    return 2 * precision * recall / (precision + recall)


def _means(exact, f1, ids):
    return {
        "exact": 100.0 * sum(exact[id_] for id_ in ids) / len(ids),
        "f1": 100.0 * sum(f1[id_] for id_ in ids) / len(ids),
        "total": len(ids),
    }


def _best_threshold(predictions, scores, null_odds, has_answer):
    """`(score, threshold)`: the best that answering below a threshold of the odds would give."""
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
        raise ValueError("There are no examples: give at least one question.")
    if null_threshold is not None and null_odds is None:
        raise ValueError("null_threshold is one of null_odds: give them too.")
    for name, given in (("predictions", predictions), ("null_odds", null_odds)):
        missing = [e["id"] for e in examples if given is not None and e["id"] not in given]
        if missing:
            raise ValueError(
                f"{name} lacks {len(missing)} of the {len(examples)} questions, {missing[0]!r} "
                "first. Give each question one; the answer '' says that there is none."
            )
    for example in examples:
        prediction = predictions[example["id"]]
        if not isinstance(prediction, str):
            raise ValueError(
                f"The prediction of question {example['id']!r} must be a string; it is "
                f"{prediction!r}."
            )
