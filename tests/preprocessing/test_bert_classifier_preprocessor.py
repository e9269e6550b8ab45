import numpy as np
import pytest
from scipy.special import expit, softmax

from keras_bert import BertClassifierPreprocessor
from keras_bert.scoring.label_scorers import ClassScorer

NAMES = ["bad", "fine", "good"]
LOGITS = np.array([[0.5, 3, 2], [0, -1, -2]], "float32")


@pytest.fixture(scope="module")
def make(tokenizer):
    def make(label_names=NAMES, **settings):
        return BertClassifierPreprocessor(tokenizer, 8, label_names=label_names, **settings)

    return make


def test_one_name_alone_is_a_number_and_labels_are_scored_in_any_form(make, refused):
    assert make(["score"]).is_regression and not make(["a"], multi_label=True).is_regression
    scorer = ClassScorer(make(NAMES[:2]))
    for y in ([[1], [0]], [[0, 1], [1, 0]]):
        assert scorer.score([{"label": "fine"}] * 2, None, y)["accuracy"] == 0.5
    refused("threshold must be below 1; got 1", make, threshold=1)
    refused("leave one out", make, multi_label=True, regression=True)


def test_answers_are_labels_and_probabilities(assert_close, make):
    found = make().answers(LOGITS + 90)
    assert found["label"].tolist() == ["fine", "bad"]
    assert found["labels"].tolist() == [NAMES] * 2
    assert_close(found["probabilities"], softmax(LOGITS, axis=1))
    found = make(multi_label=True, threshold=0.3).answers(LOGITS)
    assert_close(found["probabilities"], expit(LOGITS))
    assert found["is_label"].tolist() == [[True, True, True], [True, False, False]]
    logits = np.array([[0, 0.8], [0, 0.9], [0.5, 1.3], [0.5, 1.4]], "float32")
    answers = make(NAMES[:2], threshold=0.7).answers(logits)  # the log-odds .85
    assert answers["label"].tolist() == ["bad", "fine"] * 2
    assert make(NAMES[:2]).answers(0 * logits)["label"].tolist() == ["bad"] * 4  # as argmax


def test_windows_start_a_stride_apart_until_one_reaches_the_end(make, refused):
    texts = [[*"abcdefghijklmnopqrstu"[:number]] for number in (0, 1, 6, 7, 8, 12, 13, 21)]
    spaces = " " * 9  # a text of more characters than a window's tokens have
    x = {"text": [*map(spaces.join, texts)], "features": np.arange(8)}
    for stride in (1, 2, 4, 6):
        preprocessor = make(window_stride=stride)
        assert preprocessor.cuts_windows and preprocessor.signature == {"text": 1}
        windows, owners = [], []
        for owner, text in enumerate(texts):
            last = max(0, -(-(len(text) - 6) // stride))  # the number of a text's last window
            windows += [" ".join(text[stride * n : stride * n + 6]) for n in range(last + 1)]
            owners += [owner] * (last + 1)
        rows = preprocessor.read(x)
        assert np.array_equal(rows.counts, np.bincount(owners))
        [inputs] = rows.as_batch()
        expected = {**make()(windows), "features": owners}
        for name, values in expected.items():
            assert np.array_equal(inputs[name], values)
    refused("need single texts.*None", preprocessor.read, (["a"], ["b"]))
