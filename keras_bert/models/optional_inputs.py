"""Inputs that a caller may leave out."""


def complete(inputs):
    """Adds BERT's missing optional inputs as None, because Keras requires every name."""
    if not isinstance(inputs, dict):
        return inputs
    return {"segment_ids": None, "padding_mask": None, **inputs}
