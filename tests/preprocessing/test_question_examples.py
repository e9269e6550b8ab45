import numpy as np
import pytest

from keras_bert import Batching, BertSpanLabelerPreprocessor, BertTokenizer
from keras_bert.preprocessing.question_examples import trained_windows, window_labels, windows_of

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrst", "##y", "cafe"]
FULL = Batching(pad_to="full")


@pytest.fixture(scope="module")
def preprocessor():
    return BertSpanLabelerPreprocessor(
        BertTokenizer(WORDS), sequence_length=12, max_question_length=4
    )


def example(question, context, *answers, **more):
    answers = [{"text": text, "answer_start": start} for text, start in answers]
    return {"question": question, "context": context, "answers": answers, **more}


def trained(preprocessor, examples, document_stride=128):
    return trained_windows(
        examples, preprocessor, document_stride=document_stride, max_question_length=4
    )


def labels_of(*arguments):
    labels = trained(*arguments).targets
    return list(zip(labels["start"].tolist(), labels["end"].tolist(), strict=True))


def test_windows_hold_question_and_part_of_the_context(preprocessor):
    windows = trained(preprocessor, [example("a b c d", "e f g h i", ("h", 6))])
    inputs, labels = windows.batch(np.array([0]), FULL)
    row = "[CLS] a b c d [SEP] e f g h i [SEP]"
    assert inputs["token_ids"].tolist() == [[WORDS.index(word) for word in row.split()]]
    assert inputs["segment_ids"].tolist() == [[0] * 6 + [1] * 6]
    assert inputs["padding_mask"].tolist() == [[1] * 12]
    assert labels["start"].tolist() == labels["end"].tolist() == [9]


def test_a_window_without_the_whole_answer_is_labeled_with_cls(preprocessor):
    long = example("a b", " ".join("cdefghijklmnop"), ("h i j", 10))  # tokens 5, 6 and 7
    assert labels_of(preprocessor, [long], 3) == [(0, 0), (6, 8), (0, 0), (0, 0)]
    assert labels_of(preprocessor, [{**long, "is_impossible": True}], 3) == [(0, 0)] * 4


def test_an_answer_that_splits_a_token_gets_the_whole_token(preprocessor):
    inside = example("a", "b cafe d", ("af", 3))
    over = example("a", "b cafey d", ("y d", 6))
    between = example("a", "b \u200b\u00a0 d", ("d", 5))
    assert labels_of(preprocessor, [inside, over, between]) == [(4, 4), (5, 6), (4, 4)]


def test_accents_and_wide_characters_do_not_shift_an_answer(preprocessor):
    context = "ééé café 漢字 😀 d"
    answers = [("café", 4), ("漢字", 9), ("😀", 12), ("d", 14)]
    examples = [example("a", context, answer) for answer in answers]
    windows = windows_of(examples, preprocessor, document_stride=128, max_question_length=4)
    assert windows.contexts.texts == [context]  # which is tokenized once
    spans = [(start, start + len(text)) for text, start in answers]
    labels = window_labels(windows, examples, spans)
    places, rows = windows.places(12), np.arange(len(spans))
    starts, ends = (places[f"{name}s"][rows, labels[name]] for name in ("start", "end"))
    assert list(zip(starts, ends, strict=True)) == spans


def test_examples_without_an_answer_to_train_on_are_left_out(preprocessor):
    examples = [example("a", "b c", ("c", 0)), example("a", "b c", ("c", 2)), example("a", "b")]
    assert labels_of(preprocessor, examples) == [(4, 4)]
    with pytest.raises(ValueError, match="No question has answers to train on"):
        trained(preprocessor, examples[:1])
