"""The perplexity of the masked-LM losses in the logs."""

import math
from typing import Any

import keras


class Perplexity(keras.callbacks.Callback):
    """Adds the perplexity of each masked-LM loss to the logs of an epoch: `e` to its power.

    `masked_lm_loss` gives `masked_lm_perplexity`, and that of `validation_data`
    `val_masked_lm_perplexity`. Put this callback before `TrainingCurves` in the list.

    Example:
    >>> logs = {"val_masked_lm_loss": 0.0}
    >>> Perplexity().on_epoch_end(0, logs)
    >>> logs["val_masked_lm_perplexity"]
    1.0
    """

    def __repr__(self):
        return "Perplexity()"

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        for prefix in ("", "val_"):
            # A model without next sentence prediction has one loss.
            names = (f"{prefix}masked_lm_loss", f"{prefix}loss")
            loss = next((logs[name] for name in names if name in logs), None)
            if loss is not None:
                logs[f"{prefix}masked_lm_perplexity"] = math.exp(min(float(loss), 700.0))
