"""Inputs that a caller may leave out."""

from keras import KerasTensor

from keras_bert.preprocessing.prepared_inputs import OPTIONAL, check_names


def complete(model, inputs):
    """Adds BERT's missing optional inputs as None, because Keras requires every name.

    Raises:
        ValueError: if the model has no input of a name, which Keras would drop, or packed rows are
            also padded.
    """
    if not isinstance(inputs, dict):
        return inputs
    check_names(model, inputs)
    given = {name for name, x in inputs.items() if x is not None and not isinstance(x, KerasTensor)}
    if given >= {"sequence_ids", "padding_mask"}:
        raise ValueError(
            "Give sequence_ids or padding_mask: sequence_ids are 0 at padding, so packed rows need "
            "no padding_mask."
        )
    return {**{name: None for name in OPTIONAL if name in model.input}, **inputs}


def complete_specs(model, inputs):
    """Replaces inputs that are None by the model's own symbolic ones."""
    if not isinstance(inputs, dict):
        return inputs
    return {name: model.input[name] if x is None else x for name, x in inputs.items()}
