"""Steps on a device of their own, which PyTorch's "meta" device stands in for: it computes shapes.

It refuses most operations on tensors of two devices, as a GPU does. Gradients need a real one.
"""

import keras
import pytest

import keras_bert
from tests.marks import on


@on("torch")
@pytest.mark.parametrize("parts", [1, 2])
def test_batches_of_the_cpu_are_taken_to_the_models_device(parts, monkeypatch):
    import torch

    model = keras_bert.BertPretrainer(keras_bert.BertBackbone(30, 1, 2, 16, 16, dropout=0.0))
    ids, slots = torch.ones(4, 16, dtype=torch.int32), torch.ones(4, 3, dtype=torch.int32)
    x = {
        "token_ids": ids,
        "segment_ids": ids,
        "padding_mask": ids,
        "mask_positions": slots,
    }
    y = {"masked_lm": slots, "next_sentence": slots[:, 0]}
    batch = x, y, {name: labels.float() for name, labels in y.items()}
    model.compile(**model.default_compile_args())
    model.test_on_batch(*batch)  # builds metrics
    model.accumulation_steps = parts
    monkeypatch.setattr(torch.Tensor, "backward", lambda loss: None)
    with keras.device("meta"):
        for variable in [*model.variables, *model.metrics_variables]:
            variable._value = torch.nn.Parameter(variable.value.to("meta"), requires_grad=False)
        losses = []
        monkeypatch.setattr(model, "_take_step", dict)
        monkeypatch.setattr(model.optimizer, "scale_loss", lambda loss: losses.append(loss) or loss)
        model.train_step(batch)
        model.test_step(batch)
    assert [loss.device.type for loss in losses] == ["meta"] * parts
