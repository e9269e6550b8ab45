"""Trains the model of a run, and the plain run with which it must agree."""

import dataclasses
import functools
import json
from typing import Any

import keras
import numpy as np

import keras_bert
from keras_bert import AdamW
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay
from tests.pairs import examples
from tests.pairs.examples import NUMBER, ROWS, WHOLE, batching_of, sliced
from tests.pairs.factors import PLAIN
from tests.pairs.models import has_next_sentence, make_model, scope_of

EPOCHS = 2
CLASS_WEIGHT = {0: 3.0, 1: 0.5}
# Factors that change the numbers of training; all others must not.
CHANGE = ("task", "lora", "freezing", "weights", "loss", "optimizer", "encoder")
RATE = 1e-3
UNIT = {"float32": 2**-24, "mixed_float16": 2**-11, "mixed_bfloat16": 2**-8, "bfloat16": 2**-8}


@dataclasses.dataclass
class Trained:
    """What came of a training."""

    model: Any
    history: dict
    start: list
    weights: list
    steps: int  # that the optimizer took, without those that it skipped
    moments: list = ()  # the first moments of the optimizer
    drifts: list = ()  # how far rounding alone may move each weight


def is_prepared(run):
    return run["data"].startswith("prepared")


def plain_labels(run):
    """The labels of a task in their plainest form."""
    if run["labels"] in ("one-hot", "names"):
        return "numbers"
    return run["labels"]


def is_pretrainer(run):
    return run["task"].startswith("pretrainer")


STREAMS = ("generator", "iterable", "tf.data of texts")


def raw_data(run, number=NUMBER, seed=1):
    """Returns `(x, y, weights)` in lists, or one batch of arrays for pre-training."""
    if run["task"] == "pretrainer on arrays":
        x, y, w = examples.pretraining_arrays(number, seed)
        if not has_next_sentence(run["encoder"]):
            y, w = ({"masked_lm": v["masked_lm"]} for v in (y, w))
    elif is_pretrainer(run):
        batches = list(
            examples.corpus_batches(
                run, has_next_sentence(run["encoder"]), seed
            ).as_numpy_iterator()
        )
        x, y, w = examples.concatenated(batches)
        number = len(x["token_ids"])
        most = number if seed == 1 else 6
        x, y, w = (sliced(part, slice(most)) for part in (x, y, w))
    else:
        x, y = examples.examples(run["task"], run["labels"], number, seed)
        w = None
    if is_pretrainer(run) and run["encoder"] in ("DistilBERT", "MPNet", "ModernBERT", "own"):
        x.pop("segment_ids", None)
    if run["weights"] == "sample_weight":
        own = np.linspace(0.2, 2, len(keras.tree.flatten(x)[0]) if w else number)
        if w is None:
            w = own.astype("float32")
        else:
            w = {
                n: v * own.reshape(-1, *[1] * (v.ndim - 1)).astype("float32") for n, v in w.items()
            }
    return x, y, w


def compile_model(model, run, steps=None):
    """Compiles as the run says; `run["optimizer"]` may be one of ours."""
    rate = RATE if steps is None else WarmupLinearDecay(RATE, 2, steps)
    optimizer = {
        "schedule": lambda: None,
        "default rate": lambda: AdamW(default_rate(model)),
        "constant": lambda: AdamW(rate),
        "layer decay": lambda: AdamW(rate, layer_decay=0.8),
        "EMA": lambda: AdamW(rate, use_ema=True, ema_momentum=0.9),
    }
    arguments = {}
    if has_own_loss(run):
        arguments["loss"] = own_loss(model, run)
    if run["steps_per_execution"] > 1:
        arguments["steps_per_execution"] = run["steps_per_execution"]
    with scope_of(run):
        chosen = optimizer[run["optimizer"]]()
        if chosen is not None and run["dtype"] == "mixed_float16":
            # Gradients overflow at Keras's scale of 2 ** 15, and their steps are skipped.
            chosen = keras.optimizers.LossScaleOptimizer(chosen, initial_scale=2.0**7)
        model.compile(optimizer=chosen, **arguments)


