"""Inputs that a caller may leave out, and those of packed rows, which exist in calls only."""

import keras

from keras_bert.layers.packed_rows import packed_rows
from keras_bert.preprocessing.forms import is_raw
from keras_bert.preprocessing.prepared_inputs import OPTIONAL, PACKED, check_names


class RowInputs:
    """Mixin of functional models that lets callers leave out inputs, and give packed rows."""

    takes_packed_rows = True  # False if a head combines vectors of several tokens

    def __call__(self, inputs, *args, **kwargs):
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None, mask=None):  # JAX's trainer calls this alone
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return super().call(inputs, training=training, mask=mask)

    def train_on_batch(self, x, *args, **kwargs):
        _check_prepared(x)
        return super().train_on_batch(x, *args, **kwargs)

    def test_on_batch(self, x, *args, **kwargs):
        _check_prepared(x)
        return super().test_on_batch(x, *args, **kwargs)

    def compute_output_spec(self, inputs, **kwargs):  # Keras's fails at inputs that are None
        if isinstance(inputs, dict):
            inputs = {name: self.input[name] if x is None else x for name, x in inputs.items()}
        return super().compute_output_spec(inputs)


def inputs_and_packed(model, inputs):
    """Returns the inputs of a model's graph, None where Keras misses one, and those of packed rows.

    Raises:
        ValueError: if inputs are raw texts, the model has no input of a name, which Keras would
            drop, or packed rows are also padded, or belong to a graph.
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
    own = {name: x for name, x in inputs.items() if name in model.input}
    return {**{name: None for name in OPTIONAL if name in model.input}, **own}, packed


def _check_prepared(x):
    if is_raw(x):
        raise ValueError(
            "Raw texts are for a task's fit, evaluate, predict and answer; here, give what its "
            "preprocessor makes of them, model.preprocessor(texts)."
        )
