"""Inputs that a caller may leave out."""


def complete(inputs):
    """Adds missing optional inputs of BERT as None, because Keras needs all names."""
    if not isinstance(inputs, dict):
        return inputs
    return {"segment_ids": None, "padding_mask": None, **inputs}