def default_rate(model):
    return float(model.default_compile_args()["optimizer"].learning_rate)


def is_one_hot(run):
    return run["labels"] == "one-hot" and run["task"] != "labels"


def has_own_loss(run):
    """Whether `compile` and `finetune` get a loss."""
    return run["loss"] == "function" or is_one_hot(run) or run["task"] == "reranker of triplets"


def own_loss(model, run):
    """The task's loss as a plain function, or that of one-hot labels."""
    if run["loss"] == "default" and run["task"] == "reranker of triplets":
        return keras_bert.losses.MarginMeanSquaredError()
    default = model.default_compile_args()["loss"]
    if run["loss"] == "default":
        return keras.losses.CategoricalCrossentropy(from_logits=True, reduction=default.reduction)

    def function(loss):
        def cross_entropy(y_true, y_pred):
            if is_one_hot(run):
                return keras.losses.categorical_crossentropy(y_true, y_pred, from_logits=True)
            if isinstance(loss, str):  # that of a regression
                return keras.losses.mean_squared_error(y_true, y_pred)
            if isinstance(loss, keras.losses.BinaryCrossentropy):
                return keras.losses.binary_crossentropy(y_true, y_pred, from_logits=True)
            if isinstance(loss, keras.losses.SparseCategoricalCrossentropy):
                return keras.losses.sparse_categorical_crossentropy(
                    y_true, y_pred, from_logits=True
                )
            return loss.call(y_true, y_pred)

        cross_entropy.__name__ = f"of_{type(loss).__name__}_{is_one_hot(run)}"
        return keras.saving.register_keras_serializable("pairs")(cross_entropy)

    if run["task"] == "reranker of triplets":
        return function(keras_bert.losses.MarginMeanSquaredError())
    return (
        {n: function(v) for n, v in default.items()}
        if isinstance(default, dict)
        else function(default)
    )


def fit_arguments(model, run):
    """The arguments of `fit`, with the data in the form of the run."""
    data = raw_data(run)
    batching = batching_of({"batching": "fixed"} if is_prepared(run) else run)
    arguments = {"epochs": EPOCHS, "verbose": 0, "batching": batching}
    arguments["validation_batch_size"] = WHOLE  # a mean of weighted means depends on the batches
    if run["accumulation_steps"] > 1:
        arguments["accumulation_steps"] = run["accumulation_steps"]
    if run["weights"] == "class_weight":
        arguments["class_weight"] = CLASS_WEIGHT
    validation = run["validation"]
    if validation == "split":
        arguments["validation_split"] = split_of(run)
    elif validation != "none":
        arguments["validation_data"] = validation_data(model, run, validation)
    arguments |= training_data(model, run, data)
    return arguments


def split_of(run):
    """The share to validate on; of a class there must be two texts."""
    return 0.5 if run["task"] == "embedder of labels" else 0.25


def validation_data(model, run, form):
    x, y, w = raw_data(run, 6, seed=3)
    if form == "in memory":
        if is_pretrainer(run) or w is not None:
            return x, y, w
        return (x, y) if y is not None else as_validation(x)
    if is_pretrainer(run):
        made = [(x, y, w)]
    else:
        whole = batching_of({"batching": "fixed"}, batch_size=WHOLE, pad_to="full")
        made = [
            keras.tree.map_structure(np.asarray, b) for b in model.batches(x, y, w, batching=whole)
        ]
    return examples.as_tf_data(made, is_known=True)


def as_validation(x):
    """Examples without labels: `(x, None)`, because a tuple is read as `(x, y)`."""
    return x, None


