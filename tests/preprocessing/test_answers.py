import numpy as np
import pytest
from keras_bert.preprocessing.answers import answers_of
from keras_bert.preprocessing.question_dataset import windows_of

from keras_bert import BertPreprocessor, BertTokenizer
from keras_bert.preprocessing.best_spans import NO_SPAN, best_spans

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrst"]


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
def test_the_best_spans_are_those_of_all(longest):
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
            assert abs(found["total"][row] - total) < 1e-5
    assert (found["score"][5] <= NO_SPAN).all()


@pytest.fixture
def ask():
    """Answers of logits, by the letters at which they are high; windows of 5 tokens of context."""
    preprocessor = BertPreprocessor(BertTokenizer(WORDS), sequence_length=9)

    def ask(contexts, high, n_best=1, null_threshold=None, null=-5.0):
        examples = [{"question": "a", "context": context} for context in contexts]
        windows = windows_of(examples, preprocessor, 2, 4)
        ids = windows.inputs(np.arange(len(windows.question)))["token_ids"].numpy()
        logits = np.zeros((2, *ids.shape), "float32")
        for part, letters in zip(logits, high, strict=True):
            for letter, value in letters.items():
                part[ids == WORDS.index(letter)] = value
            part[:, 0] = null
        return answers_of(
            examples,
            windows,
            *logits,
            max_answer_length=3,
            n_best=n_best,
            null_threshold=null_threshold,
        )

    return ask


def test_answers_are_the_best_of_all_windows_in_the_words_of_the_context(ask):
    context = "  C d \n e f g h  I\u00a0 j"
    [answer, other] = ask([context, "j h"], [{"i": 3.0}, {"j": 2.0, "i": 1.0}])
    assert answer["answer"] == "I\u00a0 j" == context[answer["start"] : answer["end"]]
    assert (other["answer"], other["start"], other["end"]) == ("j", 0, 1)
    assert 0 < answer["score"] < 1 and answer["null_odds"] == -10 - 5


def test_an_answer_begins_where_it_has_most_context_and_is_not_too_long(ask):
    [answer] = ask(["c d e f g h i j"], [{"c": 9.0}, {"j": 9.0, "d": 1.0}])
    assert answer["answer"] == "c d"  # c to j would be longer than three tokens


def test_scores_are_the_probabilities_of_all_spans(ask):
    [answer] = ask(["c d"], [{"c": 1.0}, {"d": 0.5}], n_best=9)
    weights = np.exp([1.5, 1.0, 0.5])  # c d, c, d
    found = [(one["answer"], round(one["score"], 5)) for one in answer["n_best"]]
    assert found == [
        (text, round(float(weight), 5))
        for text, weight in zip(("c d", "c", "d"), weights / weights.sum(), strict=True)
    ]
    assert answer["n_best"][0]["start_logit"] == 1.0
    assert answer["n_best"][0]["end_logit"] == 0.5


def test_none_wins_above_the_threshold_only(ask):
    high = [{"c": 1.0}, {"c": 1.0}]
    [answer] = ask(["c d"], high, null_threshold=0.5, null=1.2)
    assert answer["answer"] == "c" and abs(answer["null_odds"] - 0.4) < 1e-6
    [answer] = ask(["c d"], high, null_threshold=0.3, null=1.2, n_best=3)
    assert (answer["answer"], answer["start"], answer["end"]) == ("", 0, 0)
    assert [one["answer"] for one in answer["n_best"]] == ["", "c", "c d"]
    weights = np.exp([2.4, 2.0, 1.0, 0.0])
    assert abs(answer["score"] - weights[0] / weights.sum()) < 1e-6
    [answer] = ask(["c d"], high, null=9.0, n_best=3)
    assert answer["answer"] == "c" and "" not in [one["answer"] for one in answer["n_best"]]


def test_none_of_a_long_context_is_its_lowest(ask):
    def odds(contexts, **arguments):
        return [answer["null_odds"] for answer in ask(contexts, [{}, {}], **arguments)]

    assert odds(["c d e f g h i", "c"], null=2.0) == [4.0, 4.0]


@pytest.mark.parametrize("null_threshold", [None, 0.0])
def test_a_context_without_words_has_no_answer(ask, null_threshold):
    answers = ask(["", " \n", "c"], [{}, {}], n_best=4, null_threshold=null_threshold)
    for answer in answers[:2]:
        assert (answer["answer"], answer["start"], answer["end"]) == ("", 0, 0)
        assert answer["score"] == 1.0 and answer["null_odds"] == -10
        assert [one["answer"] for one in answer["n_best"]] == [""]
    assert answers[2]["answer"] == "c"


def test_each_text_comes_once_at_its_best_place(ask):
    [answer] = ask(["c d c e"], [{"c": 2.0}, {"c": 2.0}], n_best=20)
    texts = [one["answer"] for one in answer["n_best"]]
    assert len(set(texts)) == len(texts) == 8 and texts[0] == "c"
