"""KerasHub's own test helpers, run against every layer, the backbone and every task.

They come with KerasHub and need `grain` (the `parity` extra). What they ask that differs here by
design is left out, with the reason; `tests/layers/test_dtype.py` and `tests/models/test_dtype.py`
check the same contract for those cases.
"""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert import BertBackbone
from keras_bert.layers.dense_and_norms import FeatureNormalization
from keras_bert.layers.dropout import Dropout
from keras_bert.layers.embeddings import Embeddings
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.layers.pooling import Pooling
from keras_bert.layers.self_attention import SelfAttention

pytest.importorskip("grain", reason='pip install ".[parity]"')
pytest.importorskip("tensorflow", reason="pip install tensorflow")
test_case = pytest.importorskip(
    "keras_hub.src.tests.test_case", reason="this KerasHub comes without its test helpers"
)

pytestmark = pytest.mark.slow

GENERATOR = np.random.default_rng(1)
X = ops.convert_to_tensor(GENERATOR.normal(size=(2, 5, 8)), "float32")  # the helpers need tensors
IDS = ops.convert_to_tensor(GENERATOR.integers(1, 10, (2, 5)), "int32")
MASK = ops.convert_to_tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")
PREPARED = {"token_ids": IDS, "segment_ids": 1 - MASK, "padding_mask": MASK}
SIZES = {
    "vocabulary_size": 10,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 16,
    "max_sequence_length": 8,
}
FLOAT32 = {"run_precision_checks": False}  # the output is float32 with any policy, on purpose
# Class, arguments, inputs, shape of outputs, trainable weights, seeds of dropout, what is left out.
LAYERS = {
    "embeddings": (
        Embeddings,
        {"vocabulary_size": 10, "hidden_dim": 8, "max_sequence_length": 8},
        {"token_ids": IDS, "segment_ids": 1 - MASK},
        (2, 5, 8),
        (5, 1),
        {},
    ),
    "attention": (
        SelfAttention,
        {"num_heads": 2, "hidden_dim": 8, "dropout": 0.1},
        {"x": X, "padding_mask": MASK},
        (2, 5, 8),
        (4, 1),
        {},
    ),
    "block": (
        EncoderBlock,
        {"num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16},
        {"x": X, "padding_mask": MASK},
        (2, 5, 8),
        (12, 3),
        {},
    ),
    "dropout": (Dropout, {"rate": 0.1}, X, (2, 5, 8), (0, 1), {}),
    "pooling": (Pooling, {"pooling": "mean"}, X, (2, 8), (0, 0), FLOAT32),
    "features": (FeatureNormalization, {}, X[:, 0], (2, 8), (0, 0, 3), {}),
}


@pytest.fixture
def helper():
    class Helper(test_case.TestCase):
        def runTest(self):
            pass

    return Helper()


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, helper):
    cls, arguments, inputs, shape, (trainable, *others), left_out = LAYERS[name]
    seeds, statistics = others[0], sum(others[1:])
    helper.run_layer_test(
        cls=cls,
        init_kwargs=arguments,
        input_data=inputs,
        expected_output_shape=shape,
        expected_num_trainable_weights=trainable,
        expected_num_non_trainable_weights=statistics,
        expected_num_non_trainable_variables=seeds + statistics,
        run_training_check=trainable > 0,
        **left_out,
    )


def test_the_masked_lm_head(helper):
    table = keras.layers.ReversibleEmbedding(10, 8, name="table")
    table.build()
    helper.run_layer_test(
        cls=MaskedLMHead,
        init_kwargs={"token_embedding": table},
        input_data={"sequence_output": X, "mask_positions": IDS % 5},
        expected_output_shape=(2, 5, 10),
        expected_num_trainable_weights=6,
        **FLOAT32,
    )


def test_the_backbone(helper):
    helper.run_backbone_test(
        cls=BertBackbone,
        init_kwargs=SIZES,
        input_data=PREPARED,
        expected_output_shape={"sequence_output": (2, 5, 8), "pooled_output": (2, 8)},
    )


def test_the_saved_backbone(helper):
    helper.run_model_saving_test(cls=BertBackbone, init_kwargs=SIZES, input_data=PREPARED)


CHOICES = {name: ops.stack([values, values], axis=1) for name, values in PREPARED.items()}
MASKED = {**PREPARED, "mask_positions": IDS[:, :2] % 5}
TASKS = {
    "classifier": ("BertClassifier", {"num_classes": 3}, PREPARED),
    "features": (
        "BertClassifier",
        {"num_classes": 3, "num_features": 8},
        {**PREPARED, "features": X[:, 0]},
    ),
    "tags": ("BertTokenClassifier", {"num_classes": 3}, PREPARED),
    "spans": ("BertSpanLabeler", {}, PREPARED),
    "choices": ("BertMultipleChoice", {}, CHOICES),
    "documents": ("BertReranker", {}, CHOICES),
    "vectors": ("BertEmbedder", {"layers": [-1, -2], "combine": "weighted"}, PREPARED),
    "pretrainer": ("BertPretrainer", {}, MASKED),
    "untied": ("BertPretrainer", {"tie_embeddings": False}, MASKED),
}


@pytest.mark.weekly
@pytest.mark.parametrize("name", TASKS)
def test_tasks(name, helper):
    kind, arguments, inputs = TASKS[name]
    cls = getattr(keras_bert, kind)

    def with_backbone():
        return {"backbone": BertBackbone(**SIZES), **arguments}

    task = cls(**with_backbone())
    helper.run_serialization_test(task)
    helper.run_quantization_test(task, cls, with_backbone(), inputs)
    helper.run_model_saving_test(cls=cls, init_kwargs=with_backbone(), input_data=inputs)
