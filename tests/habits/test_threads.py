"""Threads, processes, JSON and servers, as users write them."""

import concurrent.futures
import json
import multiprocessing

import numpy as np
import pytest

from keras_bert import BertClassifier
from tests.habits.conftest import LABELS, PLAIN, TEXTS


@pytest.fixture(scope="module")
def alone(compiled):
    """The answers of one thread, as JSON."""
    return as_json(compiled.answer(TEXTS))


def as_json(answers):
    return json.dumps(answers)


def in_threads(function, arguments, workers=4):
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        return list(pool.map(function, arguments))


# Threads


def test_every_verb_in_a_thread_pool(compiled, alone):
    expected = compiled.predict(TEXTS, verbose=0)
    scores = compiled.scores(TEXTS, LABELS)
    calls = [
        lambda: as_json(compiled.answer(TEXTS)) == alone,
        lambda: np.array_equal(compiled.predict(TEXTS, verbose=0), expected),
        lambda: compiled.scores(TEXTS, LABELS) == scores,
    ]
    assert all(in_threads(lambda number: calls[number % 3](), range(24)))


def test_different_texts_in_threads(compiled, assert_close):
    batches = [TEXTS[start:] for start in range(8)]
    expected = [compiled.predict(batch, verbose=0) for batch in batches]
    found = in_threads(lambda batch: compiled.predict(batch, verbose=0), batches)
    assert_close(found, expected)


def test_a_new_model_answers_first_in_threads(model, alone):
    found = in_threads(lambda _: model.answer(TEXTS), range(4))
    assert {as_json(answers) for answers in found} == {alone}


def test_two_models_in_two_threads(preset, alone):
    def load_and_answer(folder):
        return as_json(BertClassifier.from_preset(folder).answer(TEXTS))

    assert in_threads(load_and_answer, [preset] * 2, workers=2) == [alone] * 2


def test_answers_after_training_in_a_thread(sgd_model, plain):
    in_threads(lambda _: sgd_model.fit(TEXTS, LABELS, **PLAIN), range(1))
    expected = plain()[1].answer(TEXTS)
    assert [a["label"] for a in sgd_model.answer(TEXTS)] == [a["label"] for a in expected]


# Processes


def answer_in_process(folder):
    return as_json(BertClassifier.from_preset(folder).answer(TEXTS))


@pytest.mark.slow
def test_a_process_pool_executor(preset, alone):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(answer_in_process, [preset])) == [alone]


# JSON
