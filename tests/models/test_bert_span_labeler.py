import json

import keras
import numpy as np
import pytest

from keras_bert import BertPretrainer, BertSpanLabeler, BertTask

pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")

SIZES = {"document_stride": 3, "max_question_length": 4, "max_answer_length": 2}


@pytest.fixture
def model(backbone, preprocessor, randomized):
    return randomized(BertSpanLabeler(backbone, preprocessor, **SIZES))


def examples(number=40):
    """Contexts of letters, of which each question asks for another."""
    generator = np.random.default_rng(1)
    for index in range(number):
        question, letter = [("a", "e"), ("b", "f")][index % 2]
        context = " ".join(generator.permutation(list("efghijk")))
        answers = [{"text": letter, "answer_start": context.index(letter)}]
        yield {"id": str(index), "question": question, "context": context, "answers": answers}


def test_logits_of_start_and_end(model, inputs, difference):
    outputs = model.predict(inputs, verbose=0)
    assert set(outputs) == {"start", "end"}
    encoded = model.backbone.predict(inputs, verbose=0)["sequence_output"]
    logits = encoded @ np.asarray(model.head.kernel) + np.asarray(model.head.bias)
    assert outputs["start"].shape == outputs["end"].shape == (8, 12)
    assert difference(outputs["start"], logits[..., 0]) < 1e-5
    assert difference(outputs["end"], logits[..., 1]) < 1e-5


def test_padding_does_not_change_the_logits_of_tokens(model, inputs, difference):
    row = {name: values[:1] for name, values in inputs.items()}
    longer = {name: np.pad(values, ((0, 0), (0, 4))) for name, values in row.items()}
    short, long = (model.predict(x, verbose=0) for x in (row, longer))
    assert difference(short, {name: values[:, :12] for name, values in long.items()}) < 1e-5


