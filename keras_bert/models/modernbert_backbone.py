"""The encoder of ModernBERT."""

import math

from keras_bert.layers.dense_and_norms import bert_initializer, layer_norm
from keras_bert.layers.masked_lm_head import HeadTransform
from keras_bert.layers.modernbert_layers import ModernBertBlock, ModernBertEmbeddings
from keras_bert.layers.packed_rows import ClsVectors, MeanVectors, packed_rows
from keras_bert.layers.rotary import RotaryPositions
from keras_bert.messages import check_int, check_number, check_one_of, plain_int
from keras_bert.models.backbone import Backbone, token_inputs
from keras_bert.models.precision import own_policy, set_policy
from keras_bert.models.row_inputs import inputs_and_packed
from keras_bert.saved import registered


@registered
class ModernBertBackbone(Backbone):
    """The encoder of ModernBERT, Ettin and their relatives, for up to 8,192 tokens.

    LayerNorm precedes attention and the feed-forward layer, positions are rotations, feed-forward
    layers are gated, and no dense layer has a bias. Every third block sees the whole text, the
    others `window` tokens to each side. There are no segments. The head that comes before the last
    layer of each task is part of the encoder, so tasks begin with the pre-trained one.
    Source: Warner et al. 2024, "Smarter, Better, Faster, Longer"; Weller et al. 2025, "Seq vs Seq";
    modeling_modernbert.py of transformers.

    Args:
        vocabulary_size: int, V, the number of tokens in the vocabulary.
        num_layers: int, number of blocks.
        num_heads: int, N, attention heads of each block; they divide `hidden_dim`.
        hidden_dim: int, H, the width of a token's vector.
        intermediate_dim: int, I, the width of the gated activations.
        dropout: float, for the gated activations.
        attention_dropout: float, for attention probabilities and what attention adds.
        embedding_dropout: float, for the embeddings.
        max_sequence_length: int, the most tokens of a row.
        window: int, the largest distance at which a token of a local block sees another.
        global_every: int; blocks 0, `global_every`, 2 `global_every` and so on see all tokens.
        global_theta: float, `theta` of `RotaryPositions` in global blocks.
        local_theta: float, in local ones.
        activation: as of `BertBackbone`, in the gated layers and the head.
        layer_norm_epsilon: float, added to the variance in each LayerNorm.
        pooling: `"cls"` or `"mean"`, what the head reads for a sequence.
        remat: bool, as of `BertBackbone`.
        dtype: str or dtype policy, as of `BertBackbone`.
        **kwargs: `name` and `trainable`.

    Call arguments:
        inputs: a dict of `token_ids` and perhaps `padding_mask`, as of `BertBackbone`, also for
            packed rows. `segment_ids` are ignored.

    Returns:
        A dict of `sequence_output`, `[B, S, H]`, and `pooled_output`, `[B, H]`, or `[B, K, H]` with
        `cls_positions`.

    Raises:
        ValueError: if a size is below 1, `num_heads` doesn't divide `hidden_dim` to an even number,
            a row is longer than `max_sequence_length`, or `dtype` quantizes every layer.

    Example:
    >>> import numpy as np
    >>> from keras_bert import ModernBertBackbone
    >>> backbone = ModernBertBackbone(
    ...     vocabulary_size=100, num_layers=4, num_heads=2, hidden_dim=16, intermediate_dim=24
    ... )
    >>> outputs = backbone({"token_ids": np.array([[2, 17, 42, 3]])})
    >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
    ((1, 4, 16), (1, 16))
    """

    architecture = "modernbert"
    num_segments = 0
    size_names = (*Backbone.size_names, "num_layers", "intermediate_dim")

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.0,
        attention_dropout=0.0,
        embedding_dropout=0.0,
        max_sequence_length=8192,
        window=64,
        global_every=3,
        global_theta=160_000.0,
        local_theta=10_000.0,
        activation="gelu",
        layer_norm_epsilon=1e-5,
        pooling="cls",
        remat=False,
        dtype=None,
        **kwargs,
    ):
        sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim)
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim = map(plain_int, sizes)
        max_sequence_length = plain_int(max_sequence_length)
        window = plain_int(window)
        global_every = plain_int(global_every)
        check_int("num_layers", num_layers)
        check_int("max_sequence_length", max_sequence_length)
        check_int("window", window)
        check_int("global_every", global_every)
        check_number("global_theta", global_theta, at_least=1)
        check_number("local_theta", local_theta, at_least=1)
        check_one_of("pooling", pooling, ("cls", "mean"))
        policy = own_policy(dtype)
        embeddings = ModernBertEmbeddings(
            vocabulary_size,
            hidden_dim,
            max_sequence_length=max_sequence_length,
            dropout=embedding_dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            name="embeddings",
            dtype=policy,
        )
        blocks = [
            ModernBertBlock(
                num_heads,
                hidden_dim,
                intermediate_dim,
                dropout=dropout,
                attention_dropout=attention_dropout,
                activation=activation,
                layer_norm_epsilon=layer_norm_epsilon,
                remat=remat,
                window=window if i % global_every else None,
                normalizes=i > 0,
                name=f"block_{i}",
                dtype=policy,
            )
            for i in range(num_layers)
        ]
        head_dim = hidden_dim // num_heads
        rotations = {}
        for kind, theta in (("global", global_theta), ("local", local_theta)):
            name = f"{kind}_rotation"
            rotations[kind] = RotaryPositions(head_dim, theta, name=name, dtype="float32")
        final_norm = layer_norm("final_norm", layer_norm_epsilon, policy, use_bias=False)
        head = HeadTransform(
            hidden_dim, activation, layer_norm_epsilon, use_bias=False, name="head", dtype=policy
        )
        last_layers = []
        for block in blocks:
            last_layers += [block.attention.output_dense, block.feed_forward.output_dense]
        for layer in [*last_layers, head.dense]:
            layer.kernel_initializer = bert_initializer(0.02 / math.sqrt(2 * num_layers))

        inputs = token_inputs(("token_ids", "padding_mask"))
        states, _ = _states_and_turns(embeddings, rotations, blocks, inputs)
        x = final_norm(states[-1])  # [B, S, H]
        if pooling == "cls":
            pooled = ClsVectors(name="pooling", dtype=policy)(x)  # [B, H]
        else:
            mean = MeanVectors(name="pooling", dtype=policy)
            pooled = mean(x, padding_mask=inputs["padding_mask"])
        super().__init__(
            inputs=inputs,
            outputs={"sequence_output": x, "pooled_output": head(pooled)},
            embeddings=embeddings,
            blocks=blocks,
            vocabulary_size=vocabulary_size,
            hidden_dim=hidden_dim,
            max_sequence_length=max_sequence_length,
            head=head,
            **kwargs,
        )
        set_policy(self, dtype, policy)
        self.final_norm = final_norm
        self.rotations = rotations
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.embedding_dropout = embedding_dropout
        self.window = window
        self.global_every = global_every
        self.global_theta = global_theta
        self.local_theta = local_theta
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.pooling = pooling

    def hidden_states(self, inputs):
        """Computes the outputs of all layers, a list of `num_layers + 1` tensors `[B, S, H]`.

        Number 0 comes from the embeddings, number i from the i-th block; the last has the final
        LayerNorm, too.
        """
        states, _ = self._states_and_turns(inputs)
        return [*states[:-1], self.final_norm(states[-1])]

    def attention_probabilities(self, inputs):
        """Computes how much each token attends to each, as `BertBackbone`'s."""
        masks = inputs.get("padding_mask"), inputs.get("sequence_ids")
        states, turns = self._states_and_turns(inputs)
        return [
            block.attention.probabilities(block.normalized(state), *masks, rotation=turn)
            for block, state, turn in zip(self.blocks, states, turns, strict=False)
        ]

    def _states_and_turns(self, inputs):
        inputs, packed = inputs_and_packed(self, inputs)
        with packed_rows(packed):
            return _states_and_turns(self.embeddings, self.rotations, self.blocks, inputs)

    @classmethod
    def least_values(cls, sizes):
        hidden = sizes["hidden_dim"]
        block = 4 * hidden * hidden + 3 * hidden * sizes["intermediate_dim"]
        return sizes["num_layers"] * block + sizes["vocabulary_size"] * hidden

    @classmethod
    def check_layers(cls, layers, config):
        every = config["global_every"]
        sees_all = [layer % every == 0 for layer in layers]
        if layers[0] or sees_all != [i % every == 0 for i in range(len(layers))]:
            raise ValueError(
                f"Layers 0, {every}, {2 * every} and so on of this encoder see all tokens, and "
                f"layer 0 has no norm: keep_layers must begin with 0 and have one of them every "
                f"{every} layers; got {(*layers,)}."
            )

    @property
    def token_embedding(self):
        return self.embeddings.token_embedding

    def unused_by(self, output):
        return self.head.variables if output == "sequence_output" else []


def _states_and_turns(embeddings, rotations, blocks, inputs):
    """Computes the outputs of the embeddings and blocks, and the rotation of each block."""
    of_kind = {kind: layer(inputs["token_ids"]) for kind, layer in rotations.items()}
    turns = [of_kind["local" if block.window else "global"] for block in blocks]
    states = [embeddings(inputs["token_ids"])]
    for block, turn in zip(blocks, turns, strict=True):
        states.append(block(states[-1], inputs["padding_mask"], turn))
    return states, turns
