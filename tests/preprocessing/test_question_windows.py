import numpy as np
import pytest

from keras_bert import BertSpanLabelerPreprocessor, BertTokenizer, FastTokenizer
from keras_bert.preprocessing.question_windows import question_windows, trained_windows
from keras_bert.preprocessing.text_rows import located
from keras_bert.readers import read_squad
from tests import vocabularies


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertSpanLabelerPreprocessor(tokenizer, sequence_length=12, max_question_length=2)


def google_windows(num_tokens, room, stride):
    """`(first, length)` of each window, as run_squad.py finds them."""
    windows, first = [], 0
    while first < num_tokens:
        length = min(num_tokens - first, room)
        windows.append((first, length))
        if first + length == num_tokens:
            break
        first += min(length, stride)
    return windows or [(0, 0)]


def google_best_window(windows, token):
    """The window in which a token has most context, as run_squad.py finds it."""
    scores = [
        min(token - first, first + length - 1 - token) + 0.01 * length
        if first <= token < first + length
        else -1
        for first, length in windows
    ]
    return scores.index(max(scores))


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 100])
def test_windows_and_maximum_context_are_those_of_google(preprocessor, stride):
    generator = np.random.default_rng(stride)
    questions = [" ".join("abc"[: generator.integers(0, 4)]) for _ in range(25)]
    counts = [0, 1, *generator.integers(1, 40, 23)]
    contexts = [" ".join(generator.choice(list("defgh"), n)) for n in counts]
    preprocessor = preprocessor.like(preprocessor, document_stride=stride)
    texts = preprocessor.tokenized(questions), located(preprocessor, contexts)
    windows = question_windows(preprocessor, *texts, np.arange(25))
    places = windows.places(12)
    row = 0
    for question, context in zip(questions, contexts, strict=True):
        begin = 2 + min(len(question.split()), 2)
        tokens = context.split()
        expected = google_windows(len(tokens), 12 - 1 - begin, stride)
        for number, (first, length) in enumerate(expected):
            assert (windows.first[row], windows.length[row]) == (first, length)
            begins, in_context, starts, ends = (values[row] for values in places.values())
            [inside] = np.nonzero(in_context)
            assert inside.tolist() == [*range(begin, begin + length)]
            best = [google_best_window(expected, first + i) == number for i in range(length)]
            assert begins[inside].tolist() == best and sum(begins) == sum(best)
            spans = zip(starts[inside], ends[inside], strict=True)
            assert [context[a:b] for a, b in spans] == tokens[first : first + length]
            row += 1
    assert row == len(windows.first)


def test_a_mark_of_a_word_without_letters_ends_no_answer():
    tokenizer = FastTokenizer(vocabularies.unigrams())
    preprocessor = BertSpanLabelerPreprocessor(tokenizer, 12, max_question_length=2)
    places = preprocessor.read([{"question": "a", "context": "a 日 b"}]).places(12)
    assert places["in_context"].sum() == 3  # of ▁, a, ▁, 日, ▁b


@pytest.mark.shared
def test_every_answer_of_squad_that_fits_a_window_is_found_back(shared_data):
    vocabulary = shared_data / "vocab" / "bert-base-uncased.txt"
    preprocessor = BertSpanLabelerPreprocessor(BertTokenizer(vocabulary))
    examples = read_squad(shared_data / "squad" / "dev-v1.1.json")
    windows = trained_windows(examples, preprocessor)
    [labels] = windows.targets
    rows, places = np.flatnonzero(labels["start"]), windows.places(384)
    starts, ends = (places[f"{end}s"][rows, labels[end][rows]] for end in ("start", "end"))
    found = set()
    for question, start, end in zip(windows.question[rows], starts, ends, strict=True):
        found.add((question, examples[question]["context"][start:end]))
    assert len(found) == len(examples)  # the same in each window
    answers = [(number, one["answers"][0]["text"]) for number, one in enumerate(examples)]
    larger = found.difference(answers)  # of tokens, as "1990s" is where "1990" is the answer
    assert len(larger) == 32
    assert all(answers[number][1] in text for number, text in larger)
