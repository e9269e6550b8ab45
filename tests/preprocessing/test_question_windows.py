import collections

import numpy as np
import pytest
from keras_bert.preprocessing.question_dataset import (
    batches_by_length,
    byte_span,
    character_span,
    window_labels,
    windows_of,
)

from keras_bert import BertPreprocessor, BertTokenizer, question_dataset, read_squad
from keras_bert.preprocessing.question_windows import question_windows

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrst", "##y", "cafe"]


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(BertTokenizer(WORDS), sequence_length=12)


def example(question, context, *answers, **more):
    answers = [{"text": text, "answer_start": start} for text, start in answers]
    return {"question": question, "context": context, "answers": answers, **more}


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
    arguments = {"document_stride": stride, "max_question_length": 2}
    windows = question_windows(preprocessor, questions, contexts, **arguments)
    places = {name: value.numpy() for name, value in windows.places(12).items()}
    found = zip(windows.first.numpy(), windows.length.numpy(), strict=True)
    found, row = list(map(tuple, found)), 0
    for question, context in zip(questions, contexts, strict=True):
        begin = 2 + min(len(question.split()), 2)
        tokens = context.split()
        expected = google_windows(len(tokens), 12 - 1 - begin, stride)
        assert found[row : row + len(expected)] == expected
        for number, (first, length) in enumerate(expected):
            positions = np.arange(12)
            inside = (positions >= begin) & (positions < begin + length)
            assert (places["in_context"][row] == inside).all()
            best = [google_best_window(expected, first + i) == number for i in range(length)]
            assert places["begins"][row][inside].tolist() == best
            assert not places["begins"][row][~inside].any()
            spans = zip(places["starts"][row][inside], places["ends"][row][inside], strict=True)
            assert [context[a:b] for a, b in spans] == tokens[first : first + length]
            row += 1
    assert row == len(found)


def test_windows_hold_question_and_part_of_the_context(preprocessor):
    data = question_dataset(
        [example("a b c d", "e f g h i", ("h", 6))],
        preprocessor=preprocessor,
        batch_size=8,
        document_stride=2,
        max_question_length=6,
    )
    [(inputs, labels)] = data.as_numpy_iterator()
    ids = {word: number for number, word in enumerate(WORDS)}
    rows = ["[CLS] a b c d [SEP] e f g h i [SEP]"]
    assert inputs["token_ids"].tolist() == [[ids[word] for word in row.split()] for row in rows]
    assert inputs["segment_ids"].tolist() == [[0] * 6 + [1] * 6]
    assert inputs["padding_mask"].tolist() == [[1] * 12]
    assert labels == {"start": [9], "end": [9]}


def labels_of(preprocessor, examples, **arguments):
    data = question_dataset(
        examples, preprocessor=preprocessor, batch_size=99, max_question_length=4, **arguments
    )
    [(_, labels)] = data.as_numpy_iterator()
    return list(zip(labels["start"].tolist(), labels["end"].tolist(), strict=True))


def test_a_window_without_the_whole_answer_is_labelled_with_cls(preprocessor):
    long = example("a b", " ".join("cdefghijklmnop"), ("h i j", 10))  # tokens 5, 6 and 7
    assert labels_of(preprocessor, [long], document_stride=3) == [(0, 0), (6, 8), (0, 0), (0, 0)]
    long["is_impossible"] = True
    assert labels_of(preprocessor, [long], document_stride=3) == [(0, 0)] * 4


def test_an_answer_that_parts_a_token_gets_the_whole_token(preprocessor):
    inside = example("a", "b cafe d", ("af", 3))
    over = example("a", "b cafey d", ("y d", 6))
    between = example("a", "b \u200b\u00a0 d", ("d", 5))
    assert labels_of(preprocessor, [inside, over, between]) == [(4, 4), (5, 6), (4, 4)]


def test_accents_and_wide_characters_do_not_shift_an_answer(preprocessor):
    context = "ééé café 漢字 😀 d"
    answers = [("café", 4), ("漢字", 9), ("😀", 12), ("d", 14)]
    examples = [example("a", context, answer) for answer in answers]
    windows = windows_of(examples, preprocessor, 128, 4)
    spans = [(start, start + len(text)) for text, start in answers]
    labels = window_labels(windows, examples, spans)
    places = {name: value.numpy() for name, value in windows.places(12).items()}
    for row, (text, _) in enumerate(answers):
        start = int(places["starts"][row][labels["start"][row]])
        end = int(places["ends"][row][labels["end"][row]])
        first, last = character_span(context.encode(), start, end)
        assert context[first:last] == text


def test_bytes_and_characters(preprocessor):
    text = "aé漢😀\ud800b"
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            span = byte_span(text, start, end)
            data = text.encode("utf-8", "surrogatepass")
            assert character_span(data, *span) == (start, end)
            assert data[slice(*span)].decode("utf-8", "surrogatepass") == text[start:end]


