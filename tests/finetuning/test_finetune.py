import dataclasses
import json

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
from keras_bert.losses import LogitCrossentropy, MarginMeanSquaredError
from keras_bert.preprocessing.text_rows import TextRows
from keras_bert.scoring.scorer import Scorer

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tf.data reads its texts"
)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "book", "film"]
TEXTS = ["good book", "bad book", "good film", "bad film"] * 2
LABELS = ["pro", "contra"] * 4
BATCHING = keras_bert.Batching(4)
SETTINGS = {field.name for field in dataclasses.fields(FineTuning)}
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


def run(output, model=None, train=(TEXTS, LABELS), dev=(TEXTS[:4], LABELS[:4]), **options):
    model = model or make_model()
    settings = FineTuning(**{"epochs": 2, **{n: options[n] for n in options.keys() & SETTINGS}})
    options = {n: value for n, value in options.items() if n not in SETTINGS}
    options = {"batching": BATCHING, **options}
    return model, finetune(model, train, dev, output, settings, **options)


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
    refused(r"other settings: seed=1 \(there 0\)", run, tmp_path, seed=1, **OPTIONS)
    for loss, message in (
        (LogitCrossentropy(0.2), "label_smoothing': 0.2.*there .*0.1"),
        (own, "loss='own'"),
    ):
        refused(message, run, tmp_path, **{**OPTIONS, "loss": loss})
    longer = make_model()
    longer.preprocessor = longer.preprocessor.like(longer.preprocessor, sequence_length=9)
    refused(r"sequence_length=9 \(there 6\)", run, tmp_path, longer, **OPTIONS)
    numbered = LogitCrossentropy(0.1, name="loss_1")  # as Keras names a second one
    model, history = run(tmp_path, **{**OPTIONS, "loss": numbered})
    output, expected, scores = whole
    assert history == scores
    assert_close(model.get_weights(), expected.get_weights(), sums=0)
    for name in ("scores.json", "dev_predictions.tsv", "test_predictions.tsv"):
        assert (tmp_path / name).read_text() == (output / name).read_text()


def test_settings_reach_the_data_the_loss_the_optimizer_and_the_scores(tmp_path, monkeypatch):
    preprocessor, reads, orders = BertClassifierPreprocessor, [], []
    read, batches = preprocessor.read, TextRows.batches

    def counted_read(self, x, y=None, sample_weight=None, **options):
        reads.append((len(x), sample_weight))
        return read(self, x, y, sample_weight, **options)

    def counted_batches(self, batching):
        orders.append((batching.shuffle, batching.seed))
        return batches(self, batching)

    monkeypatch.setattr(preprocessor, "read", counted_read)
    monkeypatch.setattr(TextRows, "batches", counted_batches)
    values, loss = iter([0.5, 0.25]), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model, history = run(
        tmp_path, train=(TEXTS, LABELS, np.full(8, 0.5)), seed=3, layer_decay=0.9, warmup=0.5,
        accumulation_steps=3, class_weight={np.int64(1): 2.0}, select="own", loss=loss,
        scores=lambda answers, x, y: {"own": next(values)},
    )  # fmt: skip
    assert model.loss is loss
    [weights] = [weights for number, weights in reads if number == len(TEXTS)]  # read once
    np.testing.assert_allclose(weights, [1.0, 0.5] * 4)
    assert set(orders) == {(True, 3000), (True, 3001)}
    assert model.accumulation_steps == 3 and model.optimizer.layer_decay == 0.9
    rate = model.optimizer.get_config()["learning_rate"]["config"]
    assert rate["peak_learning_rate"] == pytest.approx(5e-5) and rate["warmup_steps"] == 2
    assert history == [{"own": 0.5}, {"own": 0.25}]


def test_answers_of_any_preprocessor_can_be_written(tmp_path):
    preprocessor = keras_bert.BertPreprocessor(BertTokenizer(WORDS), 6)
    Scorer(preprocessor).write(tmp_path, "dev", [{"label": "a", "values": np.ones(2)}], ["x"])
    lines = (tmp_path / "dev_answers.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"label": "a", "values": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
        ({"dev": 1.5}, "the share of train.*1.5"),
        ({"dev": 0.99}, "leaves none to train on"),
        ({"class_weight": "even"}, "balanced"),
        ({"output": "gs://bucket/run"}, "must be on this machine.*got gs:/+bucket/run"),
    ],
)
def test_mistakes_are_reported_before_training(tmp_path, options, message, refused):
    output = options.pop("output", tmp_path / "run")
    refused(message, run, output, **options)
    assert not list(tmp_path.iterdir())


def test_a_reranker_of_triplets_has_scores_of_the_users_own(tmp_path, backbone, letters):
    reader = keras_bert.BertRerankerPreprocessor(letters, sequence_length=12)
    model = keras_bert.BertReranker(backbone, preprocessor=reader)
    triplets, margins = (["a", "b"], ["a c", "b d"], ["e", "f"]), [0.5, 1.0]
    settings = FineTuning(loss=MarginMeanSquaredError(), select="own", epochs=1)
    own = lambda answers, x, y: {"own": answers[1]["score"][0]}  # noqa: E731
    data = (triplets, margins)
    [scores] = finetune(model, data, data, tmp_path / "run", settings, scores=own)
    lines = (tmp_path / "run" / "dev_answers.jsonl").read_text().splitlines()
    assert [len(json.loads(line)["score"]) for line in lines] == [2, 2]
    assert json.loads(lines[1])["score"][0] == pytest.approx(scores["own"])


def test_questions_without_an_id_are_refused_before_training(tmp_path, backbone, letters, refused):
    preprocessor = keras_bert.BertSpanLabelerPreprocessor(
        letters, sequence_length=12, max_question_length=4
    )
    model = keras_bert.BertSpanLabeler(backbone, preprocessor=preprocessor)
    questions = [{"question": "a", "context": "b c", "answers": [{"text": "c", "answer_start": 2}]}]
    refused("needs an id", finetune, model, questions, questions, tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_the_classes_and_their_examples_are_shown(tmp_path, capsys, refused):
    labels = [["pro"], ["pro", "contra"], [], ["pro"]] * 2
    own = {"train": (TEXTS, ["pro"] * 5 + ["contra"] * 3)}
    for options, line in (({}, "contra 3, pro 5"), ({"dev": 0.25}, "contra 1, pro 5")):
        refused("select must be", run, tmp_path, select="none", **own, **options)
        printed = capsys.readouterr().out
        assert f"\n2 classes: {line}.\n" in printed
    assert "6 training examples; 2 select" in printed
    model = make_model(multi_label=True)
    assert model.class_counts(labels) == {"contra": 2, "pro": 6}
    assert BertClassifier(model.backbone, 1).class_counts([0.5, 2]) == {}
    counts = BertClassifier(model.backbone, 12).class_counts([0, 11, 11])
    line = "12 classes: 0 1, 1 0, 2 0, 3 0, 4 0, 5 0, 6 0, 7 0, 8 0, 9 0 and 2 more.\n"
    assert shown_classes(counts) == line


def test_inputs_or_a_model_without_a_preprocessor_are_refused(tmp_path, refused):
    batches = make_model().batches(TEXTS, LABELS)
    refused("takes raw examples.*train is <.*Batches", run, tmp_path, train=batches)
    model = make_model()
    model.preprocessor = None
    refused(r"BertClassifier\(.*preprocessor=BertClassifierP", run, tmp_path, model)
