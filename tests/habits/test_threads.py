"""Threads, processes, JSON and servers, as users write them."""

import asyncio
import concurrent.futures
import copy
import json
import multiprocessing
import pickle
import queue
import threading
from multiprocessing.pool import ThreadPool

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


def test_answer_in_a_thread_pool(compiled, alone):
    found = in_threads(lambda _: compiled.answer(TEXTS), range(16))
    assert {as_json(answers) for answers in found} == {alone}


def test_one_text_in_each_thread(compiled, alone):
    found = in_threads(compiled.answer, TEXTS * 2)
    labels = [answer["label"] for answer in json.loads(alone)]
    assert [answer["label"] for answer in found] == labels * 2


def test_predict_in_a_thread_pool(compiled):
    expected = compiled.predict(TEXTS, verbose=0)
    found = in_threads(lambda _: compiled.predict(TEXTS, verbose=0), range(16))
    assert all(np.array_equal(outputs, expected) for outputs in found)


def test_scores_in_a_thread_pool(compiled):
    expected = compiled.scores(TEXTS, LABELS)
    found = in_threads(lambda _: compiled.scores(TEXTS, LABELS), range(8))
    assert found == [expected] * 8


def test_different_texts_in_threads(compiled, assert_close):
    batches = [TEXTS[start:] for start in range(8)]
    expected = [compiled.predict(batch, verbose=0) for batch in batches]
    found = in_threads(lambda batch: compiled.predict(batch, verbose=0), batches)
    assert_close(found, expected)


def test_batches_of_several_sizes_in_threads(compiled, alone):
    found = in_threads(lambda size: compiled.answer(TEXTS, batch_size=size), [1, 2, 4, 8] * 2)
    labels = [[answer["label"] for answer in answers] for answers in found]
    assert labels == [[answer["label"] for answer in json.loads(alone)]] * 8


def test_threads_of_the_threading_module(compiled, alone):
    found = queue.Queue()
    threads = [
        threading.Thread(target=lambda: found.put(as_json(compiled.answer(TEXTS))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.get() for _ in range(4)] == [alone] * 4


def test_a_thread_pool_of_multiprocessing(compiled, alone):
    with ThreadPool(4) as pool:
        found = pool.map(compiled.answer, [TEXTS] * 8)
    assert {as_json(answers) for answers in found} == {alone}


def test_a_new_model_answers_first_in_threads(model, alone):
    found = in_threads(lambda _: model.answer(TEXTS), range(4))
    assert {as_json(answers) for answers in found} == {alone}


def test_loading_in_a_thread(preset, alone):
    (model,) = in_threads(BertClassifier.from_preset, [preset])
    assert as_json(model.answer(TEXTS)) == alone


def test_two_models_in_two_threads(preset, alone):
    def load_and_answer(folder):
        return as_json(BertClassifier.from_preset(folder).answer(TEXTS))

    assert in_threads(load_and_answer, [preset] * 2, workers=2) == [alone] * 2


def test_training_in_a_thread(sgd_model, plain, trained_as):
    (history,) = in_threads(lambda _: sgd_model.fit(TEXTS, LABELS, **PLAIN), range(1))
    trained_as(sgd_model, history, plain())


def test_answers_after_training_in_a_thread(sgd_model, plain):
    in_threads(lambda _: sgd_model.fit(TEXTS, LABELS, **PLAIN), range(1))
    expected = plain()[1].answer(TEXTS)
    assert [a["label"] for a in sgd_model.answer(TEXTS)] == [a["label"] for a in expected]


def test_the_tokenizer_in_threads(tokenizer):
    expected = tokenizer(TEXTS)
    found = in_threads(lambda _: tokenizer(TEXTS), range(16))
    assert all(list(map(list, ids)) == list(map(list, expected)) for ids in found)


def test_embeddings_in_threads(embedder):
    expected = embedder.encode_document(TEXTS)
    found = in_threads(lambda _: embedder.encode_document(TEXTS), range(8))
    assert all(np.array_equal(vectors, expected) for vectors in found)


def test_asyncio_to_thread(compiled, alone):
    async def serve():
        return await asyncio.gather(*(asyncio.to_thread(compiled.answer, TEXTS) for _ in range(8)))

    assert {as_json(answers) for answers in asyncio.run(serve())} == {alone}


def test_run_in_executor(compiled, alone):
    async def serve():
        return await asyncio.get_running_loop().run_in_executor(None, compiled.answer, TEXTS)

    assert as_json(asyncio.run(serve())) == alone


def test_a_lock_around_answer(compiled, alone):
    lock = threading.Lock()

    def handle(_):
        with lock:
            return as_json(compiled.answer(TEXTS))

    assert set(in_threads(handle, range(4))) == {alone}


# Processes


def answer_in_process(folder):
    return as_json(BertClassifier.from_preset(folder).answer(TEXTS))


@pytest.mark.slow
def test_a_spawned_pool(preset, alone):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(answer_in_process, [str(preset)]) == [alone]


@pytest.mark.slow
def test_a_process_pool_executor(preset, alone):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(answer_in_process, [preset])) == [alone]


def test_a_pickled_model(compiled, alone):
    assert as_json(pickle.loads(pickle.dumps(compiled)).answer(TEXTS)) == alone


def test_a_copied_model(compiled, alone):
    assert as_json(copy.deepcopy(compiled).answer(TEXTS)) == alone


# JSON


def test_json_of_an_answer(compiled):
    answer = compiled.answer(TEXTS[0])
    read = json.loads(json.dumps(answer))
    assert read == answer
    assert sum(read["probabilities"]) == pytest.approx(1)


def test_json_of_parts_of_an_answer(compiled):
    answer = compiled.answer(TEXTS[0])
    probabilities = dict(zip(answer["labels"], answer["probabilities"], strict=True))
    read = json.loads(json.dumps({"label": answer["label"], "probabilities": probabilities}))
    assert read["label"] == max(read["probabilities"], key=read["probabilities"].get)


def test_json_of_scores(compiled):
    scores = compiled.scores(TEXTS, LABELS)
    assert json.loads(json.dumps(scores)) == scores


def test_json_of_evaluate(compiled):
    logs = compiled.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    assert json.loads(json.dumps(logs)) == pytest.approx(logs)


def test_json_of_a_history(sgd_model):
    history = sgd_model.fit(TEXTS, LABELS, validation_split=0.25, **PLAIN).history
    assert json.loads(json.dumps(history)) == history


def test_json_of_a_config(compiled):
    config = json.loads(json.dumps(compiled.get_config()))
    assert BertClassifier.from_config(config).num_classes == 2
    assert json.loads(compiled.to_json())["class_name"] == "BertClassifier"


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


def test_rows_of_json_lines(compiled, tmp_path, assert_close):
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with open(tmp_path / "a.jsonl", encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    expected = compiled.evaluate(TEXTS, LABELS, verbose=0)
    assert_close(compiled.evaluate(read, verbose=0), expected)


def test_answers_one_by_one(compiled, alone):
    def stream(texts):
        for text in texts:
            yield compiled.answer(text)

    found = [answer["label"] for answer in stream(TEXTS)]
    assert found == [answer["label"] for answer in json.loads(alone)]


def test_answers_of_a_generator_of_texts(compiled, alone):
    assert as_json(compiled.answer(text for text in TEXTS)) == alone


def test_answers_written_line_by_line(compiled, alone, tmp_path):
    with open(tmp_path / "answers.jsonl", "w", encoding="utf-8") as file:
        for answer in compiled.answer(TEXTS):
            file.write(json.dumps(answer) + "\n")
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == json.loads(alone)
