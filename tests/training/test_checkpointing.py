import shutil
import warnings

import keras
import numpy as np
import pytest

from keras_bert.training.adamw import AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay
from tests.marks import on

X = np.random.default_rng(1).normal(size=(8, 4)).astype("float32")
Y = X.sum(axis=1)
EAGERLY = keras.backend.backend() == "tensorflow"  # tracing takes longer than a few steps
DROPOUT = 0.0 if keras.backend.backend() == "torch" else 0.5  # torch draws from its own generator


def make_model(width=6, optimizer=AdamW, **options):
    model = keras.Sequential([
        keras.Input((4,)),
        keras.layers.Dense(width, activation="tanh", name="first"),
        keras.layers.Dropout(DROPOUT, name="dropout"),
        keras.layers.Dense(1, name="second"),
    ])  # fmt: skip
    options = {"run_eagerly": EAGERLY, **options}
    model.compile(optimizer(WarmupLinearDecay(0.1, 3, 24)), "mse", **options)
    return model


def fit(model, checkpoint, start, stop):
    model.fit(
        X, Y, batch_size=2, shuffle=False, verbose=0,
        initial_epoch=start, epochs=stop, callbacks=[checkpoint],
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model, the folder of its checkpoints of steps 4 and 8, and its weights at each."""
    keras.utils.set_random_seed(1)
    model, folder, weights = make_model(), tmp_path_factory.mktemp("run"), {}
    checkpoint = TrainingCheckpoint(folder)
    for epoch in range(2):
        fit(model, checkpoint, epoch, epoch + 1)
        weights[checkpoint.latest_step()] = model.get_weights()
    return model, folder, weights


def checkpoints(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def saved(trained, tmp_path):
    """What `trained` is, with a copy of the folder that a test may change."""
    model, folder, weights = trained
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return model, TrainingCheckpoint(tmp_path), weights


def test_a_resumed_run_equals_one_that_was_not_interrupted(assert_close, tmp_path):
    def scaled(rate):
        return keras.optimizers.LossScaleOptimizer(AdamW(rate))  # of mixed_float16

    keras.utils.set_random_seed(3)
    whole = make_model(optimizer=scaled)
    fit(whole, TrainingCheckpoint(tmp_path / "whole"), 0, 4)

    keras.utils.set_random_seed(3)
    fit(make_model(optimizer=scaled), TrainingCheckpoint(tmp_path / "parts"), 0, 2)
    keras.utils.set_random_seed(99)  # another process
    resumed = make_model(optimizer=scaled)
    checkpoint = TrainingCheckpoint(tmp_path / "parts")
    assert checkpoint.restore(resumed) == 8
    fit(resumed, checkpoint, 2, 4)

    assert checkpoint.latest_step() == int(resumed.optimizer.iterations) == 16
    assert_close(whole.get_weights(), resumed.get_weights(), size=1.0)  # torch sums in any order


def test_the_last_checkpoints_stay_and_any_of_them_can_be_restored(saved, tmp_path, refused):
    model, checkpoint, _ = saved
    checkpoint.restore(model)
    fit(model, checkpoint, 2, 4)
    assert checkpoints(tmp_path) == ["step-0000000012.npz", "step-0000000016.npz"]
    assert checkpoint.restore(model, step=12) == 12
    assert int(model.optimizer.iterations) == 12
    checkpoint.save(model)
    assert checkpoint.latest_step() == 12  # the run went back
    refused(
        "of step 12.*model is at step 0. Call restore.model",
        fit,
        make_model(),
        checkpoint,
        0,
        1,
    )


def test_without_a_whole_checkpoint_training_starts_at_0(tmp_path):
    checkpoint = TrainingCheckpoint(tmp_path)
    (tmp_path / ".step-0000000099.unfinished").write_bytes(b"cut off")
    (tmp_path / "step-notes.npz").write_bytes(b"")
    assert checkpoint.latest_step() is None
    assert checkpoint.restore(make_model()) == 0


def test_the_checkpoint_of_another_model_or_optimizer_is_refused(saved, refused):
    _, checkpoint, _ = saved
    same = make_model()
    same = keras.Model(same.inputs, same.outputs)  # of the same shapes
    same.compile(optimizer=AdamW(0.1), loss="mse")
    for other, message in (
        (
            make_model(width=7),
            r"can't be restored.*has \(4, 6\) where this model has \(4, 7\)",
        ),
        (
            make_model(optimizer=keras.optimizers.Lamb),
            "has AdamW where this model has Lamb. It",
        ),
        (same, "has Sequential where .*has Functional"),
    ):
        refused(message, checkpoint.restore, other)


def flipped(content, place, flip):
    return content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :]


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_taken(saved, tmp_path, refused):
    """Whichever byte is flipped, it is found or does no harm, such as in the time of writing."""
    model, checkpoint, weights = saved
    path = tmp_path / "step-0000000008.npz"
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")  # zip's: its version, encryption, comments and names
    flips = ((6, 0x80), (8, 1), (32, 55), (32, 3 * 55), (50, 1))
    found = [flipped(content, directory + place, flip) for place, flip in flips]
    found += [content[: len(content) // 2], b""]
    flips = np.random.default_rng(0).integers(1, 256, size=len(content))
    others = [flipped(content, n, int(flips[n])) for n in range(0, len(content), 29)]
    harmless = []
    for damaged in [*found, *others, content]:
        path.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            step = checkpoint.restore(model)
        message = "".join(str(warning.message) for warning in told)
        assert ("is damaged" in message) == ("resumes from step 4" in message) == (step == 4)
        assert all(map(np.array_equal, model.get_weights(), weights[step])), len(harmless)
        assert int(model.optimizer.iterations) == step
        harmless.append(step == 8)
        if len(harmless) <= len(found):
            refused("is damaged.*no earlier one", checkpoint.restore, model, step=8)
    assert harmless[-1] and not any(harmless[: len(found)]) and sum(harmless) < len(others) / 2


def test_in_a_bucket_all_is_the_same(assert_close, tensorflow):
    bucket, gfile = "ram://bucket/run", tensorflow.io.gfile
    model, checkpoint = make_model(), TrainingCheckpoint(bucket, keep=1)
    for step in (4, 8):
        model.optimizer.iterations.assign(step)
        checkpoint.save(model)
    checkpoint.wait()
    assert gfile.listdir(bucket) == ["step-0000000008.npz"]
    again, restored = TrainingCheckpoint(bucket), make_model()
    assert again.restore(restored) == int(restored.optimizer.iterations) == 8
    assert_close(restored.get_weights(), model.get_weights(), sums=0)


def test_a_loss_of_nan_ends_the_run_and_leaves_the_good_weights(tmp_path):
    model, checkpoint = make_model(), TrainingCheckpoint(tmp_path)
    x = np.concatenate([X, X, X])
    x[13, 2] = np.nan  # in the third step of the second epoch
    with pytest.raises(ValueError) as told:
        model.fit(
            x, np.tile(Y, 3), batch_size=2, shuffle=False, verbose=0, epochs=4, steps_per_epoch=4,
            callbacks=[checkpoint],
        )  # fmt: skip
    for part in (
        "loss became nan at step 7",
        "step-0000000004.npz, of step 4",
        "lower learning",
    ):
        assert part in str(told.value)
    checkpoint.wait()
    assert checkpoints(tmp_path) == ["step-0000000004.npz"]
    assert checkpoint.restore(model) == 4
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_weights_that_are_not_finite_are_never_saved(saved, tmp_path, refused):
    model, checkpoint, _ = saved
    kernel, before = model.get_layer("first").kernel, checkpoints(tmp_path)
    values = keras.ops.convert_to_numpy(kernel)
    try:
        kernel.assign(np.where(values == values.max(), np.inf, values))
        for _ in range(3):
            refused("first/kernel has .*after step 8.*of step 8", checkpoint.save, model)
    finally:
        kernel.assign(values)
    checkpoint.wait()
    assert checkpoints(tmp_path) == before


@on("tensorflow", "jax")  # Keras has one step at a time on PyTorch
def test_a_run_that_diverges_in_its_first_execution_is_told_that_there_is_no_checkpoint(
    tmp_path, refused
):
    model = make_model(steps_per_execution=2, run_eagerly=False)
    model.get_layer("first").kernel.assign(np.full((4, 6), np.nan))
    message = "nan at step 2 or in the 1 steps before it.*no checkpoint yet"
    refused(message, fit, model, TrainingCheckpoint(tmp_path), 0, 1)
    assert not checkpoints(tmp_path)
