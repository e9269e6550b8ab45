"""An encoder that isn't BERT's, as a user would write it, under every task of this library.

Normalization precedes each layer (RMSNorm), and every other layer sees near tokens alone, which is
all that it knows of positions.
"""

import keras
import pytest
from keras import ops

import keras_bert
from keras_bert import Backbone, BertTask, testing
from keras_bert.layers import ClsVectors, attention, dense, packed_input
from tests.marks import slow
from tests.test_contracts import BACKBONES


@keras.saving.register_keras_serializable(package="tests")
class OwnBlock(keras.layers.Layer):
    """Attention after an RMSNorm, with a residual."""

    def __init__(self, num_heads, hidden_dim, window=None, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.hidden_dim, self.window = num_heads, hidden_dim, window
        self.norm = keras.layers.RMSNormalization(name="norm")
        self.heads = dense(3 * hidden_dim, "heads")
        self.joined = dense(hidden_dim, "joined")

    def build(self, x_shape, padding_mask_shape=None):
        for layer in (self.norm, self.heads, self.joined):
            layer.build(x_shape)

    def call(self, x, padding_mask=None, training=None):
        shape = (*ops.shape(x)[:2], 3, self.num_heads, self.hidden_dim // self.num_heads)
        heads = ops.reshape(self.heads(self.norm(x)), shape)
        query, key, value = ops.unstack(ops.transpose(heads, (2, 0, 3, 1, 4)), 3)
        # [B, N, S, D]
        context = attention(
            query=query,
            key=key,
            value=value,
            padding_mask=padding_mask,
            sequence_ids=packed_input("sequence_ids"),
            window=self.window,
            training=training,
        )
        context = ops.transpose(context, (0, 2, 1, 3))
        return x + self.joined(ops.reshape(context, ops.shape(x)))

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return x_shape


@keras.saving.register_keras_serializable(package="tests")
class OwnBackbone(Backbone):
    """An encoder of local and global layers."""

    def __init__(self, vocabulary_size, num_layers, num_heads, hidden_dim, window=2, **kwargs):
        table = keras.layers.ReversibleEmbedding(vocabulary_size, hidden_dim, name="tokens")
        blocks = [
            OwnBlock(num_heads, hidden_dim, None if i % 2 else window, name=f"layer_{i}")
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


def make_own():
    return OwnBackbone(30, num_layers=2, num_heads=2, hidden_dim=16)


@pytest.fixture
def own():
    return make_own()


ON_ENCODERS = [  # every encoder, and every task
    ("own", "classes"),
    slow("DistilBERT", "tags"),
    slow("ELECTRA", "choices"),
    slow("ModernBERT", "vectors"),
    slow("XLM-RoBERTa", "documents"),
    slow("MPNet", "questions"),
]


@pytest.mark.parametrize(("encoder", "name"), ON_ENCODERS)
def test_each_task_keeps_its_contract_on_it(encoder, name, make_case, cases, eager):
    _, x, y, *_ = cases[name]
    task = make_case(name, {**BACKBONES, "own": make_own}[encoder]())
    testing.run_task(eager(task, **({"loss": "mse"} if name == "vectors" else {})), x, y)


def test_a_pretrainer_comes_back(own):
    testing.run_format(keras_bert.BertPretrainer.save_to_preset, keras_bert.BertPretrainer(own))


def test_it_keeps_the_contract_of_encoders():
    testing.run_backbone(make_own)


def test_frozen_blocks_are_those_of_the_task(own, refused):
    task = keras_bert.BertClassifier(own, 2)
    own.freeze()
    assert {v.path.partition("/")[0] for v in task.trainable_variables} == {"logits"}
    refused("up_to must be at most 2; got 3", own.freeze, 3)
    task.enable_lora(1)
    refused("merge_lora", own.freeze)


def test_it_takes_what_keras_takes_and_has_no_files_of_other_libraries(own, tmp_path, refused):
    keras_bert.BertClassifier(own, num_classes=2).save_to_preset(tmp_path)
    again = BertTask.from_preset(tmp_path, dtype="float32").backbone
    assert again.get_config() == {**own.get_config(), "dtype": "float32"}
    refused(
        "layers of OwnBackbone may differ",
        BertTask.from_preset,
        tmp_path,
        keep_layers=(0,),
    )
    refused("no argument remote", OwnBackbone, **own.get_config(), remote=True)
    refused("OwnBackbone", own.save_to_hugging_face, tmp_path)
    refused("OwnBackbone have no remat", setattr, own, "remat", True)
    refused("vectors of its last layer alone", own.hidden_states, own.input)


def test_a_backbone_that_breaks_the_contract_is_told_what_it_lacks(own, refused):
    sizes = {"vocabulary_size": 30, "hidden_dim": 16, "max_sequence_length": 64}
    parts = {"embeddings": own.embeddings, "blocks": own.blocks, **sizes}
    only_ids = {"token_ids": own.input["token_ids"]}
    vectors = {"sequence_output": own.output["sequence_output"]}
    pooled = {"pooled_output": own.output["pooled_output"]}
    for inputs, outputs, changed, message in (
        (only_ids, own.output, {}, r"padding_mask.*takes token_ids, has \d blocks"),
        (own.input, [*own.output.values()], {}, "in dicts.*returns"),
        (own.input, pooled, {}, r"sequence_output.*returns \{'pooled_output'"),
        (own.input, own.output, {"hidden_dim": 8}, r"\[B, S, 8\]"),
        (own.input, own.output, {"blocks": []}, "has 0 blocks"),
    ):
        refused(message, Backbone, inputs, outputs, **{**parts, **changed})
    refused(
        "BertClassifier.*pooled_output.*Backbone",
        keras_bert.BertClassifier,
        Backbone(own.input, vectors, **parts),
        num_classes=2,
    )
