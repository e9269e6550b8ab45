"""The encoder of BERT, DistilBERT, ELECTRA, RoBERTa and MPNet."""

from keras_bert.layers.dense_and_norms import EPSILON, dense
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.gelu import activation_function
from keras_bert.layers.packed_rows import ClsVectors, packed_rows
from keras_bert.messages import check_int, check_one_of, plain_int
from keras_bert.models.backbone import Backbone, token_inputs
from keras_bert.models.precision import own_policy, set_policy
from keras_bert.models.row_inputs import inputs_and_packed
from keras_bert.presets.formats.architectures import OF_BERTS
from keras_bert.saved import registered


@registered
class BertBackbone(Backbone):
    """The Transformer encoder with its pooler.

    All tasks build on it, and your own tasks can too. It is also DistilBERT's encoder, with
    `num_segments=0, pooler_activation="relu"`, ELECTRA's, with `pooler_activation="gelu"` and
    perhaps an `embedding_dim`, that of RoBERTa, XLM-RoBERTa and CamemBERT, with `num_segments=1`,
    and that of MPNet, with `num_segments=0, relative_bias=True`. `from_preset` sets these and the
    `architecture`. None of these is pre-trained with a pooler: in transformers it belongs to the
    head that classifies sequences, and without that head it is new.
    Source: Devlin et al. 2019, section 3; google-research/bert modeling.py; Sanh et al. 2019,
    "DistilBERT", section 3; Clark et al. 2020, "ELECTRA", section 3; Conneau et al. 2020, "XLM-R";
    Song et al. 2020, "MPNet".

    Args:
        vocabulary_size: int, V, the number of tokens in the vocabulary.
        num_layers: int, number of encoder blocks.
        num_heads: int, N, attention heads of each block; they divide `hidden_dim`.
        hidden_dim: int, H, the width of a token's vector.
        intermediate_dim: int, I, the width between a block's two dense layers; usually 4 H.
        dropout: float, for the whole encoder.
        max_sequence_length: int, rows of the position table.
        num_segments: int, rows of the segment table; 0 for an encoder without one, which has no
            input `segment_ids` and ignores them.
        activation: `"gelu"` (exact), `"gelu_approximate"` (tanh), or a name from Keras.
        attention_dropout: float, for the attention probabilities; None means `dropout`.
        layer_norm_epsilon: float, added to the variance in each LayerNorm.
        remat: bool, whether training recomputes each block for the gradients instead of keeping its
            intermediate results. This saves memory and costs a second forward pass. It can also be
            set later: `backbone.remat = True`.
        embedding_dim: int, E, the width of the embedding tables and their LayerNorm, which a dense
            layer projects to `hidden_dim`; None means `hidden_dim`, without a projection.
        pooler_activation: `"tanh"`, or a name as for `activation`.
        relative_bias: bool, whether each head adds to its scores a trained bias by the distance
            between two tokens, the same in all blocks. JAX's fused kernels for GPUs and TPUs don't
            take it, so plain attention runs there.
        architecture: the `model_type` of transformers' files, which `save_to_hugging_face` writes:
            `"bert"`, `"distilbert"`, `"electra"`, `"xlm-roberta"`, `"camembert"`, `"roberta"` or
            `"mpnet"`. None means that they can't hold the encoder, such as a subclass with layers
            of its own.
        dtype: the dtype policy of all layers: a name such as `"mixed_bfloat16"`, a
            `keras.DTypePolicy`, or a `DTypePolicyMap` of layers' paths. None means Keras's global
            policy, which isn't saved.
        **kwargs: `name` and `trainable`.

    Call arguments:
        inputs: a dict of
            `token_ids`: `[B, S]` int32;
            `segment_ids`: `[B, S]` int32, 0 for the first text and 1 for the second; optional;
            `padding_mask`: `[B, S]` int32, 1 at tokens and 0 at padding; optional.
        Packed rows hold several sequences. In place of `padding_mask` they have, in calls only and
        not in `backbone.input`,
            `sequence_ids`: `[B, S]` int32, 1 at the tokens of a row's first sequence, 2 at those of
                the second, and so on; 0 at padding. A token sees only its own sequence, and
                positions restart with each sequence;
            `cls_positions`: `[B, K]` int32, the position of each sequence's [CLS] token; 0 in
                unused slots. Only the `pooled_output` needs it.

    Returns:
        A dict of `sequence_output`, `[B, S, H]`, and `pooled_output`, `[B, H]`, or `[B, K, H]` with
        `cls_positions`.

    Raises:
        ValueError: if a size is below 1, `num_heads` doesn't divide `hidden_dim`, a sequence is
            longer than `max_sequence_length`, or `dtype` quantizes every layer.

    Example:
    >>> import numpy as np
    >>> from keras_bert import BertBackbone, sizes
    >>> backbone = BertBackbone(vocabulary_size=100, **sizes.tiny)
    >>> token_ids = np.array([[2, 17, 42, 3, 0]])
    >>> outputs = backbone({"token_ids": token_ids, "padding_mask": token_ids != 0})
    >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
    ((1, 5, 128), (1, 128))
    """

    size_names = (
        *Backbone.size_names,
        "num_layers",
        "intermediate_dim",
        "num_segments",
        "embedding_dim",
    )

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        max_sequence_length=512,
        num_segments=2,
        activation="gelu",
        attention_dropout=None,
        layer_norm_epsilon=EPSILON,
        remat=False,
        embedding_dim=None,
        pooler_activation="tanh",
        relative_bias=False,
        architecture="bert",
        dtype=None,
        **kwargs,
    ):
        sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim)
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim = map(plain_int, sizes)
        max_sequence_length = plain_int(max_sequence_length)
        num_segments = plain_int(num_segments)
        embedding_dim = plain_int(embedding_dim)
        check_int("num_layers", num_layers)
        check_one_of("architecture", architecture, (None, *OF_BERTS))
        policy = own_policy(dtype)
        embeddings = Embeddings(
            vocabulary_size,
            hidden_dim,
            max_sequence_length=max_sequence_length,
            num_segments=num_segments,
            dropout=dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            embedding_dim=embedding_dim,
            bias_heads=num_heads if relative_bias else 0,
            name="embeddings",
            dtype=policy,
        )
        blocks = [
            EncoderBlock(
                num_heads,
                hidden_dim,
                intermediate_dim,
                dropout=dropout,
                activation=activation,
                attention_dropout=attention_dropout,
                layer_norm_epsilon=layer_norm_epsilon,
                remat=remat,
                name=f"block_{i}",
                dtype=policy,
            )
            for i in range(num_layers)
        ]
        pooler = dense(hidden_dim, "pooler", activation_function(pooler_activation), policy)
        cls_vectors = ClsVectors(name="cls_vectors", dtype=policy)

        names = ["token_ids", "segment_ids", "padding_mask"]
        if not num_segments:
            names.remove("segment_ids")
        inputs = token_inputs(names)
        x = _states(embeddings, blocks, inputs)[-1]  # [B, S, H]
        first = cls_vectors(x)  # [B, H]
        super().__init__(
            inputs=inputs,
            outputs={"sequence_output": x, "pooled_output": pooler(first)},
            embeddings=embeddings,
            blocks=blocks,
            vocabulary_size=vocabulary_size,
            hidden_dim=hidden_dim,
            max_sequence_length=max_sequence_length,
            **kwargs,
        )
        set_policy(self, dtype, policy)
        self.pooler = pooler
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.num_segments = num_segments
        self.activation = activation
        self.attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.embedding_dim = embedding_dim
        self.pooler_activation = pooler_activation
        self.relative_bias = bool(relative_bias)
        self.architecture = architecture

    def hidden_states(self, inputs):
        """Computes the outputs of all layers, a list of `num_layers + 1` tensors `[B, S, H]`.

        Number 0 comes from the embeddings and number i from the i-th block, as in transformers. The
        inputs may be Keras tensors such as `backbone.input`, to build a new model.
        """
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return _states(self.embeddings, self.blocks, inputs)

    def attention_probabilities(self, inputs):
        """Computes the attention probabilities of inference, a list of float32 `[B, N, S, S]`.

        There is one for each layer, without dropout, as transformers' `output_attentions`; the
        third axis is the query's. Padding attends too; nothing attends to it.
        """
        masks = inputs.get("padding_mask"), inputs.get("sequence_ids")
        states = self.hidden_states(inputs)
        bias = self.embeddings.position_bias(inputs["token_ids"])
        return [
            block.attention.probabilities(state, *masks, bias)
            for block, state in zip(self.blocks, states, strict=False)
        ]

    @classmethod
    def least_values(cls, sizes):
        hidden = sizes["hidden_dim"]
        block = 4 * hidden * hidden + 2 * hidden * sizes["intermediate_dim"]
        rows = sizes["vocabulary_size"] + sizes["max_sequence_length"] + sizes["num_segments"]
        return sizes["num_layers"] * block + rows * (sizes.get("embedding_dim") or hidden)

    @classmethod
    def check_layers(cls, layers, config):
        pass  # blocks are interchangeable

    @property
    def token_embedding(self):
        return self.embeddings.token_embedding

    def unused_by(self, output):
        return [] if output == "pooled_output" else self.pooler.variables


def _states(embeddings, blocks, inputs):
    """Computes the outputs of the embeddings and of each block, `[B, S, H]`."""
    states = [embeddings(inputs["token_ids"], inputs.get("segment_ids"))]
    bias = embeddings.position_bias(inputs["token_ids"])
    for block in blocks:
        states.append(block(states[-1], inputs["padding_mask"], position_bias=bias))
    return states
