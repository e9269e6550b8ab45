"""KerasHub's own test helpers, run against the backbone and every task.

They come with KerasHub and need `grain` (the `parity` extra). Its helper of layers asks what
differs here by design; `tests/layers/test_dtype.py` checks that contract.
"""

import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert import BertBackbone

pytest.importorskip("grain", reason='pip install ".[parity]"')
pytest.importorskip("tensorflow", reason="pip install tensorflow")
test_case = pytest.importorskip(
    "keras_hub.src.tests.test_case", reason="this KerasHub comes without its test helpers"
)

pytestmark = pytest.mark.slow

GENERATOR = np.random.default_rng(1)
X = ops.convert_to_tensor(GENERATOR.normal(size=(2, 8)), "float32")  # the helpers need tensors
IDS = ops.convert_to_tensor(GENERATOR.integers(1, 10, (2, 5)), "int32")
MASK = ops.convert_to_tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")
PREPARED = {"token_ids": IDS, "segment_ids": 1 - MASK, "padding_mask": MASK}
SIZES = {"vocabulary_size": 10, "num_layers": 2, "num_heads": 2, "hidden_dim": 8}
SIZES |= {"intermediate_dim": 16, "max_sequence_length": 8}


@pytest.fixture
def helper():
    class Helper(test_case.TestCase):
        def runTest(self):
            pass

    return Helper()


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
        {**PREPARED, "features": X},
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