def batches_of(model, run, data):
    """Prepared batches, as arrays."""
    if is_pretrainer(run):
        number = len(data[0]["token_ids"])
        return [
            tuple(sliced(part, slice(i, i + ROWS)) for part in data) for i in range(0, number, ROWS)
        ]
    made = model.batches(*data, batching=batching_of(run))
    return [keras.tree.map_structure(np.asarray, batch) for batch in made]


def training_data(model, run, data):
    """The data of a run as `fit` takes it: `{"x": ..., "y": ..., "sample_weight": ...}`."""
    x, y, w = data
    form = run["data"]
    if form == "prepared arrays":
        if not is_pretrainer(run):
            batch = examples.concatenated(batches_of(model, {**run, "batching": "fixed"}, data))
            are_columns = model.takes_columns and not isinstance(batch[0], tuple)
            is_alone = not isinstance(batch, tuple) or (are_columns and isinstance(batch[1], dict))
            x, y, w = (batch, None, None) if is_alone else (*batch, None, None)[:3]
        return as_arguments(x, y, w)
    if is_prepared(run):
        batches = batches_of(model, run, data)
        if form == "prepared PyDataset":
            return {"x": examples.Pydataset(batches)}
        return {"x": examples.as_tf_data(batches, is_known="unknown" not in form)}
    if form == "lists":
        return as_arguments(x, y, w)
    if form == "arrays":
        return as_arguments(*(examples.as_array(part) for part in (x, y, w)))
    if form == "pandas":
        import pandas

        w = None if w is None else pandas.Series(w)
        return as_arguments(examples.as_columns(x), examples.as_columns(y), w)
    rows = examples.rows_of(x)
    if form == "tf.data of texts":
        import tensorflow as tf

        parts = [examples.tensors(part) for part in (x, y, w) if part is not None]
        elements = parts[0] if len(parts) == 1 else tuple(parts)
        return {"x": tf.data.Dataset.from_tensor_slices(elements)}
    if form == "iterable" and w is not None and y is not None:
        rows, w = list(zip(rows, y, w, strict=True)), None
    elif y is not None:
        rows = list(zip(rows, y, strict=True))
    given = iter(rows) if form == "generator" else examples.Iterable(rows)
    return as_arguments(given, None, w)


def as_arguments(x, y, w):
    arguments = {"x": x, "y": y, "sample_weight": w}
    return {name: value for name, value in arguments.items() if value is not None}


def train(run, callbacks=(), model=None, **others):
    """Makes, compiles and fits the model of a run."""
    keras.utils.set_random_seed(1)
    if model is None:
        model = make_model(run)
        compile_model(model, run)
        if run["task"] == "features" and (is_prepared(run) or run["data"] in STREAMS):
            features = raw_data(run)[0]["features"]
            if run["validation"] == "split":  # `fit` on texts adapts to those that it trains on
                features = features[: int(len(features) * (1 - split_of(run)))]
            model.adapt_features(features)
    start = [np.array(keras.ops.convert_to_numpy(v)) for v in model.weights]
    with scope_of(run):
        arguments = {**fit_arguments(model, run), **others}
        history = model.fit(callbacks=[*callbacks], **arguments).history
    weights = [
        np.asarray(keras.ops.convert_to_numpy(v), "float32") for v in model.trainable_variables
    ]
    return Trained(
        model, history, start, weights, int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    )


def reference_run(run):
    """The plain run whose numbers a run must have."""
    plain = {**PLAIN, **{name: run[name] for name in CHANGE}}
    plain["labels"] = plain_labels(run)
    plain["validation"] = "in memory" if run["validation"] not in ("none", "split") else "none"
    if run["validation"] == "split":
        plain["validation"] = "split"
    if is_pretrainer(run):
        plain["data"] = "prepared arrays"
    is_cut = run["task"] == "windows"
    is_unknown = "unknown" in run["data"] or run["data"] == "iterable"
    is_unknown |= is_cut and run["data"] == "tf.data of texts"
    if run["optimizer"] == "schedule" and is_unknown:
        plain["optimizer"] = "default rate"  # as `fit` can't count the steps of a schedule
    return plain


