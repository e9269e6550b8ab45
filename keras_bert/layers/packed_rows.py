"""Packed rows, which hold several sequences each. B rows, S tokens of a row, K sequences of a row.

Models have the inputs of rows with one sequence each, so that `backbone.input` is what users of
Keras expect. The inputs of packed rows exist while a model is called, as `training` does: the
layers that tell sequences apart read them here.
"""

import contextlib
import contextvars

from keras import ops

_INPUTS = contextvars.ContextVar("packed_rows", default={})  # noqa: B039 (never changed)


@contextlib.contextmanager
def packed_rows(inputs):
    """Gives layers the inputs of packed rows inside a `with` block; without any, nothing changes.

    Args:
        inputs: a dict of `sequence_ids`, `[B, S]` integers, and perhaps `cls_positions`, `[B, K]`.

    Example:
    >>> with packed_rows({"sequence_ids": [[1, 1, 2, 0]]}):
    ...     packed_input("sequence_ids").numpy().tolist()
    [[1, 1, 2, 0]]
    """
    inputs = {name: ops.convert_to_tensor(x, "int32") for name, x in inputs.items()}
    token = _INPUTS.set(inputs or _INPUTS.get())
    try:
        yield
    finally:
        _INPUTS.reset(token)


def packed_input(name, given=None):
    """Returns an input of packed rows: the given one, that of the model in a call, or None."""
    return _INPUTS.get().get(name) if given is None else given
