"""The warm-up file: which requests it has, and their bytes."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf.internal.encoder import _VarintBytes

from keras_bert.serving.export_saved_model import _warmup_requests as warmup_requests
from keras_bert.serving.warmup_requests import MAX_REQUESTS, WARMUP_FILE, _varint, prediction_log

LENGTH = 16


def requests_of(one):
    """`[(signature name, inputs)]` of a SavedModel's file."""
    requests = warmup_requests(one.task, None)
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


def test_texts_of_ones_own_take_their_place(model):
    texts = ["a b c", ("d e f", "Größe 好"), "d"]
    [*requests, (name, prepared)] = warmup_requests(model, texts)
    found = [np.ravel(inputs["text"]).tolist() for _, inputs in requests]
    assert found == [["a b c"], ["d e f", "Größe 好"], ["d"]]
    assert name == "token_ids"
    expected = model.preprocessor([texts[0]])
    assert all(np.array_equal(values, expected[key]) for key, values in prepared.items())
    assert warmup_requests(model, "d")[0] == ("serving_default", {"text": ["d"]})
    assert warmup_requests(model, []) == []


@pytest.mark.parametrize(
    "name", ["classes", "words", "questions without answers", "choices", "windows"]
)
def test_every_task_answers_its_own_requests(served, name):
    requests = requests_of(served(name))
    assert len(requests) == (4 if name == "classes" else 3) and requests[-1][0] == "token_ids"
    assert {signature for signature, _ in requests} == set(served(name).signatures)
    for signature, inputs in requests:
        tensors = {key: tf.constant(values) for key, values in inputs.items()}
        answers = served(name).signatures[signature](**tensors)
        assert {values.shape[0] for values in answers.values()} == {1}
        if "probabilities" in answers and name != "words":
            assert np.isclose(np.sum(answers["probabilities"]), 1)


def test_requests_of_questions_and_choices_are_pairs(served):
    choices, questions = (served(n).task for n in ("choices", "questions without answers"))
    [request, (other, _)] = warmup_requests(choices, [("a b", ["c", "d", "e"])])
    assert request == ("serving_default", {"context": ["a b"], "choices": [["c", "d", "e"]]})
    assert other == "token_ids"
    for wrong in ("a", ("a", "b"), (["a"], ["b"]), ("a", ["b"], "c")):
        with pytest.raises(ValueError, match=r"pairs \(context, choices\)"):
            warmup_requests(choices, [wrong])
    with pytest.raises(ValueError, match=r"pairs \(question, context\)"):
        warmup_requests(questions, ["a"])


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
        (["a"] * MAX_REQUESTS, "number of warmup_texts must be at most 999; got 1000"),
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
