import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.finetuning.settings import FineTuning
from keras_bert.finetuning.train_epochs import train_epochs

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="its batches are a tf.data.Dataset"
)
IDS = np.random.default_rng(0).integers(1, 20, size=(12, 5)).astype("int32")
LABELS = (IDS[:, 1] > 10).astype("int32")
NAN, INF = float("nan"), float("inf")


def make_model():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((5,), name="token_ids")
    x = keras.layers.Dropout(0.5)(keras.layers.Dense(8)(inputs))
    model = keras.Model({"token_ids": inputs}, keras.layers.Dense(1, name="head")(x))
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)  # nothing to trace
    return model


def batches(epoch, size=4):
    rows = tf.data.Dataset.from_tensor_slices(({"token_ids": IDS}, LABELS))
    return rows.shuffle(12, seed=epoch).batch(size)


def run(output, *scores, model=None, epochs=3, patience=None, **options):
    model, kept, scores = model or make_model(), [], [*scores]

    def save(predictions, scores):
        assert predictions == "predictions"
        kept.append(int(model.optimizer.iterations) // 3)
        output.mkdir(exist_ok=True)
        model.save(output / "best.keras")

    defaults = {
        "batches": batches,
        "predict": lambda: "predictions",
        "score": lambda _: {"f1": scores.pop(0), "types": {"a": 1}},
        "save": save,
    }
    settings = FineTuning(epochs=epochs, patience=patience, select="f1")
    found = train_epochs(model, output, settings, **{**defaults, **options})
    return model, [score["f1"] for score in found], kept


@pytest.fixture
def one_epoch(tmp_path):
    run(tmp_path / "run", 0.5, epochs=1)
    return tmp_path / "run"


def test_the_first_of_the_best_epochs_is_kept_and_no_score_is_worse_than_nan(
    assert_close, tmp_path, capsys
):
    for name, scores, expected in (
        ("equal", (0.1, 0.5, 0.5), [1, 2]),
        ("nan", (NAN, 0.5, 0.9), [1, 2, 3]),
        ("infinite", (NAN, -INF, NAN), [1, 2]),
    ):
        _, found, kept = run(tmp_path / name, *scores)
        assert str(found) == str([*scores]) and kept == expected
        best = f"Best epoch by f1: {kept[-1]} of 3, f1 {scores[kept[-1] - 1]:.4g}"
        assert capsys.readouterr().out.splitlines()[-1] == best
    two, _, _ = run(tmp_path / "two", 0.1, 0.5, epochs=2)
    best = keras.saving.load_model(tmp_path / "equal" / "best.keras")
    assert_close(best.get_weights(), two.get_weights(), sums=0)


def test_patience_ends_it(tmp_path, capsys):
    _, scores, _ = run(tmp_path, 0.3, 0.2, 0.3, 0.9, epochs=4, patience=2)
    assert scores == [0.3, 0.2, 0.3]
    assert "No better f1 in 2 epochs" in capsys.readouterr().out
    _, scores, _ = run(tmp_path, epochs=4, patience=2)  # it stays ended
    assert scores == [0.3, 0.2, 0.3]
    _, scores, kept = run(tmp_path, 0.4, epochs=4)  # resumes
    assert scores == [0.3, 0.2, 0.3, 0.4] and kept == [4]
    assert "Resumed: 3 of 4 epochs are done." in capsys.readouterr().out


def test_bad_runs_and_damaged_scores_are_refused(one_epoch, tmp_path, refused):
    refused("patience must be at least 1; got 0", run, tmp_path, 0.1, patience=0)
    refused("'f1'.* loss", run, tmp_path, score=lambda _: {"loss": 1.0})
    other = {"epochs": 2, "batches": lambda epoch: batches(epoch, size=2)}
    refused("other settings: its checkpoint is at step 3", run, one_epoch, 0.1, **other)
    for damaged in ("", "{}", "[1]", '[{"f1": "x"}]', '[{"other": 1}]'):
        (one_epoch / "scores.json").write_text(damaged)
        refused("scores.json", run, one_epoch, 0.5, epochs=2)


def test_steps_that_overflow_in_float16_count_when_it_resumes(tmp_path):
    def model_that_skips():
        model = make_model()
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(), 3e38)
        model.compile(optimizer=optimizer, loss="mse", run_eagerly=True)
        return model

    model, *_ = run(tmp_path, 0.5, 0.7, epochs=2, model=model_that_skips())
    assert model.optimizer.iterations < 6
    _, scores, _ = run(tmp_path, 0.6, epochs=3, model=model_that_skips())
    assert scores == [0.5, 0.7, 0.6]


def test_an_epoch_that_diverges_ends_the_run_and_leaves_the_epochs_before(one_epoch, refused):
    def files():
        return {path: path.read_bytes() for path in one_epoch.rglob("*") if path.is_file()}

    def diverges(at):
        def on_train_batch_end(batch, logs):
            if int(model.optimizer.iterations) == at:
                model.get_layer("head").kernel.assign(np.full((8, 1), np.nan))

        return keras.callbacks.LambdaCallback(on_train_batch_end=on_train_batch_end)

    before, model = files(), make_model()
    for at, message in ((4, "became nan at step 5.*of step 3"), (6, "kernel has.*after step 6")):
        refused(message, run, one_epoch, 0.9, model=model, callbacks=[diverges(at)])
    assert files() == before
