"""What must hold of a run: its numbers, and what is done with the trained model."""

import contextlib
import copy
import json
import pickle
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keras
import numpy as np

import keras_bert
from keras_bert import Batching, BertTask
from tests.pairs import examples
from tests.pairs.examples import NUMBER, batching_of
from tests.pairs.models import SETTINGS, kind_of, scope_of
from tests.pairs.training import (
    CLASS_WEIGHT,
    check_training,
    compile_model,
    compiled,
    has_own_loss,
    is_pretrainer,
    own_loss,
    raw_data,
    reference_of,
    rounding,
    skipped_steps,
    train,
)
from tests.runtimes import RUN


class Stop(Exception):
    """Stops a training after its first epoch, as a kill would."""


class StopAfter(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            raise Stop


class CountSteps(keras.callbacks.Callback):
    """Counts the steps that a refusal came too late for."""

    steps = 0

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1


def check(run, match=None):
    """Runs a configuration; with `match` it must be refused, by this message, before any work."""
    counter = CountSteps()
    try:
        carry_out(run, counter)
    except (ValueError, TypeError) as error:
        if match is None:
            raise
        assert re.search(match, str(error)), f"refused by {str(error)!r}"
        is_in_training = 0 < counter.steps and not getattr(error, "is_after", False)
        assert not is_in_training, f"{counter.steps} steps were done before {str(error)!r}"
    else:
        assert match is None, "not refused"


def carry_out(run, counter):
    after = AFTER[run["after"]]
    is_killed = run["after"] == "killed and resumed"
    trained = killed_and_resumed(run, counter) if is_killed else train(run, callbacks=[counter])
    check_training(run, trained)
    check_frozen(run, trained)
    is_jax = keras.backend.backend() == "jax"  # whose scope stays set
    with tempfile.TemporaryDirectory() as folder:
        try:
            with scope_of(run) if is_jax else contextlib.nullcontext():
                after(Case(run, trained, Path(folder)))
        except (ValueError, TypeError) as error:
            error.is_after = True
            raise


def check_frozen(run, trained):
    """Asserts that what is frozen hasn't changed, and that something else has."""
    changed = False
    for weight, old in zip(trained.model.weights, trained.start, strict=True):
        is_equal = np.array_equal(keras.ops.convert_to_numpy(weight), old)
        changed |= weight.trainable and not is_equal
        is_state = "seed" in weight.path or "feature_normalization" in weight.path
        if not weight.trainable and not is_state:
            assert is_equal, f"{weight.path} is frozen, and has changed"
    is_coarse = run["dtype"] == "bfloat16"  # which rounds small steps
    is_skipped = trained.steps == 0 and skipped_steps(trained.model.optimizer) > 0
    assert changed or is_coarse or is_skipped, "no weight has changed"


def largest(values):
    return np.abs(values).max(initial=0)


def difference(found, expected):
    """Returns the relative error of the output that differs most."""
    keras.tree.assert_same_structure(found, expected)
    errors = []
    pairs = zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True)
    for one, other in pairs:
        one, other = (np.asarray(v, "float64") for v in (one, other))
        assert one.shape == other.shape, f"shape {one.shape} for {other.shape}"
        assert np.isfinite(one).all(), "not finite"
        is_real = np.abs(other) < 1e8  # missing choices
        assert np.array_equal(np.abs(one) < 1e8, is_real), "other choices are missing"
        errors.append(largest((one - other)[is_real]) / max(largest(other[is_real]), 1e-3))
    return max(errors)


class Case:
    """A trained model, what it predicts, and a folder for files."""

    def __init__(self, run, trained, folder):
        self.run, self.trained, self.folder = run, trained, folder
        self.model = trained.model
        if run["encoder"] == "own":  # which takes the global policy; its plain run has set another
            keras.config.set_dtype_policy(run["dtype"])
        self.x, self.y, self.weights = raw_data({**run, "weights": "none"})
        if is_pretrainer(run):
            self.y = None
        is_first = kind_of(run["task"]) == "Embedder" and isinstance(self.x, tuple)
        self.asked = self.x[0] if is_first else self.x  # what the model answers
        self.outputs = self.predict(self.model)

    def predict(self, model):
        return model.predict(self.asked, batch_size=64, verbose=0)

    def from_preset(self):
        self.model.save_to_preset(self.folder / "preset")
        return BertTask.from_preset(self.folder / "preset")

    def rounded(self):
        # Both are; kernels of float32 approximate exp, tanh and erf to several units.
        return max(2**0.5 * rounding(self.run["dtype"]), 2e-5)

    def close(self, found, expected, bound=None):
        """Asserts that outputs are equal up to the rounding of the run's dtype."""
        bound = self.rounded() if bound is None else bound
        error = difference(found, expected)
        assert error <= bound, f"outputs differ by {error:.1e} (bound {bound:.1e})"

    def same(self, model):
        assert type(model) is type(self.model), type(model)
        self.close(self.predict(model), self.outputs)


def predict_twice(case):
    case.close(case.predict(case.model), case.outputs, 0)


def answer_and_scores(case):
    if is_pretrainer(case.run):
        assert case.model.fill_mask("a [MASK] b", top_k=2)
        return
    answers = case.model.answer(case.asked)
    assert len(answers) == NUMBER
    json.dumps(answers)
    scores = case.model.scores(case.x, case.y)
    assert scores and json.dumps(scores)


def threads(case):
    with ThreadPoolExecutor(4) as pool:
        for outputs in pool.map(case.predict, [case.model] * 12):
            case.close(outputs, case.outputs)


