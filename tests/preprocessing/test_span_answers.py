"""Answers out of logits, against a second implementation that looks at every span."""

import numpy as np
import pytest

from keras_bert import Batching, BertSpanLabelerPreprocessor
from keras_bert.models.answering import answer_dicts

LONGEST = 3  # tokens of an answer


@pytest.fixture(scope="module")
def make_preprocessor(tokenizer):
    """Windows of 5 tokens of context after a question of one, which start 2 tokens apart."""

    def make(null_threshold=None):
        return BertSpanLabelerPreprocessor(
            tokenizer,
            sequence_length=9,
            document_stride=2,
            max_question_length=4,
            max_answer_length=LONGEST,
            null_threshold=null_threshold,
        )

    return make


@pytest.fixture
def ask(make_preprocessor, vocabulary):
    """Answers of logits, by the letters at which they are high."""

    def ask(contexts, high, n_best=1, null_threshold=None, null=-5.0):
        preprocessor = make_preprocessor(null_threshold)
        rows = preprocessor.read([{"question": "a", "context": context} for context in contexts])
        [inputs] = rows.batch(np.arange(len(rows.question)), Batching(pad_to="full"))
        ids = inputs["token_ids"]
        logits = np.zeros((2, *ids.shape), "float32")
        for part, letters in zip(logits, high, strict=True):
            for letter, value in letters.items():
                part[ids == vocabulary.index(letter)] = value
            part[:, 0] = null
        outputs = dict(zip(("start", "end"), logits, strict=True))
        return answer_dicts(preprocessor.answers(outputs, rows, n_best=n_best))

    return ask


def spans_of(context, windows, first_row, start, end):
    """`[(score, start logit, end logit, first token, last token)]` of a question's windows.

    Args:
        context: str, words of a letter each.
        windows: `[(first, length)]`.
        first_row: the row of the first window.
        start: `[N, S]` logits.
        end: the same.
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


@pytest.mark.parametrize("null_threshold", [None, -1.0, 0.0])
def test_answers_are_the_best_of_every_span(make_preprocessor, null_threshold):
    generator = np.random.default_rng(5)
    contexts = [
        " ".join(generator.choice(list("cdefgh"), n)) for n in (0, 1, 3, 5, 6, 9, 14, 14)
    ] + [" \n"]
    preprocessor = make_preprocessor(null_threshold)
    rows = preprocessor.read([{"question": "a", "context": context} for context in contexts])
    start, end = generator.normal(0, 1.5, (2, len(rows.question), 9)).astype("float32")
    found = answer_dicts(preprocessor.answers({"start": start, "end": end}, rows, n_best=8))
    windows = list(zip(rows.first.tolist(), rows.length.tolist(), strict=True))
    for number, (answer, context) in enumerate(zip(found, contexts, strict=True)):
        mine = np.flatnonzero(rows.question == number)
        best, odds, n_best = expected_answer(
            context, [windows[i] for i in mine], mine[0], start, end, null_threshold, 8
        )
        assert (answer["answer"], answer["start"], answer["end"]) == best[:3]
        assert (answer["start_byte"], answer["end_byte"]) == best[1:3]
        np.testing.assert_allclose([answer["score"], answer["null_odds"]], [best[3], odds], 1e-5)
        names = ("answer", "start", "end", "score", "start_logit", "end_logit")
        columns = [answer[f"n_best_{name}"] for name in names]
        assert list(zip(*columns[:3], strict=True)) == [one[:3] for one in n_best]
        np.testing.assert_allclose(np.transpose(columns[3:]), [one[3:] for one in n_best], 1e-5)


def test_answers_are_in_the_words_of_the_context(ask):
    context = "  C d \n e f g h  I\u00a0 j"
    [answer, other] = ask([context, "j h"], [{"i": 3.0}, {"j": 2.0, "i": 1.0}])
    assert answer["answer"] == "I\u00a0 j" == context[answer["start"] : answer["end"]]
    data = context.encode()[answer["start_byte"] : answer["end_byte"]]
    assert data.decode() == answer["answer"]
    assert (other["answer"], other["start"], other["end"]) == ("j", 0, 1)
    assert 0 < answer["score"] < 1 and answer["null_odds"] == -10 - 5


def test_scores_are_the_probabilities_of_all_spans(ask):
    [answer] = ask(["c d"], [{"c": 1.0}, {"d": 0.5}], n_best=9)
    weights = np.exp([1.5, 1.0, 0.5])  # c d, c, d
    assert answer["n_best_answer"] == ["c d", "c", "d"]
    np.testing.assert_allclose(answer["n_best_score"], weights / weights.sum(), rtol=1e-5)
    assert (answer["n_best_start_logit"][0], answer["n_best_end_logit"][0]) == (1.0, 0.5)
    [alone] = ask(["c d"], [{"c": 1.0}, {"d": 0.5}])
    assert alone == {name: v for name, v in answer.items() if not name.startswith("n_best")}


def test_none_wins_above_the_threshold_only(assert_close, ask):
    high = [{"c": 1.0}, {"c": 1.0}]
    [answer] = ask(["c d"], high, null_threshold=0.5, null=1.2)
    assert answer["answer"] == "c"
    assert_close(answer["null_odds"], 0.4)
    [answer] = ask(["c d"], high, null_threshold=0.3, null=1.2, n_best=3)
    assert (answer["answer"], answer["start"], answer["end"]) == ("", 0, 0)
    assert answer["n_best_answer"] == ["", "c", "c d"]
    weights = np.exp([2.4, 2.0, 1.0, 0.0])
    assert_close(answer["score"], weights[0] / weights.sum())
    [answer] = ask(["c d"], high, null=9.0, n_best=3)
    assert answer["answer"] == "c" and "" not in answer["n_best_answer"]
