"""An encoder that isn't BERT's, as a user would write it, under every task of this library.

Normalization precedes each sub-layer (RMSNorm), positions are rotations (RoPE), the feed-forward
layers are gated (GeGLU), and every other layer sees near tokens alone.
"""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert import Backbone, BertTask, testing
from keras_bert.layers.attention import attention
from keras_bert.layers.dense_and_norms import dense
from keras_bert.layers.packed_rows import ClsVectors, packed_input
from tests.test_contracts import BACKBONES


# The encoder begins.
def rotated(heads, base=10_000.0):
    """Rotates pairs of numbers of heads `[B, N, S, D]` by angles that grow with the position."""
    rates = base ** (-np.arange(0, heads.shape[3], 2) / heads.shape[3])
    angles = ops.arange(ops.shape(heads)[2], dtype="float32")[:, None] * np.float32(rates)
    cosine, sine = (ops.cast(f(angles), heads.dtype) for f in (ops.cos, ops.sin))
    first, second = ops.split(heads, 2, axis=-1)
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return ops.concatenate(turned, axis=-1)


@keras.saving.register_keras_serializable(package="tests")
class RopeBlock(keras.layers.Layer):
    """Attention and a gated feed-forward layer, each after an RMSNorm and with a residual."""

    def __init__(self, num_heads, hidden_dim, intermediate_dim, window=None, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.hidden_dim, self.window = num_heads, hidden_dim, window
        self.intermediate_dim = intermediate_dim
        self.attention_norm = keras.layers.RMSNormalization(name="attention_norm")
        self.query_key_value = dense(3 * hidden_dim, "query_key_value")
        self.attention_output = dense(hidden_dim, "attention_output")
        self.feed_norm = keras.layers.RMSNormalization(name="feed_norm")
        self.gates_and_values = dense(2 * intermediate_dim, "gates_and_values")
        self.feed_output = dense(hidden_dim, "feed_output")

    def build(self, x_shape, padding_mask_shape=None):
        for layer in (self.attention_norm, self.query_key_value, self.attention_output):
            layer.build(x_shape)
        for layer in (self.feed_norm, self.gates_and_values):
            layer.build(x_shape)
        self.feed_output.build((*x_shape[:-1], self.intermediate_dim))

    def call(self, x, padding_mask=None, training=None):
        shape = (*ops.shape(x)[:2], 3, self.num_heads, self.hidden_dim // self.num_heads)
        heads = ops.reshape(self.query_key_value(self.attention_norm(x)), shape)
        query, key, value = ops.unstack(ops.transpose(heads, (2, 0, 3, 1, 4)), 3)
        context = attention(
            query=rotated(query),
            key=rotated(key),
            value=value,
            padding_mask=padding_mask,
            sequence_ids=packed_input("sequence_ids"),
            window=self.window,
            training=training,
        )  # [B, N, S, D]
        context = ops.reshape(ops.transpose(context, (0, 2, 1, 3)), ops.shape(x))
        x = x + self.attention_output(context)
        gates, values = ops.split(self.gates_and_values(self.feed_norm(x)), 2, axis=-1)
        return x + self.feed_output(ops.gelu(gates, approximate=False) * values)

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return x_shape


@keras.saving.register_keras_serializable(package="tests")
class RopeBackbone(Backbone):
    """An encoder of local and global layers."""

    def __init__(self, vocabulary_size, num_layers, num_heads, hidden_dim, window=2, **kwargs):
        table = keras.layers.ReversibleEmbedding(vocabulary_size, hidden_dim, name="tokens")
        blocks = [
            RopeBlock(num_heads, hidden_dim, 24, None if i % 2 else window, name=f"layer_{i}")
            for i in range(num_layers)
        ]
        norm = keras.layers.RMSNormalization(name="norm")
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name, optional=name != "token_ids")
            for name in ("token_ids", "padding_mask")
        }
        x = table(inputs["token_ids"])  # [B, S, H]
        for block in blocks:
            x = block(x, inputs["padding_mask"])
        x = norm(x)
        super().__init__(
            inputs,
            {"sequence_output": x, "pooled_output": ClsVectors(name="cls_vectors")(x)},
            embeddings=table,
            blocks=blocks,
            vocabulary_size=vocabulary_size,
            hidden_dim=hidden_dim,
            max_sequence_length=kwargs.pop("max_sequence_length", 64),
            **kwargs,
        )
        self.num_heads, self.window = num_heads, window

    @property
    def token_embedding(self):
        return self.embeddings