def keras_file(case):
    path = case.folder / "model.keras"
    case.model.save(path)
    with scope_of(case.run):
        loaded = keras.models.load_model(path)
    case.same(loaded)
    assert loaded.optimizer.iterations == case.model.optimizer.iterations
    losses = [train(case.run, model=m, epochs=1).history["loss"] for m in (case.model, loaded)]
    case.close(*map(np.array, losses))


def preset(case):
    case.same(case.from_preset())


def hugging_face(case):
    task = case.run["task"]
    case.model.save_to_hugging_face(case.folder / "theirs")
    settings = SETTINGS[task] if task in ("windows", "spans") else {}
    settings |= {"sequence_length": examples.LENGTH, "dtype": case.run["dtype"]}
    case.same(type(case.model).from_preset(case.folder / "theirs", **settings))


def prepared(case):
    """Inputs of the model, and its outputs for them."""
    inputs = case.x
    if not is_pretrainer(case.run):
        batches, batching = case.model.preprocessor.batches, Batching(1024, pad_to="full")
        [inputs] = batches(case.asked, batching=batching, with_labels=False)
    inputs = {n: v for n, v in inputs.items() if n in case.model.input}
    inputs.setdefault("padding_mask", np.ones_like(inputs["token_ids"]))
    inputs = {n: np.asarray(v, case.model.input[n].dtype) for n, v in inputs.items()}
    outputs = case.model.predict(inputs, verbose=0)
    return inputs, outputs if isinstance(outputs, dict) else {case.model.published.output: outputs}


def saved_model(case):
    import tensorflow as tf

    path = case.model.export(case.folder / "served")
    served = tf.saved_model.load(path).signatures["token_ids"]
    inputs, outputs = prepared(case)
    found = served(**{n: tf.constant(v) for n, v in inputs.items()})
    case.close({n: found[n].numpy() for n in outputs}, outputs)


def exported(format):
    def export(case):
        path = case.model.export(case.folder / "exported", format=format, names="keras_bert")
        inputs, outputs = prepared(case)
        case.close(RUN[format](str(path), inputs), outputs, 1e-4)

    return export


def int8(case):
    """Adapters are merged first, as rounding hides what they change."""
    if case.run["lora"] == "yes":
        case.model.merge_lora()
    case.model.quantize("int8")
    case.outputs = case.predict(case.model)
    case.same(case.from_preset())


def merge_lora(case):
    case.model.merge_lora()
    case.same(case.model)
    compile_model(case.model, case.run)
    history = train(case.run, model=case.model, epochs=1).history
    assert np.isfinite(history["loss"]).all()


def calibrate(case):
    found = case.model.calibrate(case.x, case.y)
    case.close(
        keras.tree.map_structure(lambda v: v * found["temperature"], case.predict(case.model)),
        case.outputs,
        1e-4 if case.run["dtype"] == "float32" else None,
    )


def finetune(case, **others):
    run = case.run
    arguments = {"epochs": 2, "accumulation_steps": run["accumulation_steps"]}
    if run["optimizer"] == "layer decay":
        arguments["layer_decay"] = 0.8
    if has_own_loss(run):
        arguments["loss"] = own_loss(case.model, run)
    if run["weights"] == "class_weight":
        arguments["class_weight"] = CLASS_WEIGHT
    x, y, weights = raw_data(run)
    data = (x, y) if weights is None else (x, y, weights)
    given = (
        data,
        (case.x, case.y),
        case.folder / "run",
        keras_bert.FineTuning(**arguments),
    )
    first, again = (
        keras_bert.finetune(case.model, *given, batching=batching_of(run), **others)
        for _ in range(2)
    )
    assert len(first) == 2 and again == first, f"{again} for {first}"
    best = BertTask.from_preset(case.folder / "run" / "best")
    assert type(best) is type(case.model)


def finetune_with_teacher(case):
    case.model.save_to_preset(case.folder / "teacher")
    finetune(case, teacher=case.folder / "teacher")


def killed_and_resumed(run, counter):
    """Stops a training after its first epoch; another model resumes from the checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = keras_bert.TrainingCheckpoint(folder)
        try:
            train(run, callbacks=[counter, checkpoint, StopAfter()])
        except Stop:
            checkpoint.wait()
        else:
            raise AssertionError("not stopped")
        model = compiled(run)
        if run["task"] == "features":
            model.adapt_features(raw_data(run)[0]["features"])
        checkpoint = keras_bert.TrainingCheckpoint(folder)
        assert checkpoint.restore(model) > 0
        trained = train(run, callbacks=[checkpoint], model=model, initial_epoch=1)
    first = {name: values[:1] for name, values in reference_of(run).history.items()}
    trained.history = {n: [*first.get(n, []), *values] for n, values in trained.history.items()}
    return trained


def fit_again(case):
    first = case.trained.history["loss"][-1]
    history = train(case.run, model=case.model).history
    assert np.isfinite(history["loss"]).all() and history["loss"][-1] < first * 1.5 + 0.1
    assert np.isfinite(keras.tree.flatten(case.predict(case.model))[0]).all()


def deepcopy(case):
    case.same(copy.deepcopy(case.model))


def pickled(case):
    case.same(pickle.loads(pickle.dumps(case.model)))


AFTER = {
    "predict twice": predict_twice,
    "answer and scores": answer_and_scores,
    "threads": threads,
    ".keras": keras_file,
    "preset": preset,
    "Hugging Face": hugging_face,
    "SavedModel": saved_model,
    "ONNX": exported("onnx"),
    "LiteRT": exported("litert"),
    "OpenVINO": exported("openvino"),
    "int8": int8,
    "merge_lora": merge_lora,
    "calibrate": calibrate,
    "finetune": finetune,
    "finetune with a teacher": finetune_with_teacher,
    "killed and resumed": predict_twice,
    "fit again": fit_again,
    "deepcopy": deepcopy,
    "pickle": pickled,
}
