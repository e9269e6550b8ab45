"""Inputs that a caller may leave out."""


def complete(inputs):
    """Adds the optional inputs of BERT that are missing, as None: Keras wants them to be there."""
    if not isinstance(inputs, dict):
        return inputs
    return {"segment_ids": None, "padding_mask": None, **inputs}
