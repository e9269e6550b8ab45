"""Answers out of logits, against a second implementation that looks at every span."""

import numpy as np
import pytest

from keras_bert import BertSpanLabelerPreprocessor
from keras_bert.data.translators import rows_of
from keras_bert.models.answering import answer_dicts

LONGEST = 3  # tokens of an answer


def expected_answer(context, windows, start, end, null_threshold, n_best):
    """What the answer to a question is, from every span of its windows `[N]`.

    Windows are dicts of what `places` says of their tokens; start and end are logits `[N, S]`.
    """
    ranked = []
    for places, starts, ends in zip(windows, start, end, strict=True):
        for first in np.flatnonzero(places["begins"]):
            for last in range(first, first + LONGEST):
                if last < len(ends) and places["in_context"][last]:
                    a, b = places["starts"][first], places["ends"][last]
                    score = np.float32(starts[first] + ends[last])
                    ranked.append((score, starts[first], ends[last], context[a:b], a, b))
    best_score = max((span[0] for span in ranked), default=0)
    row = np.argmin(start[:, 0] + end[:, 0])
    null = start[row, 0] + end[row, 0]
    odds = null - best_score
    is_null = not ranked or (null_threshold is not None and odds > null_threshold)
    if null_threshold is not None or not ranked:
        ranked.append((null, start[row, 0], end[row, 0], "", 0, 0))
    ranked.sort(key=lambda span: -span[0])
    total = np.log(np.exp([span[0] for span in ranked]).sum())
    once = {}
    for score, a, b, *answer in ranked:
        probability = pytest.approx(np.exp(score - total), rel=1e-5)
        once.setdefault(answer[0], (*answer, probability, a, b))
    best = next(one for one in once.values() if (one[0] == "") == is_null)
    return best[:4], pytest.approx(odds, rel=1e-5), list(once.values())[:n_best]


@pytest.mark.parametrize("null_threshold", [None, -1.0, 0.0])
def test_answers_are_the_best_of_every_span(tokenizer, null_threshold):
    """Windows hold 5 tokens of context after a question of one, and start 2 tokens apart."""
    generator = np.random.default_rng(5)
    pool = [*"cDefgÉ", *"      ", "\u00a0", "\n\u2003"]
    contexts = ["".join(generator.choice(pool, n)) for n in (0, 1, 4, 9, 14, 20, 24, 30, 30)]
    contexts.append(" \n")
    settings = (2, 4, LONGEST, null_threshold)  # stride, question, answer
    preprocessor = BertSpanLabelerPreprocessor(tokenizer, 9, "head", *settings)
    rows = preprocessor.read([{"question": "a", "context": context} for context in contexts])
    start, end = generator.normal(0, 1.5, (2, len(rows.question), 9)).astype("float32")
    outputs = {"start": start, "end": end}
    found = answer_dicts(preprocessor.answers(outputs, rows, n_best=8))
    for answer, best in zip(found, answer_dicts(preprocessor.answers(outputs, rows)), strict=True):
        assert best == {name: v for name, v in answer.items() if not name.startswith("n_best")}
    limit = float(found[-2]["null_odds"])
    at_limit = preprocessor.like(preprocessor, null_threshold=limit)
    at_limit = at_limit.answers(outputs, rows, n_best=2)
    assert at_limit["answer"][-2] and len(at_limit["n_best_answer"][-2]) == 2
    windows = rows_of(rows.places(9))
    for number, (answer, context) in enumerate(zip(found, contexts, strict=True)):
        mine = np.flatnonzero(rows.question == number)
        given = [windows[i] for i in mine], start[mine], end[mine]
        best, odds, n_best = expected_answer(context, *given, null_threshold, 8)
        names = ("answer", "start", "end", "score", "start_logit", "end_logit")
        assert [answer[name] for name in names[:4]] == [*best]
        assert answer["null_odds"] == odds
        columns = [answer[f"n_best_{name}"] for name in names]
        assert list(zip(*columns, strict=True)) == n_best
