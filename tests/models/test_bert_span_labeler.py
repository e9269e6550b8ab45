"""Questions on contexts, answered in the contexts' words."""

import functools

import pytest

from keras_bert import BertSpanLabeler, BertSpanLabelerPreprocessor
from keras_bert.preprocessing.texts import in_parts


@pytest.fixture
def model(backbone, make_case, randomized, eager):
    return eager(randomized(make_case("questions", backbone)))


def test_many_questions_are_answered_in_parts(model, cases, monkeypatch):
    questions = cases["questions"][1]
    expected = model.answer(questions)
    few = functools.partial(in_parts, size=3)
    monkeypatch.setattr("keras_bert.data.data.in_parts", few)
    assert [one["answer"] for one in model.answer(questions)] == [one["answer"] for one in expected]


def test_long_contexts_are_answered(make_backbone, letters):
    reader = BertSpanLabelerPreprocessor(letters, 64, max_question_length=8)
    model = BertSpanLabeler(make_backbone(max_sequence_length=64), reader)
    context = "a b c d e " * 10_000  # 100,000 characters
    answer = model.answer({"question": "a " * 99, "context": context}, n_best=20)
    assert answer["answer"] and answer["answer"] == context[answer["start"] : answer["end"]]
    assert 0 < len(answer["answer"].split()) <= 30 and answer["score"] < 1e-3


def test_unusual_characters_are_answered_with_as_they_are(model):
    context = "\ufeffÉ\u0301 e\u00ad \ud800 f\x00g 漢 \U0001f600\u200d!"
    answer = model.answer({"question": "\ud800", "context": context}, n_best=50)
    best = zip(answer["n_best_answer"], answer["n_best_start"], answer["n_best_end"], strict=True)
    assert all(context[start:end] == text for text, start, end in best)
    assert len(answer["n_best_answer"]) > 5
