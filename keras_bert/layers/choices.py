"""Layers for multiple choice, in which each choice is its own sequence."""

import keras
from keras import ops

from keras_bert.saved import SavedLayer, registered


@registered
class ChoicesAsRows(SavedLayer):
    """Layer that stacks the sequences of all choices along the batch axis, for an encoder.

    A dict of `[B, C, S]` tensors becomes one of `[B x C, S]`; None stays None.
    """

    def call(self, inputs):
        rows = dict(inputs)
        for name, x in inputs.items():
            if x is not None:
                rows[name] = ops.reshape(x, (-1, ops.shape(x)[-1]))  # [B x C, S]
        return rows

    def compute_output_spec(self, inputs):
        rows = dict(inputs)
        for name, x in inputs.items():
            if x is not None:
                rows[name] = keras.KerasTensor((None, x.shape[-1]), dtype=x.dtype)
        return rows


@registered
class RowsAsChoices(SavedLayer):
    """Layer that reshapes choice scores `[B x C, 1]` to logits `[B, C]` and hides missing choices.

    Only the shape of `token_ids`, `[B, C, S]`, is used. `padding_mask`, `[B, C, S]` integers or
    booleans, is true at tokens: a choice that is all padding is missing; with None, no choice is.
    """

    def call(self, scores, token_ids, padding_mask=None):
        logits = ops.reshape(ops.cast(scores, "float32"), ops.shape(token_ids)[:2])  # [B, C]
        if padding_mask is None:
            return logits
        is_there = ops.any(ops.cast(padding_mask, "bool"), axis=-1)  # [B, C]
        return ops.where(is_there, logits, -1e9)  # probability 0; a row of padding stays finite

    def compute_output_spec(self, scores, token_ids, padding_mask=None):
        return keras.KerasTensor(token_ids.shape[:2], dtype="float32")
