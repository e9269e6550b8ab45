"""The warm-up file: which requests it has, and their bytes."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf.internal.encoder import _VarintBytes

from keras_bert.serving import export_saved_model
from keras_bert.serving.warmup_requests import MAX_REQUESTS, WARMUP_FILE, _varint, prediction_log

LENGTH = 16


@pytest.fixture
def requests_written(monkeypatch):
    """The requests that each export would write; the model itself is not written."""
    written = []
    monkeypatch.setattr(tf.saved_model, "save", lambda *_, **__: None)
    monkeypatch.setattr(
        export_saved_model, "write_warmup_requests", lambda *given: written.append([*given[2]])
    )
    return written


def requests_of(one):
    """`[(signature name, inputs)]` of a SavedModel's file."""
    requests = export_saved_model._warmup_requests(one.task, None)
    records = tf.data.TFRecordDataset(str(one.folder / WARMUP_FILE)).as_numpy_iterator()
    name = one.folder.parent.name
    assert [*records] == [prediction_log(name, *request) for request in requests]
    return requests


@pytest.fixture
def model(served):
    return served("classes").task


def test_they_are_a_short_text_a_long_one_a_pair_and_token_ids(model, served):
    requests = requests_of(served("classes"))
    texts = [np.array(inputs["text"]) for name, inputs in requests if name == "serving_default"]
    assert [text.shape for text in texts] == [(1,), (1,), (1, 2)]
    tokens = [model.preprocessor.tokenizer(list(text.ravel())) for text in texts]
    assert [[*map(len, rows)] for rows in tokens] == [[1], [LENGTH], [1, 1]]
    name, inputs = requests[3]
    assert name == "token_ids" and set(inputs) == {"token_ids", "segment_ids", "padding_mask"}
    assert {(tuple(v.shape), v.dtype.name) for v in inputs.values()} == {((1, LENGTH), "int32")}
    assert np.sum(inputs["padding_mask"]) == 3


def test_texts_of_ones_own_take_their_place(model, requests_written, tmp_path):
    texts = ["a b c", ("d e f", "Größe 好"), "d"]
    model.export(tmp_path / "served", warmup_texts=texts)
    model.export(tmp_path / "served", version=2, warmup_texts="d")
    model.export(tmp_path / "served", version=3, warmup_texts=[])
    [*requests, (name, prepared)], [(_, alone), _] = requests_written
    assert (tmp_path / "served" / "3").exists()
    found = [np.ravel(inputs["text"]).tolist() for _, inputs in requests]
    assert found == [["a b c"], ["d e f", "Größe 好"], ["d"]]
    assert name == "token_ids"
    expected = model.preprocessor([texts[0]])
    for key, values in prepared.items():
        assert np.array_equal(values, expected[key])
    assert alone["text"] == ["d"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("classes", 4),
        ("words", 3),
        ("questions without answers", 3),
        ("choices", 3),
        ("windows", 3),
    ],
)
def test_every_task_answers_its_own_requests(served, name, number):
    requests = requests_of(served(name))
    assert len(requests) == number and requests[-1][0] == "token_ids"
    assert {signature for signature, _ in requests} == set(served(name).signatures)
    for signature, inputs in requests:
        tensors = {key: tf.constant(values) for key, values in inputs.items()}
        answers = served(name).signatures[signature](**tensors)
        assert {values.shape[0] for values in answers.values()} == {1}
        if "probabilities" in answers and name != "words":
            assert np.isclose(np.sum(answers["probabilities"]), 1)


def test_requests_of_questions_and_choices_are_pairs(served, requests_written, tmp_path):
    choices, questions = (served(n).task for n in ("choices", "questions without answers"))
    choices.export(tmp_path / "choices", warmup_texts=[("a b", ["c", "d", "e"])])
    [[(name, inputs), (other, _)]] = requests_written
    assert (name, other) == ("serving_default", "token_ids")
    assert inputs == {"context": ["a b"], "choices": [["c", "d", "e"]]}
    for wrong in ("a", ("a", "b"), (["a"], ["b"]), ("a", ["b"], "c")):
        with pytest.raises(ValueError, match=r"pairs \(context, choices\)"):
            choices.export(tmp_path / "refused", warmup_texts=[wrong])
    with pytest.raises(ValueError, match=r"pairs \(question, context\)"):
        questions.export(tmp_path / "refused", warmup_texts=["a"])
    assert not (tmp_path / "refused").exists()


def test_a_record_is_that_of_tensorflow_servings_own_classes():
    # PredictionLog.SerializeToString() of tensorflow-serving-api 2.21.0
    expected = (
        b"27\n5\n\x18\n\x05films\x1a\x0fserving_default"
        b"\x12\x19\n\x04text\x12\x11\x08\x07\x12\x04\x12\x02\x08\x01B\x07so good"
    )
    assert prediction_log("films", "serving_default", {"text": ["so good"]}) == expected


def test_lengths_are_encoded_as_protobuf_does():
    for length in (0, 1, 127, 128, 16383, 16384, 2100000):
        assert _varint(length) == _VarintBytes(length)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a"] * MAX_REQUESTS, f"at most {MAX_REQUESTS} warm-up requests.*at most 999"),
        ([("a", "b", "c")], "texts or pairs of texts"),
        ([["a"]], "texts or pairs of texts"),
    ],
)
def test_too_many_and_triples_are_refused_before_anything_is_written(
    model, tmp_path, texts, message
):
    with pytest.raises(ValueError, match=message):
        model.export(tmp_path / "served", warmup_texts=texts)
    assert not (tmp_path / "served").exists()
