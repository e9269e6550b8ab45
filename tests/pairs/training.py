"""Trains the model of a run, and the plain run with which it must agree."""

import functools
import json

import keras
import numpy as np

import keras_bert
from keras_bert import AdamW
from tests.pairs import examples
from tests.pairs.examples import NUMBER, ROWS, WHOLE, batching_of, sliced
from tests.pairs.factors import PLAIN
from tests.pairs.models import has_next_sentence, make_model, scope_of

EPOCHS = 2
CLASS_WEIGHT = {0: 3.0, 1: 0.5}
# Factors that change the numbers of training; all others must not.
CHANGE = ("task", "lora", "freezing", "weights", "loss", "optimizer", "encoder")
RATE = 1e-3
UNIT = {
    "float32": 2**-24,
    "mixed_float16": 2**-11,
    "mixed_bfloat16": 2**-8,
    "bfloat16": 2**-8,
}


class Trained:
    """What came of a training: a model, its history, and its weights before and after it.

    A reference has `moments`, the first ones of its optimizer, and `drifts`: how far rounding alone
    may move each weight.
    """

    def __init__(self, model, history, start=()):
        self.model, self.history, self.start = model, history, start
        # The steps that the optimizer took, without those that it skipped.
        self.steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
        variables = model.trainable_variables
        self.names = [variable.path for variable in variables]
        self.weights = [np.asarray(keras.ops.convert_to_numpy(v), "float32") for v in variables]


def is_prepared(run):
    return run["data"].startswith("prepared")


def is_pretrainer(run):
    return run["task"].startswith("pretrainer")


STREAMS = ("generator", "iterable", "tf.data of texts")


def raw_data(run, number=NUMBER, seed=1):
    """Returns `(x, y, weights)` in lists, or one batch of arrays for pre-training."""
    w = None
    if not is_pretrainer(run):
        x, y = examples.examples(run["task"], run["labels"], number, seed)
    elif run["task"] == "pretrainer on arrays":
        x, y, w = examples.pretraining_arrays(number, seed)
        if not has_next_sentence(run["encoder"]):
            y, w = ({"masked_lm": v["masked_lm"]} for v in (y, w))
    else:
        batches = examples.corpus_batches(run, has_next_sentence(run["encoder"]), seed)
        rows = examples.concatenated(list(batches.as_numpy_iterator()))
        x, y, w = (sliced(part, slice(number)) for part in rows)
    if is_pretrainer(run) and run["encoder"] in (
        "DistilBERT",
        "MPNet",
        "ModernBERT",
        "own",
    ):
        x.pop("segment_ids", None)
    if run["weights"] == "sample_weight" and w is None:
        w = np.linspace(0.2, 2, number).astype("float32")
    elif run["weights"] == "sample_weight":
        of_rows = np.linspace(0.2, 2, len(x["token_ids"])).astype("float32")
        w = {name: (v.T * of_rows).T for name, v in w.items()}
    return x, y, w


def compile_model(model, run):
    """Compiles as the run says; `run["optimizer"]` may be one of ours."""
    settings = {
        "schedule": None,
        "default rate": {"learning_rate": default_rate(model)},
        "constant": {"global_clipnorm": 0.05},  # less than the norms of gradients
        "layer decay": {"layer_decay": 0.8},
        "EMA": {"use_ema": True, "ema_momentum": 0.9},
    }[run["optimizer"]]
    arguments = {"steps_per_execution": run["steps_per_execution"]}
    if "jit_compile" in run:  # no factor: XLA takes long
        arguments["jit_compile"] = True
    if has_own_loss(run):
        arguments["loss"] = own_loss(model, run)
    with scope_of(run):
        optimizer = None
        if settings is not None:
            optimizer = AdamW(**{"learning_rate": RATE, **settings})
            if run["dtype"] == "mixed_float16":
                # Gradients overflow at Keras's scale of 2 ** 15, and their steps are skipped.
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**7)
        model.compile(optimizer=optimizer, **arguments)


def default_rate(model):
    return float(model.default_compile_args()["optimizer"].learning_rate)


def is_one_hot(run):
    return run["labels"] == "one-hot" and run["task"] != "labels"


def has_own_loss(run):
    """Whether `compile` and `finetune` get a loss."""
    return run["loss"] == "function" or is_one_hot(run) or run["task"] == "reranker of triplets"


