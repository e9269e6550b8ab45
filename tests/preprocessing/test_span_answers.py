"""Answers out of logits, against a second implementation that looks at every span."""

import numpy as np
import pytest

from keras_bert import BertSpanLabelerPreprocessor
from keras_bert.models.answering import answer_dicts

LONGEST = 3  # tokens of an answer


def spans_of(context, windows, first_row, start, end):
    """`[(score, start logit, end logit, first token, last token)]` of a question's windows.

    Words have a letter each; windows are `[(first, length)]`, and start and end logits `[N, S]`.
    """
    spans = []
    for number, (first, length) in enumerate(windows):
        for i in range(length):
            token = first + i
            most = [
                min(token - a, a + n - 1 - token) + 0.01 * n if a <= token < a + n else -1
                for a, n in windows
            ]
            if most.index(max(most)) != number:
                continue
            for j in range(i, min(i + LONGEST, length)):
                logits = start[first_row + number][3 + i], end[first_row + number][3 + j]
                spans.append((np.float32(sum(logits)), *logits, token, first + j))
    return sorted(spans, key=lambda span: -span[0])


def expected_answer(context, windows, first_row, start, end, null_threshold, n_best):
    """What the answer to a question is, from all of its spans."""
    spans = spans_of(context, windows, first_row, start, end)
    nulls = [start[first_row + n][0] + end[first_row + n][0] for n in range(len(windows))]
    null = min(nulls)
    row = first_row + nulls.index(null)
    odds = null - spans[0][0] if spans else null
    words = [(c, at) for at, c in enumerate(context) if not c.isspace()]

    def text(first, last):
        begin, finish = words[first][1], words[last][1] + 1
        return context[begin:finish], begin, finish

    ranked = [(s, a, b, *text(i, j)) for s, a, b, i, j in spans]
    if null_threshold is not None or not ranked:
        ranked.append((null, start[row][0], end[row][0], "", 0, 0))
    ranked.sort(key=lambda span: -span[0])
    total = np.log(np.exp([span[0] for span in ranked]).sum())
    once = {}
    for score, a, b, answer, begin, finish in ranked:
        once.setdefault(answer, (answer, begin, finish, np.exp(score - total), a, b))
    is_null = not spans or (null_threshold is not None and odds > null_threshold)
    best = next(one for one in once.values() if (one[0] == "") == is_null)
    return best[:4], odds, list(once.values())[:n_best]


def test_bytes_that_are_no_utf8_do_not_raise():
    for texts in ([b"\xe9", b"a\xff"], ["\udce9", "a\udcff"]):
        found = answer_dicts({"answer": np.array(texts, object)})
        assert [row["answer"] for row in found] == ["\ufffd", "a\ufffd"]


@pytest.mark.parametrize("null_threshold", [None, -1.0, 0.0])
def test_answers_are_the_best_of_every_span(tokenizer, null_threshold):
    """Windows hold 5 tokens of context after a question of one, and start 2 tokens apart."""
    generator = np.random.default_rng(5)
    words = [generator.choice(list("cDefgÉ"), n) for n in (0, 1, 3, 5, 6, 9, 14, 14)]
    spaces = iter(generator.choice([" ", "  ", "\u00a0", "\n\u2003"], 99))
    contexts = ["".join(word + next(spaces) for word in each) for each in words] + [" \n"]
    preprocessor = BertSpanLabelerPreprocessor(
        tokenizer,
        sequence_length=9,
        document_stride=2,
        max_question_length=4,
        max_answer_length=LONGEST,
        null_threshold=null_threshold,
    )
    rows = preprocessor.read([{"question": "a", "context": context} for context in contexts])
    start, end = generator.normal(0, 1.5, (2, len(rows.question), 9)).astype("float32")
    outputs = {"start": start, "end": end}
    found = answer_dicts(preprocessor.answers(outputs, rows, n_best=8))
    for answer, best in zip(found, answer_dicts(preprocessor.answers(outputs, rows)), strict=True):
        assert best == {name: v for name, v in answer.items() if not name.startswith("n_best")}
    windows = list(zip(rows.first.tolist(), rows.length.tolist(), strict=True))
    for number, (answer, context) in enumerate(zip(found, contexts, strict=True)):
        mine = np.flatnonzero(rows.question == number)
        best, odds, n_best = expected_answer(
            context, [windows[i] for i in mine], mine[0], start, end, null_threshold, 8
        )
        assert (answer["answer"], answer["start"], answer["end"]) == best[:3]
        places = [len(context[: answer[name]].encode()) for name in ("start", "end")]
        assert [answer["start_byte"], answer["end_byte"]] == places
        np.testing.assert_allclose([answer["score"], answer["null_odds"]], [best[3], odds], 1e-5)
        names = ("answer", "start", "end", "score", "start_logit", "end_logit")
        columns = [answer[f"n_best_{name}"] for name in names]
        assert list(zip(*columns[:3], strict=True)) == [one[:3] for one in n_best]
        np.testing.assert_allclose(np.transpose(columns[3:]), [one[3:] for one in n_best], 1e-5)
