"""The bias that MPNet adds to attention scores, by the distance between two tokens."""

import keras
import numpy as np
from keras import ops

from keras_bert.layers.dense_and_norms import bert_initializer

# Distances at which a bucket begins, 8 * 2^(k/2) from 8 on: of T5's 32, up to a distance of 128.
_BEGINS = np.array([*range(1, 9), 12, 16, 23, 32, 46, 64, 91], "int32")
NUM_BUCKETS = 2 * (len(_BEGINS) + 1)  # of earlier tokens, and of later ones


@keras.saving.register_keras_serializable(package="keras_bert")
class RelativeBias(keras.layers.Layer):
    """Bias of attention scores that depends on how far the key is before or after the query.

    Distances share 32 buckets, wider ones farther away. All layers of an encoder add the same bias.
    The sequences of a packed row lie one after another, so distances within them are those in the
    row.
    Source: Song et al. 2020, "MPNet"; Raffel et al. 2020, "T5", section 2.1;
    `compute_position_bias` of transformers modeling_mpnet.py.

    Arguments are those of `BertBackbone`.

    Call arguments:
        token_ids: `[B, S]`; only its shape is used.

    Returns:
        `[1, N, S, S]`, of queries and keys.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads

    def build(self, token_ids_shape):
        shape = (NUM_BUCKETS, self.num_heads)
        self.bias = self.add_weight(shape=shape, initializer=bert_initializer(), name="bias")

    def call(self, token_ids):
        places = ops.arange(ops.shape(token_ids)[1], dtype="int32")
        distance = ops.expand_dims(places, 0) - ops.expand_dims(places, 1)  # [S, S], query to key
        is_beyond = ops.greater_equal(ops.expand_dims(ops.abs(distance), 2), _BEGINS)  # [S, S, 15]
        bucket = ops.sum(ops.cast(is_beyond, "int32"), axis=2)
        bucket = bucket + ops.cast(distance > 0, "int32") * (NUM_BUCKETS // 2)
        chosen = ops.one_hot(bucket, NUM_BUCKETS, dtype=self.compute_dtype)  # [S, S, 32]
        bias = ops.matmul(chosen, self.bias)  # [S, S, N], and no scatter for the gradient
        return ops.expand_dims(ops.transpose(bias, (2, 0, 1)), 0)  # [1, N, S, S]
