"""Threads, processes, JSON and servers, as users write them."""

import asyncio
import concurrent.futures
import json
import multiprocessing

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import BertClassifier, BertClassifierPreprocessor
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


def test_embeddings_in_threads(embedder):
    expected = embedder.encode_document(TEXTS)
    found = in_threads(lambda _: embedder.encode_document(TEXTS), range(8))
    assert all(np.array_equal(vectors, expected) for vectors in found)


def test_asyncio_to_thread(compiled, alone):
    async def serve():
        return await asyncio.gather(*(asyncio.to_thread(compiled.answer, TEXTS) for _ in range(8)))

    assert {as_json(answers) for answers in asyncio.run(serve())} == {alone}


# Processes


def answer_in_process(folder):
    return as_json(BertClassifier.from_preset(folder).answer(TEXTS))


@pytest.mark.slow
def test_a_process_pool_executor(preset, alone):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(answer_in_process, [preset])) == [alone]


# JSON


@pytest.fixture(scope="module")
def embedder(make_encoder, tokenizer):
    reader = keras_bert.BertEmbedderPreprocessor(tokenizer, 8)
    return keras_bert.BertEmbedder(make_encoder(), preprocessor=reader)


def regression(encoder, tokenizer):
    reader = BertClassifierPreprocessor(tokenizer, 8)
    return BertClassifier(encoder, num_classes=1, preprocessor=reader), TEXTS


def several_labels(encoder, tokenizer):
    options = {"label_names": ["x", "y"], "multi_label": True}
    reader = BertClassifierPreprocessor(tokenizer, 8, **options)
    return BertClassifier(encoder, preprocessor=reader), TEXTS


def tags(encoder, tokenizer):
    reader = keras_bert.BertTokenClassifierPreprocessor(tokenizer, 8, label_names=["O", "X"])
    return keras_bert.BertTokenClassifier(encoder, preprocessor=reader), TEXTS


def spans(encoder, tokenizer):
    reader = keras_bert.BertSpanLabelerPreprocessor(tokenizer, 12, max_question_length=4)
    questions = [{"question": "a b", "context": "c d e"}, {"question": "f", "context": "g h"}]
    return keras_bert.BertSpanLabeler(encoder, preprocessor=reader), questions


def choices(encoder, tokenizer):
    reader = keras_bert.BertMultipleChoicePreprocessor(tokenizer, 8)
    questions = [
        {"context": "a b", "choices": ["c", "d e"]},
        {"context": "f", "choices": ["g", "h"]},
    ]
    return keras_bert.BertMultipleChoice(encoder, preprocessor=reader), questions


def embeddings(encoder, tokenizer):
    reader = keras_bert.BertEmbedderPreprocessor(tokenizer, 8)
    return keras_bert.BertEmbedder(encoder, preprocessor=reader), TEXTS


def reranking(encoder, tokenizer):
    reader = keras_bert.BertRerankerPreprocessor(tokenizer, 8)
    return keras_bert.BertReranker(encoder, preprocessor=reader), [("a b", "c"), ("d", "e f")]


@pytest.mark.parametrize(
    "make", [regression, several_labels, tags, spans, choices, embeddings, reranking]
)
def test_json_of_the_answers_of_a_task(make, make_encoder, tokenizer):
    model, examples = make(make_encoder(), tokenizer)
    answers = model.answer(examples)
    read = json.loads(json.dumps(answers))
    assert len(read) == len(examples)
    for answer, copied in zip(answers, read, strict=True):
        assert answer.keys() == copied.keys()
        keras.tree.map_structure(np.testing.assert_array_equal, listed(answer), listed(copied))
    as_one = json.dumps(model.answer(examples[0]))
    assert json.loads(as_one).keys() == read[0].keys()


def listed(answer):
    return {name: np.array(value, dtype=object).tolist() for name, value in answer.items()}


def test_answers_scores_and_logs_as_json(compiled):
    answer = compiled.answer(TEXTS[0])
    scores = compiled.scores(TEXTS, LABELS)
    logs = compiled.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    for values in (answer, scores, logs):
        assert json.loads(json.dumps(values)) == values
    assert sum(answer["probabilities"]) == pytest.approx(1)


def test_answers_of_a_generator_of_texts(compiled, alone):
    assert as_json(compiled.answer(text for text in TEXTS)) == alone
