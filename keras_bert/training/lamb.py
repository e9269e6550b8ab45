"""An optimizer for very large batches."""

from typing import Any

import keras
from keras import ops

from keras_bert.saved import registered
from keras_bert.training.adamw import AdamW

# Their last axis holds queries, keys and values; `lora_kernel_a`'s last axis is LoRA's rank.
_IN_THREE_PARTS = ("query_key_value/kernel", "query_key_value/lora_kernel_b")


@registered
class Lamb(AdamW):
    """The LAMB optimizer, which trained BERT with batches of 32,768 and 65,536.

    AdamW's update u of a weight w, including decay, is scaled to the weight's own norm:

        w <- w - r * |w| / |u| * u

    Weights that don't decay, biases and LayerNorm weights, aren't scaled either. If a norm is 0,
    the factor is 1. Queries, keys and values share one array, but each is scaled by its own norms,
    as are LoRA's additions to each.

    Source: You et al. 2020, algorithm 2, with the authors' code for clipping at a norm of 1 first
    and for weights that aren't scaled.

    Args:
        learning_rate: float, or a `keras.optimizers.schedules.LearningRateSchedule`.
        **kwargs: arguments of `AdamW`.

    Example:
    >>> optimizer = Lamb(learning_rate=1.76e-3, weight_decay=0.01)
    >>> Lamb.from_config(optimizer.get_config()).epsilon
    1e-06
    """

    has_kernels = False

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 1e-3,
        name: str = "lamb",
        **kwargs: Any,
    ):
        super().__init__(learning_rate, name=name, **kwargs)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._num_parts = []
        for variable in variables:
            self._num_parts.append(3 if variable.path.endswith(_IN_THREE_PARTS) else 1)

    def direction(self, gradient: Any, weight: Any, index: int) -> Any:
        update = super().direction(gradient, weight, index)
        if self._decays[index]:
            update = update * _trust(weight, update, self._num_parts[index])
        return update


def _trust(weight, update, parts):
    """Computes |w| / |u| for each part of the last axis."""
    width = weight.shape[-1] // parts

    def norms(values):
        values = ops.reshape(values, (-1, parts, width))
        return ops.sqrt(ops.sum(ops.square(values), axis=[0, 2]))  # [parts]

    weight_norm = norms(weight)
    update_norm = norms(update)
    has_norms = (weight_norm > 0) & (update_norm > 0)
    ratio = weight_norm / ops.maximum(update_norm, 1e-30)
    trust = ops.where(has_norms, ratio, ops.ones_like(ratio))
    return ops.repeat(trust, width)
