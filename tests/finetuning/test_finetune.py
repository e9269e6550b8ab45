import json
from unittest import mock

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
    BertTokenizer,
    FineTuning,
    finetune,
)
from keras_bert.finetuning.finetune import shown_classes
from keras_bert.losses import LogitCrossentropy
from keras_bert.preprocessing.text_rows import TextRows

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tf.data reads its texts"
)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "book", "film"]
TEXTS = ["good book", "bad book", "good film", "bad film"] * 2
LABELS = ["pro", "contra"] * 4
OPTIONS = {
    "learning_rate": 1e-2,
    "loss": LogitCrossentropy(0.1),
    "test": (["good film", "bad film"],),
}


def make_model(**settings):
    keras.utils.set_random_seed(1)
    names = ("contra", "pro")
    preprocessor = BertClassifierPreprocessor(
        BertTokenizer(WORDS), 6, label_names=names, **settings
    )
    return BertClassifier(keras_bert.BertBackbone(len(WORDS), 1, 2, 16, 16), 2, preprocessor)


def run(
    output,
    model=None,
    train=(TEXTS, LABELS),
    dev=(TEXTS[:4], LABELS[:4]),
    *,
    test=None,
    scores=None,
    callbacks=(),
    **settings,
):
    model, settings = model or make_model(), FineTuning(**{"epochs": 2, **settings})
    options = {"test": test, "scores": scores, "callbacks": callbacks}
    batching = keras_bert.Batching(4)
    return model, finetune(model, train, dev, output, settings, batching=batching, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    output = tmp_path_factory.mktemp("whole")
    return output, *run(output, **OPTIONS)


def test_scores_answers_and_the_best_model_are_kept(whole):
    output, model, history = whole
    assert int(model.optimizer.iterations) == 4  # 8 examples in batches of 4
    assert float(model.optimizer.learning_rate) == 0
    assert len(history) == 2 and set(history[0]) == {"accuracy", "f1", "mcc"}
    assert json.loads((output / "scores.json").read_text()) == history
    best = BertClassifier.from_preset(output / "best")
    assert best.scores(TEXTS[:4], LABELS[:4]) == max(history, key=lambda s: s["accuracy"])
    lines = (output / "dev_predictions.tsv").read_text().splitlines()
    assert lines[0] == "index\tlabel\tcontra\tpro" and len(lines) == 5
    assert [a["label"] for a in best.answer(TEXTS[:4])] == [row.split("\t")[1] for row in lines[1:]]
    assert len((output / "test_predictions.tsv").read_text().splitlines()) == 3
    assert not (output / "test_scores.json").exists()  # a test set without labels


def test_an_interrupted_run_resumes_with_the_same_numbers(assert_close, whole, tmp_path, refused):
    def die(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    def own(y_true, y_pred):
        return keras.ops.zeros(len(y_true))

    stop = keras.callbacks.LambdaCallback(on_epoch_end=die)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, callbacks=[stop], **OPTIONS)
    longer = make_model()
    longer.preprocessor = longer.preprocessor.like(longer.preprocessor, sequence_length=9)
    for changed, message in (
        ({"seed": 1}, r"other settings: seed=1 \(there 0\)"),
        ({"loss": LogitCrossentropy(0.2)}, "label_smoothing': 0.2.*there .*0.1"),
        ({"loss": own}, "loss='own'"),
        ({"model": longer}, r"sequence_length=9 \(there 6\)"),
    ):
        refused(message, run, tmp_path, **{**OPTIONS, **changed})
    numbered = LogitCrossentropy(0.1, name="loss_1")  # as Keras names a second one
    model, history = run(tmp_path, **{**OPTIONS, "loss": numbered})
    output, expected, scores = whole
    assert history == scores
    assert_close(model.get_weights(), expected.get_weights(), sums=0)
    for name in ("scores.json", "dev_predictions.tsv", "test_predictions.tsv"):
        assert (tmp_path / name).read_text() == (output / name).read_text()


def spied(owner, name):
    """Records the calls of a method, which works as before."""
    return mock.patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))


