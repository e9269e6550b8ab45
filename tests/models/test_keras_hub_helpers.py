"""KerasHub's own test helper of backbones, run against ours.

They come with KerasHub and need `grain` (the `parity` extra). Its helper of layers asks what
differs here by design; `tests/layers/test_dtype.py` checks that contract.
"""

import numpy as np
import pytest
from keras import ops

from keras_bert import BertBackbone

pytest.importorskip("grain", reason='pip install ".[parity]"')
pytest.importorskip("tensorflow", reason="pip install tensorflow")
test_case = pytest.importorskip(
    "keras_hub.src.tests.test_case", reason="this KerasHub comes without its test helpers"
)

pytestmark = pytest.mark.slow

GENERATOR = np.random.default_rng(1)
IDS = ops.convert_to_tensor(GENERATOR.integers(1, 10, (2, 5)), "int32")  # it needs tensors
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
