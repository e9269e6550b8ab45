"""Trains in one of several JAX processes and prints what came of it, as a line of JSON.

    python jax_processes.py jax 2 FOLDER

Run by test_jax_processes.py: 2 devices, and the place of the process in its environment.
"""

import itertools
import json
import os
import sys
from pathlib import Path

import equivalence  # sets the backend and the devices
import keras
import numpy as np
import tensorflow as tf

import keras_bert
from keras_bert.finetuning.train_epochs import train_epochs
from keras_bert.training.describe_training import describe_training

FOLDER = sys.argv[3]
ROWS, BATCH = 16, 8
PLACES = "KERAS_DISTRIBUTION_"


def make_classifier():
    keras.utils.set_random_seed(1)
    model, x, y, weights = equivalence.classifier(np.random.default_rng(1), ROWS, dropout=0.1)
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(1e-2)})
    return model, x, y, weights


def finetuned():
    """The scores of two epochs, and how far a run that is resumed after the first is from them."""

    def batches(epoch):
        data = tf.data.Dataset.from_tensor_slices((x, y, weights))
        return data.shuffle(ROWS, seed=epoch).batch(BATCH)

    model, x, y, weights = make_classifier()
    scores = train_epochs(
        model,
        FOLDER,
        keras_bert.FineTuning(epochs=2, select="logit"),
        batches=batches,
        predict=lambda: model.predict(x, batch_size=BATCH, verbose=0),
        score=lambda logits: {"logit": float(logits[:, 0].mean())},
        save=lambda predictions, scores: model.save_to_preset(f"{FOLDER}/best"),
    )
    resumed, *_ = make_classifier()
    checkpoint = keras_bert.TrainingCheckpoint(f"{FOLDER}/checkpoints")
    assert checkpoint.restore(resumed, step=2) == 2
    resumed.fit(batches(1), verbose=0)
    pairs = zip(model.get_weights(), resumed.get_weights(), strict=True)
    off = max(float(np.abs(a - b).max()) for a, b in pairs)
    return {"scores": [score["logit"] for score in scores], "resumed": off}


def timed():
    """The steps of a run of 60 seconds, and its weights; each process has a clock of its own."""
    seconds = itertools.count(step=1 + 2 * int(os.environ.get(PLACES + "PROCESS_ID", 0)))
    model, x, y, weights = make_classifier()
    schedule = keras_bert.WarmupLinearDecay(1e-2, 6, 60)
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recipes"))
    from _time_budget import TimeBudget

    budget = TimeBudget(model.optimizer, schedule, lambda: next(seconds))
    model.fit(
        x,
        y,
        sample_weight=weights,
        batch_size=BATCH,
        shuffle=False,
        epochs=99,
        verbose=0,
        callbacks=[budget],
    )
    steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    return {
        "steps": steps,
        "weights": [weight.ravel()[:9].tolist() for weight in model.get_weights()],
    }


def refused():
    process = int(os.environ[PLACES + "PROCESS_ID"])
    model, x, y, _ = make_classifier()
    here = keras_bert.TrainingCheckpoint(f"{FOLDER}/of_process_{process}")
    model.optimizer.iterations.assign(5)
    here.save(model)  # only the first process writes, to a folder of its own
    return {
        "data": message(lambda: model.fit(x, y[:: 1 - 2 * process], verbose=0)),
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
        result = equivalence.train(
            strategy.scope,
            "pretrainer",
            accumulation_steps=2,
            steps_per_execution=5,
            total=20 * equivalence.ROWS + 6,  # rows, the last of which 4 devices can't divide
        )
        tuned = finetuned()
        files, tuned["timed"] = len(replaced), timed()
        tuned["refused"] = refused() if PLACES + "PROCESS_ID" in os.environ else None
    said = describe_training(strategy, BATCH, make_classifier()[0])
    result = {"equivalence": result, "said": said, "files": files, **tuned}
    print(json.dumps(result), flush=True)