def own_loss(model, run):
    """The task's loss, or that of one-hot labels or triplets; also as a plain function."""
    losses = model.default_compile_args()["loss"]
    if run["task"] == "reranker of triplets":
        losses = keras_bert.losses.MarginMeanSquaredError()
    elif is_one_hot(run):
        losses = keras.losses.CategoricalCrossentropy(from_logits=True, reduction=losses.reduction)
    if run["loss"] == "default":
        return losses
    return keras.tree.map_structure(as_function, losses)


def as_function(loss):
    """A loss as a function of labels and outputs; that of a regression has the name of one."""
    name = loss if isinstance(loss, str) else type(loss).__name__
    of_rows = keras.losses.get(loss) if isinstance(loss, str) else loss.call

    def function(y_true, y_pred):
        return of_rows(y_true, y_pred)

    function.__name__ = f"of_{name}"
    return keras.saving.register_keras_serializable("pairs")(function)


def fit_arguments(model, run):
    """The arguments of `fit`, with the data in the form of the run."""
    arguments = {"epochs": EPOCHS, "verbose": 0}
    arguments["batching"] = batching_of({"batching": "fixed"} if is_prepared(run) else run)
    arguments["validation_batch_size"] = WHOLE  # a mean of weighted means depends on the batches
    if run["accumulation_steps"] > 1:
        arguments["accumulation_steps"] = run["accumulation_steps"]
    if run["weights"] == "class_weight":
        arguments["class_weight"] = CLASS_WEIGHT
    if run["validation"] == "split":
        arguments["validation_split"] = split_of(run)
    elif run["validation"] != "none":
        arguments["validation_data"] = validation_data(model, run)
    return arguments | training_data(model, run)


def split_of(run):
    """The share to validate on; of a class there must be two texts."""
    return 0.5 if run["task"] == "embedder of labels" else 0.25


def validation_data(model, run):
    x, y, w = raw_data(run, 6, seed=3)
    if run["validation"] == "in memory":
        return (x, y) if w is None else (x, y, w)
    batches = batches_of(model, {**run, "batching": "fixed"}, (x, y, w), WHOLE)
    return examples.as_tf_data(batches, is_known=True)


def batches_of(model, run, data, rows=ROWS):
    """Prepared batches, as arrays."""
    if is_pretrainer(run):
        starts = range(0, len(data[0]["token_ids"]), rows)
        return [tuple(sliced(part, slice(i, i + rows)) for part in data) for i in starts]
    made = model.batches(*data, batching=batching_of(run, rows))
    return [keras.tree.map_structure(np.asarray, batch) for batch in made]


def training_data(model, run):
    """The data of a run as `fit` takes it: `{"x": ..., "y": ..., "sample_weight": ...}`."""
    x, y, w = data = raw_data(run)
    form = run["data"]
    if form == "lists" or (form == "prepared arrays" and is_pretrainer(run)):
        return as_arguments(x, y, w)
    if form == "prepared arrays":
        batch = examples.concatenated(batches_of(model, {**run, "batching": "fixed"}, data))
        are_columns = model.takes_columns and not isinstance(batch[0], tuple)
        is_alone = not isinstance(batch, tuple) or (are_columns and isinstance(batch[1], dict))
        return as_arguments(*([batch] if is_alone else batch))
    if is_prepared(run):
        batches = batches_of(model, run, data)
        if form == "prepared PyDataset":
            return {"x": examples.BatchList(batches)}
        return {"x": examples.as_tf_data(batches, is_known="unknown" not in form)}
    if form == "arrays":
        return as_arguments(*(examples.columns(examples.as_array, part) for part in data))
    if form == "tf.data of texts":
        import tensorflow as tf

        parts = examples.columns(examples.as_tensor, tuple(p for p in data if p is not None))
        elements = parts[0] if len(parts) == 1 else parts
        return {"x": tf.data.Dataset.from_tensor_slices(elements)}
    rows = examples.rows_of(x)
    if form == "iterable" and w is not None and y is not None:
        rows, w = list(zip(rows, y, w, strict=True)), None
    elif y is not None:
        rows = list(zip(rows, y, strict=True))
    return as_arguments(iter(rows) if form == "generator" else examples.Iterable(rows), None, w)


