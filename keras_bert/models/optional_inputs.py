"""Inputs that a caller may leave out."""


class OptionalInputs:
    """Mixed into a functional model, lets callers leave `segment_ids` and `padding_mask` out.

    Keras wants an optional input to be there, as None.
    """

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(_complete(inputs), *args, **kwargs)

    def call(self, inputs, training=None, mask=None):
        return super().call(_complete(inputs), training=training, mask=mask)


def _complete(inputs):
    if not isinstance(inputs, dict):
        return inputs
    return {"segment_ids": None, "padding_mask": None, **inputs}
