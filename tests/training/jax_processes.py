"""Trains in one of several JAX processes and prints what came of it, as a line of JSON.

    python jax_processes.py FOLDER

Run by test_jax_processes.py: the devices and the place of the process are in its environment.
"""

import itertools
import json
import os
import sys
from pathlib import Path

import keras
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT), str(ROOT / "recipes")]

import keras_bert  # noqa: E402
from _time_budget import TimeBudget  # noqa: E402
from keras_bert.training.describe_training import describe_training  # noqa: E402
from tests.pairs.examples import batching_of  # noqa: E402
from tests.pairs.factors import PLAIN  # noqa: E402
from tests.pairs.models import make_model  # noqa: E402
from tests.pairs.training import raw_data, train  # noqa: E402

FOLDER = sys.argv[1]
ROWS, BATCH = 16, 8
PLACE = os.environ.get("KERAS_DISTRIBUTION_PROCESS_ID")  # none if it trains alone
RUN = {
    **PLAIN,
    "task": "pretrainer on arrays",
    "data": "prepared arrays",
    "devices": "two",
}
RUN |= {"accumulation_steps": 2, "steps_per_execution": 2}
DRAW = np.random.default_rng(1)
X, Y = {"token_ids": DRAW.integers(5, 40, (ROWS, 12))}, DRAW.integers(0, 3, ROWS)
WEIGHTS = np.linspace(0.1, 3, ROWS).astype("float32")


def make_classifier():
    keras.utils.set_random_seed(1)
    backbone = keras_bert.BertBackbone(40, 1, 2, 16, 32, dropout=0.1)
    model = keras_bert.BertClassifier(backbone, num_classes=3, dropout=0.1)
    model.compile(keras_bert.AdamW(1e-2))
    return model


def numbers(model):
    return [weight.ravel()[:9].tolist() for weight in model.get_weights()]


def resumed():
    """How far a run that is resumed after its first epoch is from a whole one."""
    options = {"sample_weight": WEIGHTS, "batch_size": BATCH, "epochs": 2, "verbose": 0}
    checkpoint = keras_bert.TrainingCheckpoint(FOLDER)
    whole, rest = make_classifier(), make_classifier()
    whole.fit(X, Y, shuffle=False, callbacks=[checkpoint], **options)
    checkpoint.wait()
    assert checkpoint.restore(rest, step=2) == 2
    rest.fit(X, Y, shuffle=False, initial_epoch=1, **options)
    pairs = zip(whole.get_weights(), rest.get_weights(), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def finetuned():
    """The scores of an epoch."""
    run = {**PLAIN, "devices": "two"}
    model, (x, y, _), settings = (
        make_model(run),
        raw_data(run),
        keras_bert.FineTuning(epochs=1),
    )
    given = (x, y), (x, y), f"{FOLDER}/tuned", settings
    return keras_bert.finetune(model, *given, batching=batching_of(run))


def timed():
    """The steps of a run of 60 seconds, and its weights; each process has a clock of its own."""
    seconds = itertools.count(step=1 + 2 * int(PLACE or 0))
    model, schedule = make_classifier(), keras_bert.WarmupLinearDecay(1e-2, 6, 60)
    budget = TimeBudget(model.optimizer, schedule, lambda: next(seconds))
    options = {"batch_size": BATCH, "shuffle": False, "epochs": 99, "verbose": 0}
    model.fit(X, Y, sample_weight=WEIGHTS, callbacks=[budget], **options)
    steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    return {"steps": steps, "weights": numbers(model)}


def refused():
    model = make_classifier()
    here = keras_bert.TrainingCheckpoint(f"{FOLDER}/of_process_{PLACE}")
    model.optimizer.iterations.assign(5)
    here.save(model)  # only the first process writes, to a folder of its own
    return {
        "data": message(lambda: model.fit(X, Y[:: 1 - 2 * int(PLACE)], verbose=0)),
        "checkpoint": message(lambda: here.restore(model)),
        "devices": message(lambda: keras_bert.get_strategy("single")),
    }


def message(call):
    try:
        call()
    except ValueError as error:
        return str(error)


if __name__ == "__main__":
    replaced, replace = [], os.replace
    os.replace = lambda old, new: replaced.append(str(new)) or replace(old, new)
    strategy = keras_bert.get_strategy()
    with strategy.scope():
        trained = train(RUN)
        result = {
            "plain": [trained.history, numbers(trained.model)],
            "resumed": resumed(),
        }
        result["tuned"] = finetuned()
        result["files"] = len(replaced)
        result["timed"] = timed()
        result["refused"] = PLACE and refused()
        result["said"] = describe_training(strategy, BATCH, make_classifier())
    print(json.dumps(result), flush=True)