def as_arguments(x, y=None, w=None):
    arguments = {"x": x, "y": y, "sample_weight": w}
    return {name: value for name, value in arguments.items() if value is not None}


def compiled(run):
    """The model of a run, ready to train."""
    model = make_model(run)
    compile_model(model, run)
    return model


def train(run, callbacks=(), model=None, **others):
    """Makes, compiles and fits the model of a run."""
    if model is None:
        model = compiled(run)
        if run["task"] == "features" and (is_prepared(run) or run["data"] in STREAMS):
            features = raw_data(run)[0]["features"]
            if run["validation"] == "split":  # `fit` on texts adapts to those that it trains on
                features = features[: int(NUMBER * (1 - split_of(run)))]
            model.adapt_features(features)
    keras.utils.set_random_seed(1)
    start = [np.array(keras.ops.convert_to_numpy(v)) for v in model.weights]
    with scope_of(run):
        arguments = {**fit_arguments(model, run), **others}
        history = model.fit(callbacks=[*callbacks], **arguments).history
    return Trained(model, history, start)


def reference_run(run):
    """The plain run whose numbers a run must have."""
    plain = {**PLAIN, **{name: run[name] for name in CHANGE}}
    if run["labels"] == "in the examples":
        plain["labels"] = run["labels"]
    else:
        plain["labels"] = "numbers"
    plain["validation"] = "in memory" if run["validation"] == "dataset" else run["validation"]
    if is_pretrainer(run):
        plain["data"] = "prepared arrays"
    is_unknown = "unknown" in run["data"] or run["data"] == "iterable"
    is_unknown |= run["task"] == "windows" and run["data"] == "tf.data of texts"
    if run["optimizer"] == "schedule" and is_unknown:
        plain["optimizer"] = "default rate"  # as `fit` can't count the steps of a schedule
    return plain


@functools.cache
def reference(key):
    """Trains a plain run, in lists on one device, with weights in place of class weights."""
    run = json.loads(key)
    model = compiled(run)
    model.run_eagerly = True  # traces and compiles nothing
    has_classes, is_split = run["weights"] == "class_weight", run["validation"] == "split"
    plain = {**run, "weights": "none"} if has_classes else dict(run)
    x, y, w = raw_data(plain)
    if has_classes:
        w = np.array([CLASS_WEIGHT.get(label, 1.0) for label in y], "float32")
    if is_split:
        number = len(x["token_ids"]) if is_pretrainer(run) else NUMBER
        cut = int(number * (1 - split_of(run)))
        last = [sliced(part, slice(cut, None)) for part in (x, y, None if has_classes else w)]
        x, y, w = (sliced(part, slice(cut)) for part in (x, y, w))
        plain["validation"] = "none"
    arguments = {**fit_arguments(model, plain), **as_arguments(x, y, w)}
    if is_split:
        arguments["validation_data"] = tuple(last)
    drifts = Drifts(
        default_rate(model) if run["optimizer"] in ("schedule", "default rate") else RATE
    )
    with scope_of(run):
        history = model.fit(**arguments, callbacks=[drifts]).history
    trained = Trained(model, history)
    trained.drifts, trained.moments = drifts.sums, moments_of(model.optimizer)[0]
    trained.model = None  # whose graphs take memory
    return trained


def moments_of(optimizer):
    """The first and the second moments of an optimizer, an array for each weight."""
    return [
        [np.asarray(keras.ops.convert_to_numpy(m), "float64") for m in kind]
        for kind in (optimizer._first_moments, optimizer._second_moments)
    ]


class Drifts(keras.callbacks.Callback):
    """Adds up how far rounding alone may move each number of the weights, step by step.

    About 100 rounded operations lie between a weight and its gradient. Adam divides it by its size,
    so a gradient that is rounding alone (of the bias of keys, which softmax cancels out) moves a
    weight.
    """

    def __init__(self, rate):
        super().__init__()
        self.rate, self.sums = rate, None

    def on_train_batch_end(self, batch, logs=None):
        optimizer = self.model.optimizer
        step = int(keras.ops.convert_to_numpy(optimizer.iterations))
        _, squares = moments_of(optimizer)
        sizes = [np.sqrt(v / (1 - optimizer.beta_2**step)) for v in squares]
        noise = rounding("float32", 100) * max(size.max() for size in sizes)
        drifts = [self.rate * np.minimum(2, noise / (size + optimizer.epsilon)) for size in sizes]
        self.sums = drifts if self.sums is None else [*map(np.add, self.sums, drifts)]


