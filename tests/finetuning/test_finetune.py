"""Fine-tuning on raw examples, epoch by epoch: what is kept, and what resumes."""

import functools
import json
from unittest import mock

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert import (
    BertClassifier,
    BertClassifierPreprocessor,
    BertTask,
    BertTokenizer,
    FineTuning,
    finetune,
)
from keras_bert.finetuning.finetune import (
    _compile,
    _Run,
    shown_classes,
)
from keras_bert.finetuning.teaching import Teaching
from keras_bert.losses import LogitCrossentropy
from keras_bert.preprocessing.text_rows import TextRows

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tf.data reads its texts"
)
EAGER = functools.partialmethod(BertTask.compile, run_eagerly=True)  # nothing to trace
NAN, INF = float("nan"), float("inf")
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] good bad book film".split()
TEXTS = ["good book", "bad book", "good film", "bad film"] * 2
LABELS = ["pro", "contra"] * 4
OPTIONS = {
    "learning_rate": 1e-2,
    "loss": LogitCrossentropy(0.1),
    "test": (["good film", "bad film"],),
}


def make_model():
    keras.utils.set_random_seed(1)
    names = ("contra", "pro")
    preprocessor = BertClassifierPreprocessor(BertTokenizer(WORDS), 6, label_names=names)
    return BertClassifier(keras_bert.BertBackbone(len(WORDS), 1, 2, 16, 16), 2, preprocessor)


def run(output, model=None, train=(TEXTS, LABELS), dev=(TEXTS[:4], LABELS[:4]), **options):
    """Fine-tunes with arguments of `finetune` and settings of `FineTuning`."""
    model, names = model or make_model(), {"test", "scores", "callbacks"} & {*options}
    arguments = {name: options.pop(name) for name in names}
    settings = FineTuning(**{"epochs": 2, **options})
    batching = keras_bert.Batching(4)
    with mock.patch.object(BertTask, "compile", EAGER):
        found = finetune(model, train, dev, output, settings, batching=batching, **arguments)
    return model, found


def scored(*values, epochs=3, **options):
    """Arguments of a run whose epochs have a step each, and given scores."""
    scores = ({"f1": value} for value in values)
    options = {
        "train": (TEXTS[:4], LABELS[:4]),
        "select": "f1",
        "epochs": epochs,
        **options,
    }
    return {**options, "scores": lambda *_: next(scores)}


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

    stop = keras.callbacks.LambdaCallback(on_epoch_end=die)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, callbacks=[stop], **OPTIONS)
    longer = make_model()
    longer.preprocessor = longer.preprocessor.like(longer.preprocessor, sequence_length=9)
    for changed, message in (
        ({"loss": LogitCrossentropy(0.2)}, "label_smoothing': 0.2.*there .*0.1"),
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


@pytest.mark.slow
def test_a_stream_is_finetuned_like_lists(assert_close, whole, tmp_path):
    model, history = run(tmp_path, **{**OPTIONS, "train": zip(TEXTS, LABELS, strict=True)})
    _, expected, scores = whole
    assert history == scores
    assert_close(model.get_weights(), expected.get_weights(), sums=0)


def spied(owner, name):
    """Records the calls of a method, which works as before."""
    return mock.patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))


@pytest.mark.slow
def test_weights_parts_and_scores_are_those_that_were_given(tmp_path):
    train = (TEXTS, LABELS)
    given = {"accumulation_steps": 3, "class_weight": {np.int64(1): 2}, "epochs": 2}
    options = scored(0.5, 0.25, 0.125, train=(*train, np.full(8, 0.5)), test=train, **given)
    with spied(BertClassifierPreprocessor, "read") as read:
        model, history = run(tmp_path, **options)
    [weights] = [call.args[3] for call in read.call_args_list if len(call.args) == 4]  # once
    np.testing.assert_allclose(weights, [1.0, 0.5] * 4)
    assert model.accumulation_steps == 3 and history == [{"f1": 0.5}, {"f1": 0.25}]
    assert json.loads((tmp_path / "test_scores.json").read_text()) == {"f1": 0.125}


def test_mistakes_are_reported_before_training(tmp_path, letters, make_backbone, refused):
    questions = [{"question": "a", "context": "b c", "answers": [{"text": "c", "answer_start": 2}]}]
    reader = keras_bert.BertSpanLabelerPreprocessor(letters, 12, max_question_length=4)
    labeler = keras_bert.BertSpanLabeler(make_backbone(), reader)
    for options, message in (
        ({"dev": (TEXTS,)}, "dev has no labels"),
        ({"train": (TEXTS,)}, "train has no labels"),
        ({"test": (TEXTS[:2], ["pro", "prp"])}, "'prp'"),
        ({"train": (TEXTS[:2], np.eye(2))}, "one-hot.*pass y.argmax"),
        ({"loss": keras.losses.CategoricalCrossentropy(from_logits=True)}, "takes one-hot labels"),
        ({"dev": 1.0}, "the share of train, .*1.0"),
        ({"train": (TEXTS, LABELS, [-1.0] * 8)}, "sample_weight must"),
        ({"train": (TEXTS,) * 4}, "got 4 together"),
        ({"scores": lambda answers, x, y: {"own": 1.0}}, "Pass select"),
        (
            {"train": make_model().batches(TEXTS, LABELS)},
            "takes raw examples.*train is <.*Batches",
        ),
        ({"output": "gs://bucket/run"}, "must be on this machine.*got gs:/+bucket/run"),
        ({"model": labeler, "train": questions, "dev": questions}, "needs an id"),
    ):
        refused(message, run, **{"output": tmp_path / "run", **options})
    data, model = (TEXTS, LABELS), make_model()
    refused("must be a FineTuning", finetune, model, data, data, tmp_path / "run", {"epochs": 1})
    assert not list(tmp_path.iterdir())


