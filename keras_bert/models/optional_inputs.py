"""Inputs that a caller may leave out."""

from keras_bert.preprocessing.prepared_inputs import check_names


def complete(model, inputs):
    """Adds BERT's missing optional inputs as None, because Keras requires every name.

    Raises:
        ValueError: if the model has no input of a name. Keras would drop it.
    """
    if not isinstance(inputs, dict):
        return inputs
    check_names(model, inputs)
    return {"segment_ids": None, "padding_mask": None, **inputs}
