"""The input of BERT's encoder: the sum of token, segment and position embeddings.

MPNet also adds an attention bias that depends on the distance between two tokens.
"""

import numpy as np
from keras import ops
from keras.layers import Embedding

from keras_bert.layers.dense_and_norms import EPSILON, bert_initializer, dense, layer_norm, table
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.packed_rows import token_positions
from keras_bert.messages import check_int
from keras_bert.saved import SavedLayer, registered

# Smallest distance of each bucket, 8 * 2^(k/2) from 8 on; T5 has 32, up to a distance of 128.
_BEGINS = np.array([*range(1, 9), 12, 16, 23, 32, 46, 64, 91], "int32")
NUM_BUCKETS = 2 * (len(_BEGINS) + 1)  # of earlier tokens, and of later ones


@registered
class Embeddings(SavedLayer):
    """Sum of token, segment and position embeddings, with LayerNorm and then dropout.

    Source: Devlin et al. 2019, figure 2; `embedding_postprocessor` of google-research/bert
    modeling.py (LayerNorm before dropout). An `embedding_dim` other than `hidden_dim` is projected
    after them, as in ELECTRA.

    Arguments are those of `BertBackbone`, and `bias_heads`, int: the heads of the encoder's
    `RelativeBias`, see `position_bias`; 0 for none.

    Call arguments:
        token_ids: `[B, S]` int32 in `[0, V)`.
        segment_ids: `[B, S]` int32 in `[0, num_segments)`; None means segment 0 everywhere. Ignored
            if there is no segment table, or one of a single row.

    Returns:
        `[B, S, H]`.

    Example:
    >>> import numpy as np
    >>> from keras_bert.layers import Embeddings
    >>> tuple(Embeddings(vocabulary_size=10, hidden_dim=4)(np.array([[2, 7, 3]])).shape)
    (1, 3, 4)
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        max_sequence_length=512,
        num_segments=2,
        dropout=0.1,
        layer_norm_epsilon=EPSILON,
        embedding_dim=None,
        bias_heads=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_int("vocabulary_size", vocabulary_size)
        check_int("hidden_dim", hidden_dim)
        check_int("max_sequence_length", max_sequence_length)
        check_int("num_segments", num_segments, at_least=0)
        width = hidden_dim if embedding_dim is None else embedding_dim
        check_int("embedding_dim", width)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.dropout = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.embedding_dim = embedding_dim
        self.bias_heads = bias_heads
        dtype = self.dtype_policy
        self.token_embedding = table(vocabulary_size, width, "token_embedding", dtype=dtype)
        self.segment_embedding = self.projection = self.relative_bias = None
        if num_segments:
            self.segment_embedding = table(
                num_segments, width, "segment_embedding", Embedding, dtype
            )
        self.position_embedding = table(
            max_sequence_length, width, "position_embedding", Embedding, dtype
        )
        self.norm = layer_norm("norm", layer_norm_epsilon, dtype)
        self.output_dropout = Dropout(dropout, name="output_dropout", dtype=dtype)
        if width != hidden_dim:
            self.projection = dense(hidden_dim, "projection", dtype=dtype)
        if bias_heads:
            self.relative_bias = RelativeBias(bias_heads, name="relative_bias", dtype=dtype)

    def build(self, token_ids_shape):
        tables = (self.token_embedding, self.segment_embedding, self.position_embedding)
        for layer in (*tables, self.relative_bias):
            if layer is not None:
                layer.build(token_ids_shape)
        vectors_shape = (*token_ids_shape, self.token_embedding.output_dim)
        self.norm.build(vectors_shape)
        if self.projection is not None:
            self.projection.build(vectors_shape)

    def call(self, token_ids, segment_ids=None, training=None):
        check_length(token_ids, self.max_sequence_length)
        x = self.token_embedding(token_ids)  # [B, S, E]
        if self.segment_embedding is not None:
            if segment_ids is None or self.num_segments == 1:
                segment_ids = ops.zeros_like(token_ids)
            x = x + self.segment_embedding(segment_ids)
        positions = token_positions(token_ids)  # which restart with each sequence of a packed row
        x = x + self.position_embedding(positions)  # [1 or B, S, E]
        x = self.output_dropout(self.norm(x), training=training)
        if self.projection is not None:
            x = self.projection(x)
        return x  # [B, S, H]

    def position_bias(self, token_ids):
        """Computes the bias of the scores in all blocks, `[1, N, S, S]`; None without one."""
        if self.relative_bias is None:
            return None
        return self.relative_bias(token_ids)

    def compute_output_shape(self, token_ids_shape):
        return (*token_ids_shape, self.hidden_dim)


def check_length(token_ids, longest):
    """Raises a ValueError if rows `[B, S]` are longer than a model's positions."""
    length = token_ids.shape[1]
    if length is not None and length > longest:
        raise ValueError(
            f"Sequences of {length} tokens don't fit into the {longest} positions of this model. "
            f"Shorten them (sequence_length), or build it with max_sequence_length={length} or "
            "more."
        )


@registered
class RelativeBias(SavedLayer):
    """Bias of attention scores that depends on how far the key is before or after the query.

    Distances share 32 buckets, wider ones farther away. All layers of an encoder add the same bias.
    The sequences of a packed row lie one after another, so a distance within one equals that within
    the row.
    Source: Song et al. 2020, "MPNet"; Raffel et al. 2020, "T5", section 2.1;
    `compute_position_bias` of transformers modeling_mpnet.py.

    Arguments are those of `BertBackbone`. Uses only the shape of the ids, `[B, S]`; returns
    `[1, N, S, S]`, of queries and keys.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads

    def build(self, token_ids_shape):
        shape = (NUM_BUCKETS, self.num_heads)
        self.bias = self.add_weight(shape=shape, initializer=bert_initializer(), name="bias")

    def call(self, token_ids):
        positions = ops.arange(ops.shape(token_ids)[1], dtype="int32")
        queries = ops.expand_dims(positions, 1)
        distance = ops.expand_dims(positions, 0) - queries  # from query to key
        is_beyond = ops.greater_equal(ops.expand_dims(ops.abs(distance), 2), _BEGINS)  # [S, S, 15]
        bucket = ops.sum(ops.cast(is_beyond, "int32"), axis=2)  # [S, S]
        bucket = bucket + ops.cast(distance > 0, "int32") * (NUM_BUCKETS // 2)
        chosen = ops.one_hot(bucket, NUM_BUCKETS, dtype=self.compute_dtype)  # [S, S, 32]
        bias = ops.matmul(chosen, self.bias)  # [S, S, N]; its gradient needs no scatter
        return ops.expand_dims(ops.transpose(bias, (2, 0, 1)), 0)  # [1, N, S, S]