def test_it_learns_to_answer(make_backbone, preprocessor):
    model = BertSpanLabeler(make_backbone(dropout=0.0), preprocessor, **SIZES)
    model.compile(**{**model.default_compile_args(), "optimizer": keras.optimizers.Adam(0.005)})
    questions = list(examples())
    before = model.evaluate(questions, verbose=0, return_dict=True)
    model.fit(questions, batch_size=8, epochs=100, verbose=0)
    after = model.evaluate(questions, verbose=0, return_dict=True)
    assert after["loss"] < before["loss"] / 4
    answers = model.predict(questions, verbose=0)
    right = [
        answer["answer"] == example["answers"][0]["text"]
        for answer, example in zip(answers, questions, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert all(
        example["context"][answer["start"] : answer["end"]] == answer["answer"]
        for answer, example in zip(answers, questions, strict=True)
    )


def test_the_loss_is_the_mean_of_those_of_start_and_end(model):
    loss = model.evaluate(list(examples()), batch_size=64, verbose=0, return_dict=True)
    assert loss["loss"] == pytest.approx((loss["start_loss"] + loss["end_loss"]) / 2, rel=1e-5)


def test_answers_do_not_depend_on_the_batch(model):
    questions = [
        {"question": "a b", "context": "c d e f g h i j k l m n o"},
        {"question": "", "context": "c"},
        {"question": "a b c d e f g h i j k l m n o p", "context": "q r"},
        {"question": "a", "context": ""},
    ]
    whole = model.predict(questions, verbose=0, n_best=3)
    for size in (1, 2, 3):
        for ours, one in zip(model.predict(questions, size, verbose=0), whole, strict=True):
            assert ours["answer"] == one["answer"]
            assert ours["score"] == pytest.approx(one["score"], rel=1e-4)
    for question, one in zip(questions, whole, strict=True):
        [alone] = model.predict(question, verbose=0)
        assert alone["answer"] == one["answer"] and alone["start"] == one["start"]


def test_many_questions_are_answered_in_chunks(model, monkeypatch, capsys):
    questions = list(examples(10))
    expected = model.predict(questions, verbose=0)
    monkeypatch.setattr("keras_bert.models.bert_span_labeler._CHUNK", 4)
    found = model.predict(questions)
    assert "10/10" in capsys.readouterr().out
    assert [one["answer"] for one in found] == [one["answer"] for one in expected]


def test_long_contexts_are_answered(make_backbone, preprocessor):
    preprocessor.sequence_length = 64
    model = BertSpanLabeler(
        make_backbone(max_sequence_length=64, num_layers=1), preprocessor, max_question_length=8
    )
    context = "a b c d e " * 10_000  # 100,000 characters
    [answer] = model.predict({"question": "a " * 99, "context": context}, verbose=0, n_best=20)
    assert answer["answer"] and answer["answer"] == context[answer["start"] : answer["end"]]
    assert 0 < len(answer["answer"].split()) <= 30 and answer["score"] < 1e-3


def test_unusual_characters_are_answered_with_as_they_are(model):
    context = "\ufeffÉ\u0301 e\u00ad \ud800 f\x00g 漢 \U0001f600\u200d!"
    [answer] = model.predict({"question": "\ud800", "context": context}, verbose=0, n_best=50)
    assert all(context[one["start"] : one["end"]] == one["answer"] for one in answer["n_best"])
    assert len(answer["n_best"]) > 5


def test_settings_and_weights_are_kept_by_presets(model, tmp_path, inputs, difference):
    model.null_threshold = -1.5
    model.save_to_preset(tmp_path / "preset")
    back = BertTask.from_preset(tmp_path / "preset")
    assert type(back) is BertSpanLabeler
    assert {**back.get_config(), "name": ""} == {**model.get_config(), "name": ""}
    assert difference(back.predict(inputs, verbose=0), model.predict(inputs, verbose=0)) == 0
    other = BertSpanLabeler.from_preset(tmp_path / "preset", document_stride=1)
    assert other.document_stride == 1 and other.null_threshold == -1.5
    assert not other.load_report.new


def test_it_starts_from_a_pretrained_encoder(backbone, preprocessor, tmp_path):
    BertPretrainer(backbone, preprocessor=preprocessor).save_to_preset(tmp_path / "preset")
    model = BertSpanLabeler.from_preset(tmp_path / "preset", **SIZES)
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    with pytest.raises(ValueError, match="leave no room.*sequence_length=384"):
        BertSpanLabeler.from_preset(tmp_path / "preset")


def test_settings_come_back_from_what_transformers_reads(model, tmp_path):
    from keras_bert import save_to_hugging_face

    model.null_threshold = 0.25
    save_to_hugging_face(model, tmp_path / "theirs")
    config = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert config["architectures"] == ["BertForQuestionAnswering"]
    back = BertTask.from_preset(tmp_path / "theirs")
    assert back.null_threshold == 0.25 and back.window_arguments() == model.window_arguments()
    assert set(back.load_report.new) == set()


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([{"question": "a"}], "dict of two strings.*number 0"),
        ([{"question": "a", "context": "b"}, {"question": 5, "context": "b"}], "number 1"),
        ([{"question": "a", "context": "b"}, "a"], "number 1 is 'a'"),
    ],
)
def test_what_is_no_question_is_named(model, questions, message):
    with pytest.raises(ValueError, match=message):
        model.predict(questions, verbose=0)


def test_bad_arguments_are_named(backbone, preprocessor, model):
    question = {"question": "a", "context": "b", "answers": []}
    with pytest.raises(ValueError, match="max_answer_length must be at least 1; got 0"):
        BertSpanLabeler(backbone, max_answer_length=0)
    with pytest.raises(ValueError, match="n_best must be at least 1; got 0"):
        model.predict(question, n_best=0)
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        model.fit([question], [1])
    with pytest.raises(ValueError, match="No question has an answer to learn"):
        model.fit([question])
    with pytest.raises(ValueError, match="has no preprocessor"):
        BertSpanLabeler(backbone).predict(question)