# The encoder ends.
def make_rope():
    return RopeBackbone(30, num_layers=2, num_heads=2, hidden_dim=16)


@pytest.fixture
def rope():
    return make_rope()


ON_ENCODERS = [  # every encoder, and every task
    *(("own", "classes"), ("DistilBERT", "tags"), ("ELECTRA", "choices")),
    *(("XLM-RoBERTa", "documents"), ("MPNet", "questions"), ("ModernBERT", "vectors")),
]


@pytest.mark.parametrize(("encoder", "name"), ON_ENCODERS)
def test_each_task_keeps_its_contract_on_it(encoder, name, make_case, cases, eager):
    _, x, y, *_ = cases[name]
    task = make_case(name, {**BACKBONES, "own": make_rope}[encoder]())
    testing.run_task(eager(task, **({"loss": "mse"} if name == "vectors" else {})), x, y)


def test_a_pretrainer_predicts_tokens(rope, letters, eager, tmp_path):
    reader = keras_bert.BertPreprocessor(letters, sequence_length=12)
    task = eager(keras_bert.BertPretrainer(rope, preprocessor=reader))
    best = task.fill_mask("a [MASK] c")
    task.save_to_preset(tmp_path)
    assert eager(keras_bert.BertPretrainer.from_preset(tmp_path)).fill_mask("a [MASK] c") == best


def test_it_keeps_the_contract_of_encoders():
    testing.run_backbone(make_rope)


def test_frozen_blocks_are_those_of_the_task(rope, refused):
    task = keras_bert.BertClassifier(rope, 2)
    rope.freeze()
    assert {v.path.partition("/")[0] for v in task.trainable_variables} == {"logits"}
    refused("up_to must be at most 2; got 3", rope.freeze, 3)
    task.enable_lora(1)
    refused("merge_lora", rope.freeze)


def test_it_takes_what_keras_takes_and_has_no_files_of_other_libraries(rope, tmp_path, refused):
    keras_bert.BertClassifier(rope, num_classes=2).save_to_preset(tmp_path)
    again = BertTask.from_preset(tmp_path, dtype="float32").backbone
    assert again.get_config() == {**rope.get_config(), "dtype": "float32"}
    refused("layers of RopeBackbone may differ", BertTask.from_preset, tmp_path, keep_layers=(0,))
    refused("no argument remote", RopeBackbone, **rope.get_config(), remote=True)
    refused("RopeBackbone", rope.save_to_hugging_face, tmp_path)


def test_a_backbone_that_breaks_the_contract_is_told_what_it_lacks(rope, refused):
    sizes = {"vocabulary_size": 30, "hidden_dim": 16, "max_sequence_length": 64}
    parts = {"embeddings": rope.embeddings, "blocks": rope.blocks, **sizes}
    only_ids = {"token_ids": rope.input["token_ids"]}
    vectors = {"sequence_output": rope.output["sequence_output"]}
    pooled = {"pooled_output": rope.output["pooled_output"]}
    for inputs, outputs, changed, message in (
        (only_ids, rope.output, {}, r"padding_mask.*takes token_ids, has \d blocks"),
        ([*rope.input.values()], rope.output, {}, "in dicts.*takes <KerasTensor"),
        (rope.input, [*rope.output.values()], {}, "in dicts.*returns"),
        (rope.input, pooled, {}, r"sequence_output.*returns \{'pooled_output'"),
        (rope.input, rope.output, {"hidden_dim": 8}, r"\[B, S, 8\]"),
        (rope.input, rope.output, {"blocks": []}, "has 0 blocks"),
    ):
        refused(message, Backbone, inputs, outputs, **{**parts, **changed})
    refused(
        "BertClassifier.*pooled_output.*Backbone",
        keras_bert.BertClassifier,
        Backbone(rope.input, vectors, **parts),
        num_classes=2,
    )
