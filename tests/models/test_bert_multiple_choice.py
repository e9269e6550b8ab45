"""Questions with choices."""

import keras
import numpy as np
import pytest

from keras_bert import Batching, BertMultipleChoice, BertPretrainer, BertTask

QUESTIONS = [
    {"context": "a b", "choices": ["c", "d e", "f g h"], "label": 1},
    {"context": "b", "choices": ["i j k l m n o p q r", "s"], "label": 0},
    {"context": "c d e f g h i j k", "choices": ["t", "", "u v", "w", "x"], "label": 4},
    {"context": "", "choices": [" ", "y"], "label": 1},
]


@pytest.fixture
def bare(make_backbone, randomized, eager):
    """A multiple choice without a preprocessor."""
    return eager(randomized(BertMultipleChoice(make_backbone(num_layers=1))))


@pytest.fixture(scope="module")
def reader(letters):
    """A preprocessor whose graphs all models share."""
    from keras_bert import BertMultipleChoicePreprocessor

    return BertMultipleChoicePreprocessor(letters, sequence_length=12)


@pytest.fixture
def model(make_backbone, reader, varied, eager):
    return eager(varied(BertMultipleChoice(make_backbone(num_layers=1), reader)))


@pytest.fixture
def choices(inputs):
    """Prepared inputs, `[2, 4, 12]`."""
    return {name: values.reshape(2, 4, 12) for name, values in inputs.items()}


def shares(answers):
    return [answer["probabilities"] for answer in answers]


def test_logits_are_products_of_the_pooled_output_with_a_vector(
    bare, inputs, choices, assert_close
):
    pooled = bare.backbone.predict(inputs, verbose=0)["pooled_output"]
    kernel, bias = (keras.ops.convert_to_numpy(w) for w in bare.head.weights)
    assert kernel.shape == (16, 1)
    logits = bare.predict(choices, verbose=0)
    assert logits.shape == (2, 4) and logits.dtype == "float32"
    assert_close(logits, (pooled @ kernel + bias).reshape(2, 4))
    assert np.ptp(logits) > 1e-3
    assert_close(bare(choices), logits)


def test_segments_and_padding_may_be_left_out(bare, choices, assert_close):
    token_ids = {"token_ids": choices["token_ids"]}
    whole = {**token_ids, "padding_mask": np.ones_like(token_ids["token_ids"])}
    whole["segment_ids"] = 0 * whole["padding_mask"]
    assert_close(bare.predict(token_ids, verbose=0), bare.predict(whole, verbose=0))
    assert_close(bare(token_ids), bare(whole))


def test_permuting_the_choices_permutes_the_logits(bare, choices, assert_close):
    order = [2, 0, 3, 1]
    permuted = {name: values[:, order] for name, values in choices.items()}
    logits = bare.predict(choices, verbose=0)
    assert_close(bare.predict(permuted, verbose=0), logits[:, order])


def test_a_choice_of_padding_alone_changes_nothing(bare, choices, assert_close):
    more = {name: np.pad(values, ((0, 0), (1, 2), (0, 3))) for name, values in choices.items()}
    logits = bare.predict(more, verbose=0)
    assert_close(logits[:, 1:5], bare.predict(choices, verbose=0))
    assert (logits[:, [0, 5, 6]] == -1e9).all()
    labels = np.array([3, 0])
    loss, accuracy = bare.evaluate(choices, labels, verbose=0)
    assert bare.evaluate(more, labels + 1, verbose=0) == pytest.approx([loss, accuracy], rel=1e-4)


def test_the_loss_is_the_cross_entropy_over_the_choices(bare, choices):
    labels = np.array([1, 3])
    found = bare.evaluate(choices, labels, verbose=0, return_dict=True)
    logits = bare.predict(choices, verbose=0).astype("float64")
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    expected = -np.log(probabilities[[0, 1], labels]).mean()
    assert found["loss"] == pytest.approx(expected, rel=1e-4)
    assert found["accuracy"] == (logits.argmax(-1) == labels).mean()
    bare.fit(choices, labels, verbose=0)
    assert bare.optimizer.name == "adamw" and int(bare.optimizer.iterations) == 1
    rate = bare.optimizer.get_config()["learning_rate"]
    assert rate == pytest.approx(2e-5)


def test_labels_that_are_no_choices_are_refused(bare, choices):
    for labels, message in (
        ([0, 4], "Question 1 has the label 4, but its choices are 0, 1, 2, 3"),
        ([0, -1], "ints with 0 for the first; got"),
        ([0.0, 1.0], "ints with 0"),
        (["a", "b"], "ints with 0"),
    ):
        with pytest.raises(ValueError, match=message):
            bare.fit(choices, np.array(labels), verbose=0)
    choices["padding_mask"][0, 2] = 0
    with pytest.raises(ValueError, match="Question 0 has the label 2.*choices are 0, 1, 3"):
        bare.evaluate(choices, np.array([2, 2]), verbose=0)


def test_dropout_acts_on_the_pooled_output(make_backbone, choices, difference):
    model = BertMultipleChoice(make_backbone(num_layers=1, dropout=0.0), dropout=0.5)
    assert difference(model(choices), model(choices)) == 0.0
    assert difference(model(choices), model(choices, training=True)) > 1e-4


