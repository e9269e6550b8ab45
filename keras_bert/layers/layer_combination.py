"""Combination of a token's vectors from several encoder layers."""

from keras import ops

from keras_bert.messages import check_int, check_one_of
from keras_bert.saved import SavedLayer, registered

COMBINATIONS = ("concat", "sum", "mean", "weighted")


@registered
class LayerCombination(SavedLayer):
    """Layer that combines a token's vectors from several encoder layers into one.

    Put it between the hidden states of a frozen encoder and the model that is trained on them.
    Source: Devlin et al. 2019, table 7. `"weighted"` is Peters et al. 2018 (ELMo), equation 1: a
    trainable scale times the softmax-weighted sum of the layers. It starts as the mean.

    Args:
        combine: `"concat"`, `"sum"`, `"mean"` or `"weighted"`.

    Call arguments:
        hidden_states: a list of L tensors `[B, S, H]`.

    Returns:
        `[B, S, H]` float32; `[B, S, L * H]` for `"concat"`, in the order of the list.

    Raises:
        ValueError: if the combination is unknown, or `"weighted"` gets a single layer.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import LayerCombination
    >>> hidden_states = [np.full((1, 1, 2), 1.0), np.full((1, 1, 2), 4.0)]
    >>> LayerCombination("mean")(hidden_states).numpy()
    array([[[2.5, 2.5]]], dtype=float32)
    """

    def __init__(self, combine="concat", **kwargs):
        super().__init__(**kwargs)
        check_one_of("combine", combine, COMBINATIONS)
        self.combine = combine

    def build(self, hidden_states_shape):
        if self.combine != "weighted":
            return
        count = len(hidden_states_shape)
        check_int('The number of layers of combine="weighted"', count, at_least=2)
        self.weights_before_softmax = self.add_weight(
            (count,), "zeros", "float32", name="weights_before_softmax", autocast=False
        )
        self.scale = self.add_weight((), "ones", "float32", name="scale", autocast=False)

    def call(self, hidden_states):
        states = [ops.cast(state, "float32") for state in hidden_states]  # L of [B, S, H]
        if self.combine == "concat":
            return ops.concatenate(states, axis=-1)  # [B, S, L * H]
        if self.combine == "weighted":
            weights = self.scale * ops.softmax(self.weights_before_softmax)  # [L]
            states = [weights[index] * state for index, state in enumerate(states)]
        total = sum(states)  # [B, S, H]
        return total / len(states) if self.combine == "mean" else total


def layer_places(layers, num_layers):
    """Returns the indices in `hidden_states` of layers counted from either end.

    0 is the embeddings, 1 to `num_layers` are the blocks, and -1 is the last block.
    """
    is_array = getattr(layers, "ndim", 0) == 1
    is_list = is_array or isinstance(layers, (list, tuple, range))
    if not is_list or not len(layers):
        raise ValueError(f"layers must be a list of numbers, such as [-1, -2]; got {layers!r}.")
    for layer in layers:
        check_int("Each number in layers", layer, at_least=-num_layers - 1, at_most=num_layers)
    return [int(layer) % (num_layers + 1) for layer in layers]
