"""Prediction of batches one after the other, without an input pipeline."""

from collections.abc import Callable
from typing import Any

import keras


def predict_each(
    model: keras.Model,
    batches: list[tuple[Callable[[], Any], int]],
    verbose: int | str = "auto",
    callbacks: list[keras.callbacks.Callback] | None = None,
) -> list:
    """Predicts batches like `keras.Model.predict`, and returns a list of their outputs.

    A batch is a function that makes its inputs, and the number of rows to return; the others
    are padding. The list of outputs ends where a callback sets `stop_predicting`.
    """
    callbacks = keras.callbacks.CallbackList(
        callbacks,
        add_progbar=verbose != 0,
        verbose=verbose,
        epochs=1,
        steps=len(batches),
        model=model,
    )
    results = []
    model.stop_predicting = False
    callbacks.on_predict_begin()
    for step, (make_inputs, rows) in enumerate(batches):
        callbacks.on_predict_batch_begin(step)
        outputs = model.predict_on_batch(make_inputs())
        outputs = keras.tree.map_structure(lambda array, rows=rows: array[:rows], outputs)
        if callbacks.callbacks:  # Keras copies what it shows
            callbacks.on_predict_batch_end(step, {"outputs": outputs})
        results.append(outputs)
        if model.stop_predicting:
            break
    callbacks.on_predict_end()
    return results
