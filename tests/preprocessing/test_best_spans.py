import numpy as np
import pytest

from keras_bert.preprocessing.best_spans import NO_SPAN, best_spans


def every_span(start, end, begins, in_context, longest):
    """`(score, start, end)` of each allowed span of a window, the best first."""
    spans = [
        (start[i] + end[j], i, j)
        for i in np.flatnonzero(begins)
        for j in range(i, min(i + longest, len(end)))
        if in_context[j]
    ]
    return sorted(spans, key=lambda span: (-span[0], span[1], span[2]))


@pytest.mark.parametrize("longest", [1, 3, 50])
def test_the_best_spans_are_those_of_all(assert_close, longest):
    generator = np.random.default_rng(longest)
    start, end = generator.normal(size=(2, 6, 14)).astype("float32")
    in_context = np.zeros((6, 14), bool)
    in_context[:5, 4:12] = True
    begins = in_context & (generator.random((6, 14)) < 0.6)
    found = best_spans(start, end, begins, in_context, max_answer_length=longest, n_best=7)
    found = {name: value.numpy() for name, value in found.items()}
    for row in range(6):
        expected = every_span(start[row], end[row], begins[row], in_context[row], longest)
        number = min(7, len(expected))
        assert (found["score"][row, number:] <= NO_SPAN).all()
        spans = list(zip(*(found[name][row] for name in ("score", "start", "end")), strict=True))
        assert spans[:number] == expected[:number]
        if expected:
            total = np.log(np.exp([score for score, _, _ in expected]).sum())
            assert_close(found["total"][row], total)
    assert (found["score"][5] <= NO_SPAN).all()
