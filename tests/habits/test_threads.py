"""Threads as users write them."""

import concurrent.futures

import pytest

from tests.habits.conftest import LABELS, PLAIN, TEXTS


def in_threads(function, arguments):
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(function, arguments))


def test_every_verb_in_a_thread_pool(compiled, assert_close):
    batches = [(TEXTS[start:], LABELS[start:]) for start in range(8)]

    def use(batch):
        texts, labels = batch
        outputs = compiled.predict(texts, verbose=0)
        return (
            outputs,
            [a["label"] for a in compiled.answer(texts)],
            compiled.scores(texts, labels),
        )

    expected = [use(batch) for batch in batches]
    for found, wanted in zip(in_threads(use, batches), expected, strict=True):
        assert_close(found[0], wanted[0])
        assert found[1:] == wanted[1:]


def test_a_new_model_answers_first_in_threads(model, compiled):
    assert in_threads(lambda _: model.answer(TEXTS), range(4)) == [compiled.answer(TEXTS)] * 4


@pytest.mark.slow
def test_answers_after_training_in_a_thread(sgd_model, plain):
    in_threads(lambda _: sgd_model.fit(TEXTS, LABELS, **PLAIN), range(1))
    expected = plain()[1].answer(TEXTS)
    assert [a["label"] for a in sgd_model.answer(TEXTS)] == [a["label"] for a in expected]