def test_settings_reach_the_optimizer():
    settings = FineTuning(warmup=0.5, layer_decay=0.9, learning_rate=1e-3)
    parts = [make_model(), *[None] * 3, settings, keras_bert.Batching(4), Teaching("mse")]
    run = _Run(*parts, *[None] * 3)
    _compile(run, 9)
    optimizer = run.model.optimizer
    rate = {"peak_learning_rate": 1e-3, "warmup_steps": 4, "total_steps": 9, "continuous": True}
    assert rate.items() <= optimizer.get_config()["learning_rate"]["config"].items()
    assert run.model.loss == "mse" and optimizer.layer_decay == 0.9


def test_the_classes_and_their_examples_are_shown(tmp_path, capsys, refused):
    own = {"train": (TEXTS, ["pro"] * 5 + ["contra"] * 3)}
    refused("select must be one of 'accuracy', ", run, tmp_path, select="f2", dev=0.25, **own)
    printed = capsys.readouterr().out
    assert "6 training examples; 2 select" in printed
    assert "\n2 classes: contra 1, pro 5.\n" in printed
    counts = {str(number): 1000 for number in range(12)}
    assert shown_classes(counts).endswith(", 9 1,000 and 2 more.\n")


def test_the_first_of_the_best_epochs_is_kept_and_no_score_is_worse_than_nan(
    assert_close, tmp_path, capsys
):
    model, weights, values = make_model(), [], (NAN, -INF, 0.5, 0.5)
    end = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: weights.append(model.get_weights())
    )
    with spied(BertClassifier, "save_to_preset") as save, spied(TextRows, "batches") as batches:
        _, history = run(tmp_path, model, **scored(*values, epochs=4, seed=3, callbacks=[end]))
    assert str([scores["f1"] for scores in history]) == str([*values]) and save.call_count == 3
    orders = {(call.args[1].shuffle, call.args[1].seed) for call in batches.call_args_list}
    assert orders == {(True, 3000 + epoch) for epoch in range(4)}
    assert "Best epoch by f1: 3 of 4, f1 0.5\n" in capsys.readouterr().out
    best = BertClassifier.from_preset(tmp_path / "best")
    assert_close(best.get_weights(), weights[2], sums=0)


def test_patience_ends_it(tmp_path, capsys):
    for values, patience, expected, said in (
        ((0.3, 0.3, 0.9), 1, [0.3, 0.3], "No better f1 in 1 epochs"),
        ((), 1, [0.3, 0.3], "No better f1 in 1 epochs"),  # it stays ended
        ((0.4,), None, [0.3, 0.3, 0.4], "Resumed: 2 of 3 epochs are done."),
    ):
        _, history = run(tmp_path, **scored(*values, patience=patience))
        assert [scores["f1"] for scores in history] == expected
        assert said in capsys.readouterr().out


def test_bad_scores_are_refused(tmp_path, refused):
    refused("patience must be at least 1; got 0", run, tmp_path, **scored(patience=0))
    refused("'f1'.* loss", run, tmp_path, select="f1", scores=lambda *_: {"loss": 1.0})
    run(tmp_path, **scored(0.5, epochs=1))
    for damaged in ("", "[1]", '[{"f1": "x"}]'):
        (tmp_path / "scores.json").write_text(damaged)
        refused("scores.json", run, tmp_path, **scored(0.5))


@pytest.mark.slow
def test_steps_that_overflow_in_float16_count_when_it_resumes(tmp_path):
    """The optimizer skips them, and doesn't count them."""
    for epochs, score in ((1, 0.5), (2, 0.6)):
        model = make_model()

        def skip(batch, logs, model=model):
            model.optimizer.iterations.assign_sub(1)

        skips = keras.callbacks.LambdaCallback(on_train_batch_end=skip)
        _, history = run(tmp_path, model, **scored(score, epochs=epochs, callbacks=[skips]))
        assert int(model.optimizer.iterations) == 0
    assert [scores["f1"] for scores in history] == [0.5, 0.6]


def test_an_epoch_that_diverges_ends_the_run_and_leaves_the_epochs_before(tmp_path, refused):
    def files():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def ruin(number, logs):
        model.head.kernel.assign(np.full(model.head.kernel.shape, np.nan))

    run(tmp_path, **scored(0.5, epochs=1))
    before, model = files(), make_model()
    for when, message in (
        ("on_epoch_begin", "became nan at step 2.*of step 1"),
        ("on_train_batch_end", "kernel has.*after step 2"),
    ):
        callbacks = [keras.callbacks.LambdaCallback(**{when: ruin})]
        refused(message, run, tmp_path, model=model, **scored(0.9, callbacks=callbacks))
    assert files() == before