def test_it_learns_from_raw_questions(make_backbone, preprocessor):
    model = BertMultipleChoice(make_backbone(num_layers=1, dropout=0.0), preprocessor, dropout=0.0)
    model.compile(**{**model.default_compile_args(), "optimizer": keras.optimizers.Adam(0.003)})
    history = model.fit(
        QUESTIONS * 60, batch_size=4, shuffle=False, validation_data=QUESTIONS, verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history["val_accuracy"] == [1.0]
    answers = model.answer(QUESTIONS)
    assert [answer["label"] for answer in answers] == [1, 0, 4, 1]
    assert [answer["choice"] for answer in answers] == ["d e", "i j k l m n o p q r", "x", "y"]
    assert model.scores(QUESTIONS) == {"accuracy": 1.0}
    assert model.scores(QUESTIONS, [0, 0, 0, 0]) == {"accuracy": 0.25}
    others = model.evaluate(QUESTIONS, [0, 0, 0, 0], verbose=0, return_dict=True)
    assert others["accuracy"] == 0.25


def test_validation_split_takes_the_last_questions(model):
    model.compile(keras.optimizers.SGD(0.0), model.default_compile_args()["loss"], run_eagerly=True)
    expected, _ = model.evaluate(QUESTIONS[2:], verbose=0)
    history = model.fit(QUESTIONS, validation_split=0.5, verbose=0).history
    assert history["val_loss"] == pytest.approx([expected], rel=1e-5)
    unlabeled = [{k: v for k, v in question.items() if k != "label"} for question in QUESTIONS]
    history = model.fit(unlabeled, [1, 0, 4, 1], validation_split=0.5, verbose=0).history
    assert history["val_loss"] == pytest.approx([expected], rel=1e-5)


def test_probabilities_are_of_each_questions_own_choices(assert_close, model):
    answers = model.answer(QUESTIONS)
    for answer, question in zip(answers, QUESTIONS, strict=True):
        assert len(answer["probabilities"]) == len(question["choices"])
        assert_close(sum(answer["probabilities"]), 1.0)
        assert answer["label"] == int(np.argmax(answer["probabilities"]))
        assert answer["choice"] == question["choices"][answer["label"]]
    assert answers[2]["probabilities"][1] == 0.0 < min(answers[0]["probabilities"])
    assert np.ptp(answers[0]["probabilities"]) > 0.01
    for size in (1, 3):
        again = model.answer(QUESTIONS, batch_size=size)
        assert_close(*map(np.concatenate, (shares(again), shares(answers))))
    alone = model.answer(QUESTIONS[1])
    assert_close(alone["probabilities"], answers[1]["probabilities"])


def test_permuting_raw_choices_permutes_their_probabilities(assert_close, model):
    question, order = QUESTIONS[0], [2, 0, 1]
    permuted = {**question, "choices": [question["choices"][place] for place in order]}
    longer = {**question, "choices": [*question["choices"], "", ""]}
    own, other, more = shares(model.answer([question, permuted, longer]))
    assert_close(own[order], other)
    assert_close([*own, 0.0, 0.0], more)


def test_batches_of_questions_are_what_questions_are(model):
    data = model.batches(QUESTIONS, batching=Batching(32))
    expected = model.evaluate(QUESTIONS, verbose=0)
    assert model.evaluate(data, verbose=0) == pytest.approx(expected, rel=1e-5)
    model.fit(data, verbose=0)
    wrong = ((inputs, labels + 1) for inputs, labels in data)
    with pytest.raises(Exception, match="label"):
        model.fit(wrong, verbose=0)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (QUESTIONS, [1, 0, 5, 1], "Question 2 has the label 5.*choices: 0, 2, 3, 4"),
        (QUESTIONS, [1, 0, 1, 1], "Question 2 has the label 1"),
        (QUESTIONS, [1, 0], "4 questions but 2 labels"),
        ([{"context": "a", "choices": ["b", "c"]}], None, "the label None"),
        ([{"context": "a", "choices": ["b"]}], [0], "has 1 non-empty choices"),
        (["a b"], [0], "takes questions, dicts of 'context' and 'choices'"),
    ],
)
def test_what_it_cannot_train_on_is_refused(model, x, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(x, y, verbose=0)


def test_what_cannot_be_answered_is_refused(model, bare):
    with pytest.raises(ValueError, match="was given text, but it has no preprocessor"):
        bare.answer(QUESTIONS)
    with pytest.raises(ValueError, match="leave sample_weight out"):
        model.fit(QUESTIONS, sample_weight=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="got texts"):
        model.answer("a")


def test_it_becomes_a_preset_and_a_keras_file_and_comes_back(model, varied, tmp_path):
    model = varied(BertMultipleChoice.from_config(model.get_config()))  # not compiled
    expected = model.predict(QUESTIONS, verbose=0)
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "model.keras")
    back = BertTask.from_preset(tmp_path / "preset")
    assert type(back) is BertMultipleChoice and back.get_config() == model.get_config()
    assert np.array_equal(back.predict(QUESTIONS, verbose=0), expected)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert np.array_equal(loaded.predict(QUESTIONS, verbose=0), expected)
    other = BertMultipleChoice.from_preset(tmp_path / "preset", dropout=0.3)
    assert other.dropout == 0.3 and not other.load_report.new


def test_it_starts_from_a_pretrained_encoder(backbone, tmp_path):
    BertPretrainer(backbone).save_to_preset(tmp_path / "preset")
    model = BertMultipleChoice.from_preset(tmp_path / "preset")
    assert set(model.load_report.new) == {"logits/kernel", "logits/bias"}
    kernel = keras.ops.convert_to_numpy(model.head.kernel)
    assert 0.005 < kernel.std() < 0.03


def test_it_goes_to_hugging_face_and_comes_back(bare, choices, difference, tmp_path):
    from keras_bert.presets.save_checkpoint import save_to_hugging_face

    bare.dropout = 0.3
    save_to_hugging_face(bare, tmp_path)
    back = BertTask.from_preset(tmp_path)
    back.run_eagerly = True
    assert type(back) is BertMultipleChoice and back.dropout == 0.3
    assert not back.load_report.new and not back.load_report.left_over
    assert difference(back.predict(choices, verbose=0), bare.predict(choices, verbose=0)) == 0.0
