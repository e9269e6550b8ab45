import json

import pytest

import keras_bert

SETTINGS = "--sequence_length 20 --max_question_length 4 --document_stride 6 --n_best 3"
SETTINGS += " --max_answer_length 3 --batch_size 16 --learning_rate 1e-2"


@pytest.fixture
def files(tmp_path):
    """Questions of one word; the answer is the word good or bad, or there is none."""

    def write(is_second=False, train=192, dev=12):
        paths = {}
        for name, number in (("train", train), ("dev", dev), ("test", 4)):
            questions = [question(index, is_second) for index in range(number)]
            paragraphs = [{"context": CONTEXTS[c], "qas": questions[c::2]} for c in (0, 1)]
            paths[name] = str(tmp_path / f"{name}.json")
            with open(paths[name], "w") as file:
                json.dump({"version": "x", "data": [{"title": "", "paragraphs": paragraphs}]}, file)
        return paths

    return write


CONTEXTS = ["the Film was very good, and the book so bad.", "so it is bad but a day is good"]


def question(index, is_second):
    word = ["good", "bad", "dull"][index % (3 if is_second else 2)]
    context = CONTEXTS[index % 2]
    answers = [{"text": word, "answer_start": context.find(word)}] if word != "dull" else []
    one = {"id": str(index), "question": f"{word} {word}", "answers": answers}
    return {**one, "is_impossible": not answers} if is_second else one


def read(path):
    return json.loads(path.read_text())


def test_it_learns_and_writes_what_the_official_scripts_take(finetuned, files):
    paths = files()
    output, history = finetuned(paths, "--epochs", "2")
    assert len(history) == 2 and set(history[0]) == {"exact", "f1", "total"}
    best = max(scores["f1"] for scores in history)
    assert best > 60
    examples = keras_bert.readers.read_squad(paths["dev"])
    predictions = read(output / "predictions.json")
    assert keras_bert.metrics.squad_scores(examples, predictions)["f1"] == best
    assert predictions.keys() == read(output / "null_odds.json").keys()
    n_best = read(output / "nbest_predictions.json")["0"]
    assert set(n_best[0]) == {"text", "probability", "start_logit", "end_logit"}
    assert n_best[0]["text"] == predictions["0"] and len(n_best) == 3
    model = keras_bert.BertSpanLabeler.from_preset(output / "best")
    assert model.preprocessor.null_threshold is None
    assert model.preprocessor.document_stride == 6
    again = model.answer(examples)
    assert [one["answer"] for one in again] == [predictions[e["id"]] for e in examples]
    test = keras_bert.readers.read_squad(paths["test"])
    scores = keras_bert.metrics.squad_scores(test, read(output / "test_predictions.json"))
    assert scores == read(output / "test_scores.json")


@pytest.mark.slow
def test_the_second_version_keeps_the_threshold_that_is_best(finetuned, files):
    paths = files(is_second=True, train=96)
    output, history = finetuned(paths, "--epochs", "4")
    examples = keras_bert.readers.read_squad(paths["dev"])
    best = max(history, key=lambda scores: scores["f1"])
    assert {"HasAns_f1", "NoAns_f1", "null_threshold"} < set(best)
    answers, predictions = read(output / "answers.json"), read(output / "predictions.json")
    assert keras_bert.metrics.squad_scores(examples, answers)["f1"] == pytest.approx(best["f1"])
    assert all(predictions.values()) and not all(answers.values())
    found = keras_bert.metrics.squad_scores(examples, predictions, read(output / "null_odds.json"))
    assert found["best_f1_thresh"] == best["null_threshold"]
    model = keras_bert.BertSpanLabeler.from_preset(output / "best")
    assert model.preprocessor.null_threshold == best["null_threshold"]
