"""Pooling of token vectors into one vector per sequence."""

from keras import ops

from keras_bert.messages import check_int, check_one_of
from keras_bert.saved import SavedLayer, registered

POOLINGS = ("mean", "max", "cls")


@registered
class Pooling(SavedLayer):
    """Layer that pools token vectors by mean, maximum or the first token, or returns them all.

    Source: Reimers and Gurevych 2019, section 3.

    Arguments are those of `BertEmbedder`. Takes vectors `[B, S, H]` and a padding mask `[B, S]`, or
    None; returns `[B, H]` float32, or `[B, S, H]` for `pooling=None`.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import Pooling
    >>> Pooling("mean")(np.array([[[1.0], [5.0], [9.0]]]), np.array([[1, 1, 0]])).numpy()
    array([[3.]], dtype=float32)
    """

    def __init__(self, pooling="mean", normalize=False, truncate_dim=None, **kwargs):
        super().__init__(**kwargs)
        check_one_of("pooling", pooling, (*POOLINGS, None))  # None: the vectors of all tokens
        if truncate_dim is not None:
            check_one_of("pooling with truncate_dim", pooling, POOLINGS)
        self.pooling = pooling
        self.normalize = normalize
        self.truncate_dim = truncate_dim

    def build(self, input_shape, *args):
        if self.truncate_dim is not None:
            check_int("truncate_dim", self.truncate_dim, at_most=input_shape[-1])

    def call(self, sequence_output, padding_mask=None):
        x = ops.cast(sequence_output, "float32")  # [B, S, H]
        if padding_mask is None:
            padding_mask = ops.ones_like(x[:, :, 0])
        is_token = ops.expand_dims(ops.cast(padding_mask, "float32"), -1)  # [B, S, 1]
        if self.pooling is None:
            pooled = x * is_token  # [B, S, H]
        elif self.pooling == "cls":
            pooled = x[:, 0, :]  # [B, H]
        elif self.pooling == "max":
            pooled = ops.max(ops.where(is_token > 0, x, -1e9), axis=1)
        else:
            count = ops.maximum(ops.sum(is_token, axis=1), 1e-9)  # [B, 1]
            pooled = ops.sum(x * is_token, axis=1) / count
        pooled = pooled[..., : self.truncate_dim]
        if not self.normalize:
            return pooled
        length = ops.sqrt(ops.sum(ops.square(pooled), axis=-1, keepdims=True))
        return pooled / ops.maximum(length, 1e-12)