def rounding(dtype, operations=32):
    """How far rounding may move an output of about 1, which is made of so many rounded operations.

    Their errors, evenly spread up to a unit, add as in a random walk: three standard deviations.
    """
    return 3 * (operations / 3) ** 0.5 * UNIT[dtype]


def loss_bound(run, wanted):
    """How far losses may be from `wanted`, those of the plain run in float32."""
    size = np.abs(wanted).max()
    if run["dtype"] == "float32":
        return 1e-5 * max(size, 1e-3)
    if run["task"].startswith("embedder"):  # logits are 20 times cosines, of 16 products each
        size = max(size, 20 / 16**0.5)
    bound = rounding(run["dtype"]) * max(size, 1)
    if run["dtype"] == "bfloat16":  # whose weights may be too coarse for a step
        bound += np.ptp(wanted)
    return bound


def skipped_steps(optimizer):
    """The number of steps with gradients that overflowed: each halves the scale of the loss."""
    scale = getattr(optimizer, "dynamic_scale", None)
    if scale is None:
        return 0
    return round(np.log2(optimizer.initial_scale / float(keras.ops.convert_to_numpy(scale))))


def reference_of(run):
    return reference(json.dumps(reference_run(run), sort_keys=True))


def is_drawn(run):
    """Whether examples are drawn for each pass, so that no two forms give the same."""
    return run["task"] == "embedder of labels"


def is_exact(run):
    """Whether a run must have the numbers of its plain run."""
    task, batching = run["task"], run["batching"]
    if is_drawn(run):
        return False
    is_cut = task in ("spans", "windows")
    if is_cut and is_prepared(run) and run["validation"] == "split":
        return False  # the last rows hold other sequences, or other windows
    if task == "tags" and run["loss"] == "function" and run["validation"] != "none":
        return False  # whose mean is also one over padding, of which forms of data have more
    has_several_rows = task.startswith(("choices", "embedder", "reranker of"))
    return not (batching == "tokens" and has_several_rows)  # in a batch of other examples


def check_training(run, trained):
    """Asserts that a run has the numbers of its plain run."""
    expected = reference_of(run)
    assert "loss" in trained.history
    for name, values in trained.history.items():
        assert np.isfinite(values).all(), f"{name} is {values}"
    for name, weight in zip(trained.names, trained.weights, strict=True):
        assert np.isfinite(weight).all(), f"{name} is not finite"
    if not is_exact(run):
        return
    skipped = skipped_steps(trained.model.optimizer)
    steps = trained.steps + skipped
    assert steps == expected.steps, f"{steps} steps for {expected.steps}"
    if skipped:
        assert run["dtype"] == "mixed_float16" and run["optimizer"] == "schedule"
        return
    # Metrics are compared in float32, as one may count answers; one-hot labels have others.
    names = {name for name in expected.history if name.endswith("loss")}
    if run["dtype"] == "float32":
        names |= expected.history.keys() & trained.history.keys()
    for name in names:
        found = np.array(trained.history.get(name, []))
        wanted = np.array(expected.history[name])
        assert len(found) == len(wanted), f"{name}: {found} for {wanted}"
        error, bound = np.abs(found - wanted).max(), loss_bound(run, wanted)
        assert error <= bound, f"{name}: {found} for {wanted}, {error:.1e} of {bound:.1e}"
    assert len(trained.weights) == len(expected.weights)
    if run["dtype"] != "float32":
        return
    size = max(np.abs(wanted).max() for wanted in expected.weights)
    pairs = zip(trained.names, trained.weights, expected.weights, expected.drifts, strict=True)
    for name, found, wanted, drift in pairs:
        excess = np.max(np.abs(found - wanted) / (1e-5 * size + drift))
        assert excess <= 1, f"{name} differs by {excess:.1e} bounds"
    # First moments are gradients, unlike weights.
    size = max(np.abs(wanted).max() for wanted in expected.moments)
    for found, wanted in zip(moments_of(trained.model.optimizer)[0], expected.moments, strict=True):
        error = np.abs(found - wanted).max() / size
        assert error <= 1e-5, f"a first moment differs by {error:.1e} of the largest"