@functools.cache
def reference(key):
    """Trains a plain run, in lists on one device, with weights in place of class weights."""
    run = json.loads(key)
    keras.utils.set_random_seed(1)
    model = make_model(run)
    compile_model(model, run)
    model.run_eagerly = True  # traces and compiles nothing
    x, y, w = raw_data(run)
    if run["weights"] == "class_weight":
        w = np.array([CLASS_WEIGHT.get(label, 1.0) for label in y], "float32")
    parts = (x, y, w)
    validation = None
    if run["validation"] == "split":
        cut = int(
            len(keras.tree.flatten(x)[0] if is_pretrainer(run) else examples.rows_of(x))
            * (1 - split_of(run))
        )
        validation = tuple(sliced(part, slice(cut, None)) for part in parts)
        if run["weights"] == "class_weight":
            validation = validation[:2]
        parts = tuple(sliced(part, slice(cut)) for part in parts)
    elif run["validation"] != "none":
        validation = validation_data(model, run, "in memory")
    batching = batching_of({"batching": "fixed"})
    with scope_of(run):
        x, y, w = parts
        again = {"verbose": 0, "batching": batching, "epochs": EPOCHS}
        again["validation_batch_size"] = WHOLE
        if validation is not None:
            again["validation_data"] = validation
        rate = default_rate(model) if run["optimizer"] in ("schedule", "default rate") else RATE
        drifts = Drifts(rate)
        history = model.fit(**as_arguments(x, y, w), **again, callbacks=[drifts]).history
    weights = [keras.ops.convert_to_numpy(v) for v in model.trainable_variables]
    steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    return Trained(None, history, [], weights, steps, moments_of(model.optimizer)[0], drifts.sums)


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
    """Asserts that a run has the numbers of its plain run; returns the share used of the bound."""
    expected = reference_of(run)
    assert trained.history.keys() >= {"loss"}, trained.history.keys()
    for name, values in trained.history.items():
        assert np.isfinite(values).all(), f"{name} is {values}"
    for weight in trained.weights:
        assert np.isfinite(weight).all(), "a weight is not finite"
    if not is_exact(run):
        return None
    skipped = skipped_steps(trained.model.optimizer)
    steps = trained.steps + skipped
    assert steps == expected.steps, f"{steps} steps for {expected.steps}"
    if skipped:
        assert run["dtype"] == "mixed_float16" and run["optimizer"] == "schedule"
        return None
    share = 0
    losses = [n for n in expected.history if n.endswith("loss")]
    for name in losses:
        found, wanted = np.array(trained.history.get(name, [])), np.array(expected.history[name])
        assert len(found) == len(wanted), f"{name}: {found} for {wanted}"
        error, bound = np.abs(found - wanted).max(), loss_bound(run, wanted)
        assert error <= bound, f"{name}: {found} for {wanted}, {error:.1e} of {bound:.1e}"
        share = max(share, error / bound)
    assert len(trained.weights) == len(expected.weights)
    if run["dtype"] == "float32":
        size = max(np.abs(wanted).max() for wanted in expected.weights)
        names = [v.path for v in trained.model.trainable_variables]
        pairs = zip(names, trained.weights, expected.weights, expected.drifts, strict=True)
        for name, found, wanted, drift in pairs:
            excess = np.max(np.abs(found - wanted) / (1e-5 * size + drift))
            assert excess <= 1, f"{name} differs by {excess:.1e} bounds"
        check_moments(trained.model.optimizer, expected.moments)
    return round(share, 3)


def check_moments(optimizer, expected):
    """Asserts that first moments are those of the plain run: unlike weights, they are gradients."""
    size = max(np.abs(wanted).max() for wanted in expected)
    for found, wanted in zip(moments_of(optimizer)[0], expected, strict=True):
        error = np.abs(found - wanted).max() / size
        assert error <= 1e-5, f"a first moment differs by {error:.1e} of the largest"