def test_settings_reach_the_data_the_loss_the_optimizer_and_the_scores(tmp_path):
    values, loss = (
        iter([0.5, 0.25, 0.125]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    with spied(BertClassifierPreprocessor, "read") as read, spied(TextRows, "batches") as batches:
        model, history = run(
            tmp_path, train=(TEXTS, LABELS, np.full(8, 0.5)), seed=3, layer_decay=0.9, warmup=0.5,
            accumulation_steps=3, class_weight={np.int64(1): 2.0}, select="own", loss=loss,
            scores=lambda answers, x, y: {"own": next(values) * len(answers)},
            test=(TEXTS[:1], LABELS[:1]),
        )  # fmt: skip
    assert model.loss is loss
    reads = [call.args for call in read.call_args_list]
    [(*_, weights)] = [arguments for arguments in reads if len(arguments[1]) == len(TEXTS)]  # once
    np.testing.assert_allclose(weights, [1.0, 0.5] * 4)
    orders = {(call.args[1].shuffle, call.args[1].seed) for call in batches.call_args_list}
    assert orders == {(True, 3000), (True, 3001)}
    assert model.accumulation_steps == 3 and model.optimizer.layer_decay == 0.9
    rate = model.optimizer.get_config()["learning_rate"]["config"]
    assert rate["peak_learning_rate"] == pytest.approx(5e-5) and rate["warmup_steps"] == 2
    assert history == [{"own": 2.0}, {"own": 1.0}]
    assert json.loads((tmp_path / "test_scores.json").read_text()) == {"own": 0.125}


def labeler(letters, make_backbone):
    reader = keras_bert.BertSpanLabelerPreprocessor(letters, 12, max_question_length=4)
    return keras_bert.BertSpanLabeler(make_backbone(), preprocessor=reader)


def test_mistakes_are_reported_before_training(tmp_path, letters, make_backbone, refused):
    unable = make_model()
    batches = unable.batches(TEXTS, LABELS)
    unable.preprocessor = None
    questions = [{"question": "a", "context": "b c", "answers": [{"text": "c", "answer_start": 2}]}]
    unnamed = {"model": labeler(letters, make_backbone), "train": questions, "dev": questions}
    for options, message in (
        ({"dev": (TEXTS,)}, "dev has no labels"),
        ({"train": (TEXTS,)}, "train has no labels"),
        ({"dev": (TEXTS[:2], ["pro", "prp"])}, "'prp'"),
        ({"dev": (TEXTS[:2], ["pro"])}, "2 .*1"),
        ({"test": (TEXTS[:2], ["pro", "prp"])}, "'prp'"),
        ({"train": (TEXTS[:2], np.eye(2))}, "one-hot.*pass y.argmax"),
        ({"select": "f2"}, "select must be one of 'accuracy', 'f1', 'mcc'; got 'f2'"),
        ({"scores": lambda answers, x, y: {"own": 1.0}}, "Pass select"),
        ({"epochs": 0}, "epochs.*got 0"),
        ({"dev": None}, "finetune takes raw examples.*dev is None"),
        ({"train": batches}, "takes raw examples.*train is <.*Batches"),
        ({"dev": 1.5}, "the share of train.*1.5"),
        ({"dev": 0.99}, "leaves none to train on"),
        ({"class_weight": "even"}, "balanced"),
        ({"output": "gs://bucket/run"}, "must be on this machine.*got gs:/+bucket/run"),
        ({"model": unable}, r"BertClassifier\(.*preprocessor=BertClassifierP"),
        (unnamed, "needs an id"),
    ):
        refused(message, run, **{"output": tmp_path / "run", **options})
    assert not list(tmp_path.iterdir())


def test_the_classes_and_their_examples_are_shown(tmp_path, capsys, refused):
    own = {"train": (TEXTS, ["pro"] * 5 + ["contra"] * 3)}
    for options, line in (({}, "contra 3, pro 5"), ({"dev": 0.25}, "contra 1, pro 5")):
        refused("select must be", run, tmp_path, select="none", **own, **options)
        printed = capsys.readouterr().out
        assert f"\n2 classes: {line}.\n" in printed
    assert "6 training examples; 2 select" in printed
    model = make_model(multi_label=True)
    assert model.class_counts([["pro"], ["pro", "contra"], []]) == {"contra": 1, "pro": 2}
    assert BertClassifier(model.backbone, 1).class_counts([0.5, 2]) == {}
    counts = BertClassifier(model.backbone, 12).class_counts([0, 11, 11])
    line = "12 classes: 0 1, 1 0, 2 0, 3 0, 4 0, 5 0, 6 0, 7 0, 8 0, 9 0 and 2 more.\n"
    assert shown_classes(counts) == line