def test_examples_without_an_answer_to_learn_are_left_out(preprocessor):
    examples = [example("a", "b c", ("c", 0)), example("a", "b c", ("c", 2)), example("a", "b")]
    assert labels_of(preprocessor, examples) == [(4, 4)]
    with pytest.raises(ValueError, match="No question has an answer to learn"):
        labels_of(preprocessor, examples[:1])


def test_an_epoch_is_shuffled_by_its_seed_and_trimmed(preprocessor):
    examples = [example("a", " ".join("b" * n), ("b", 0)) for n in range(1, 8)]

    def lengths(seed=None):
        data = question_dataset(
            examples, preprocessor=preprocessor, batch_size=1, max_question_length=4,
            shuffle=seed is not None, seed=seed, trim=True,
        )  # fmt: skip
        return [inputs["token_ids"].shape[1] for inputs, _ in data.as_numpy_iterator()]

    assert lengths() == [n + 4 for n in range(1, 8)]
    assert lengths(1) == lengths(1) != lengths(2)
    assert sorted(lengths(1)) == lengths()


@pytest.mark.parametrize(
    ("examples", "arguments", "message"),
    [
        ([], {}, "no questions"),
        ([{"question": "a"}], {}, "dict of two strings.*number 0 is"),
        ([example("a", "b", ("b", 0)), example("a", None)], {}, "number 1 is"),
        ([example("a", "b", ("b", 0))], {"document_stride": 0}, "document_stride must be at least"),
        ([example("a", "b", ("b", 0))], {"max_question_length": 9}, "leave no room for a context"),
    ],
)
def test_bad_input_is_named(preprocessor, examples, arguments, message):
    arguments = {"max_question_length": 4, **arguments}
    with pytest.raises(ValueError, match=message):
        question_dataset(examples, preprocessor=preprocessor, batch_size=1, **arguments)


@pytest.mark.shared
def test_every_answer_of_squad_that_fits_a_window_is_found_back(shared_data):
    vocabulary = shared_data / "vocab" / "bert-base-uncased.txt"
    preprocessor = BertPreprocessor(BertTokenizer(str(vocabulary)), sequence_length=384)
    examples = [
        {**one, "answers": [answer]}
        for one in read_squad(shared_data / "squad" / "dev-v1.1.json")
        for answer in {(a["text"], a["answer_start"]): a for a in one["answers"]}.values()
    ]
    spans = [
        (a["answer_start"], a["answer_start"] + len(a["text"]))
        for a in (one["answers"][0] for one in examples)
    ]
    counts = collections.Counter()
    for first in range(0, len(examples), 2000):
        chunk, chunk_spans = examples[first : first + 2000], spans[first : first + 2000]
        windows = windows_of(chunk, preprocessor, 128, 64)
        labels = window_labels(windows, chunk, chunk_spans)
        rows = np.flatnonzero(labels["start"])
        places = windows.places(384)
        starts = places["starts"].numpy()[rows, labels["start"][rows]]
        ends = places["ends"].numpy()[rows, labels["end"][rows]]
        found = collections.defaultdict(set)
        for question, start, end in zip(windows.question.numpy()[rows], starts, ends, strict=True):
            found[question].add((start, end))
        for number, one in enumerate(chunk):
            context, text = one["context"].encode(), one["answers"][0]["text"]
            texts = {context[a:b].decode() for a, b in found[number]}
            assert len(texts) < 2  # the same in each window
            counts["answers"] += 1
            counts["found"] += texts == {text}
            counts["in larger tokens"] += bool(texts) and text not in texts
            counts["not whole in any window"] += not texts
            assert not texts or text in next(iter(texts))
    # the larger are answers that part a token, as one of "1990" out of "1990s" does
    assert counts == {
        "answers": 18216,
        "found": 18154,
        "in larger tokens": 62,
        "not whole in any window": 0,
    }


@pytest.mark.parametrize(("batch_size", "filled"), [(4, True), (100, False)])
def test_windows_are_predicted_in_few_lengths(preprocessor, batch_size, filled):
    counts = np.random.default_rng(0).integers(0, 9, 30)
    questions = [example("a", " ".join("d" * count), ("", 0)) for count in counts]
    windows = windows_of(questions, preprocessor, 4, 2)
    lengths, tokens = windows.num_tokens(), windows.inputs(np.arange(30))["token_ids"].numpy()
    found, cuts = [], []
    for rows, dataset in batches_by_length(windows, batch_size):
        batches = [batch["token_ids"] for batch in dataset.as_numpy_iterator()]
        [shape] = {batch.shape for batch in batches}
        assert (shape[0] == batch_size) == filled
        read = np.concatenate(batches)
        assert np.array_equal(read[: len(rows)], tokens[rows, : shape[1]])
        assert lengths[rows].max() <= shape[1]
        found += rows.tolist()
        cuts.append(shape[1])
    assert sorted(found) == list(range(30))
    assert cuts == ([12, 9, 6] if filled else [12])
