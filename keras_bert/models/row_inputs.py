"""Inputs that a caller may leave out, and those of packed rows, which exist in calls only."""

import keras

from keras_bert.data.prepared_inputs import OPTIONAL, PACKED, check_names
from keras_bert.layers.packed_rows import packed_rows
from keras_bert.preprocessing.forms import is_raw


class RowInputs:
    """Mixin of functional models that lets callers leave out inputs, and give packed rows."""

    takes_packed_rows = False  # whether rows may hold several sequences

    def __call__(self, inputs, *args, **kwargs):
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None, mask=None):  # JAX's trainer calls this, not `__call__`
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return super().call(inputs, training=training, mask=mask)

    def train_on_batch(self, x, *args, **kwargs):
        _check_prepared(x)
        return super().train_on_batch(x, *args, **kwargs)

    def test_on_batch(self, x, *args, **kwargs):
        _check_prepared(x)
        return super().test_on_batch(x, *args, **kwargs)

    def compute_output_spec(self, inputs, **kwargs):  # Keras's fails on None
        if isinstance(inputs, dict):
            inputs = {name: self.input[name] if x is None else x for name, x in inputs.items()}
        return super().compute_output_spec(inputs)


def inputs_and_packed(model, inputs):
    """Splits inputs into those of the model's graph and those of packed rows.

    Optional inputs that the caller left out are None.

    Raises:
        ValueError: if inputs are raw texts; the model has no input of a name, which Keras would
            drop; rows are packed and padded, or have `cls_positions` without `sequence_ids`; or
            inputs of packed rows are Keras tensors.
    """
    _check_prepared(inputs)
    if not isinstance(inputs, dict) or inputs.keys() == model.input.keys():  # nothing is left out
        return inputs, {}
    check_names(model, inputs)
    packed = {name: inputs[name] for name in PACKED if inputs.get(name) is not None}
    if any(isinstance(x, keras.KerasTensor) for x in packed.values()):
        raise ValueError(
            f"{' and '.join(packed)} can't be inputs of a new model: build it on backbone.input. A "
            "task of this library then takes packed rows when it is called or trained."
        )
    if "sequence_ids" in packed and inputs.get("padding_mask") is not None:
        raise ValueError(
            "Give sequence_ids or padding_mask: sequence_ids are 0 at padding, so packed rows need "
            "no padding_mask."
        )
    if packed.keys() == {"cls_positions"}:
        raise ValueError("cls_positions are those of packed rows: give sequence_ids, too.")
    graph_inputs = {name: None for name in OPTIONAL if name in model.input}
    for name, values in inputs.items():
        if name in model.input:
            graph_inputs[name] = values
    return graph_inputs, packed


def _check_prepared(x):
    if is_raw(x):
        raise ValueError(
            "Raw texts are for a task's fit, evaluate, predict and answer; here, give what its "
            "preprocessor makes of them, model.preprocessor(texts)."
        )
