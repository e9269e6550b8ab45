"""The warm-up file against the wire format of protobuf, which is read here a second time.

Field numbers: tensorflow/serving, apis/prediction_log.proto, predict.proto and model.proto.
"""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_bert.serving.warmup_requests import MAX_REQUESTS, prediction_log

LENGTH = 16


def number_at(data, position):
    """`(number, position after it)` of a varint."""
    number, shift = 0, 0
    while True:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position


def fields(message):
    """`[(field number, bytes)]` of a message that has only length-delimited fields."""
    found, position = [], 0
    while position < len(message):
        tag, position = number_at(message, position)
        assert tag & 7 == 2, f"wire type {tag & 7}"
        length, position = number_at(message, position)
        assert position + length <= len(message)
        found.append((tag >> 3, message[position : position + length]))
        position += length
    return found


def only(message, *numbers):
    """The values of these fields, which are there once each, in order, and no others are."""
    found = fields(message)
    assert [number for number, _ in found] == [*numbers]
    return [value for _, value in found]


def read_request(record):
    """`(model name, signature name, inputs)` of a serialized PredictionLog."""
    [predict_log] = only(record, 6)
    [request] = only(predict_log, 1)
    (number, spec), *entries = fields(request)
    assert number == 1 and {number for number, _ in entries} == {2}
    model_name, signature_name = only(spec, 1, 3)
    inputs = {}
    for _, entry in entries:
        name, tensor = only(entry, 1, 2)
        inputs[name.decode()] = tf.make_ndarray(TensorProto.FromString(tensor))
    assert len(inputs) == len(entries)
    return model_name.decode(), signature_name.decode(), inputs


def requests_written(monkeypatch):
    """The requests that each export would write; the model itself is not written."""
    from keras_bert.serving import export_saved_model

    written = []
    monkeypatch.setattr(tf.saved_model, "save", lambda *_, **__: None)
    monkeypatch.setattr(
        export_saved_model, "write_warmup_requests", lambda *given: written.append([*given[2]])
    )
    return written


def requests_of(folder):
    path = folder / "assets.extra" / "tf_serving_warmup_requests"
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()  # checks their checksums
    return [read_request(record) for record in records]


@pytest.fixture
def model(served):
    return served("classes").task


def test_they_are_a_short_text_a_long_one_a_pair_and_token_ids(model, served):
    requests = [(name, inputs) for _, name, inputs in requests_of(served("classes").folder)]
    texts = [inputs["text"] for name, inputs in requests if name == "serving_default"]
    assert [text.shape for text in texts] == [(1,), (1,), (1, 2)]
    tokens = [model.preprocessor.tokenizer(list(text.ravel())) for text in texts]
    assert [[*map(len, rows)] for rows in tokens] == [[1], [LENGTH], [1, 1]]
    name, inputs = requests[3]
    assert name == "token_ids" and set(inputs) == {"token_ids", "segment_ids", "padding_mask"}
    assert {(v.shape, v.dtype.name) for v in inputs.values()} == {((1, LENGTH), "int32")}
    assert inputs["padding_mask"].sum() == 3


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
    requests = requests_of(served(name).folder)
    assert len(requests) == number and requests[-1][1] == "token_ids"
    assert {signature for _, signature, _ in requests} == set(served(name).signatures)
    for model_name, signature, inputs in requests:
        assert model_name == name.replace(" ", "_")
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


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16383, 16384, 2100000])
def test_lengths_of_all_sizes_are_read_back(size):
    text = "é" * (size // 2) + "e" * (size % 2)
    name, signature, inputs = read_request(prediction_log("Größe", "s", {"text": [text], "b": [1]}))
    assert (name, signature) == ("Größe", "s")
    assert inputs["text"].tolist() == [text.encode()] and inputs["b"].tolist() == [1]


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
