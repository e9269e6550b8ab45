"""An LSTM between a causal encoder and a head gives tokens the words after them again."""

import numpy as np
import pytest
from keras import ops

from keras_bert import BertClassifier, BertSpanLabeler, BertTask, BertTokenClassifier

TASKS = {BertClassifier: {"num_classes": 2}, BertTokenClassifier: {"num_classes": 2}}


@pytest.mark.parametrize("kind", [BertClassifier, BertTokenClassifier, BertSpanLabeler])
def test_a_task_reads_both_ways_and_is_saved(
    kind, recipe, make_backbone, randomized, inputs, assert_close, tmp_path
):
    encoder = randomized(make_backbone(causal=True, dropout=0.0))
    model = recipe("_bilstm").with_bilstm(kind(encoder, **TASKS.get(kind, {})), 4)
    randomized(model.head)
    assert len(model.trainable_variables) == len(encoder.trainable_variables) - 2 + 6 + 2

    def first(row, length):
        logits = model({name: values[row : row + 1, :length] for name, values in inputs.items()})
        logits = logits["start"] if isinstance(logits, dict) else logits
        logits = ops.convert_to_numpy(logits)
        return logits if kind is BertClassifier else logits[:, 0]

    count = int(inputs["padding_mask"][0].sum())
    assert np.abs(first(0, count) - first(0, count - 1)).max() > 1e-4, "sees later words"
    assert_close(first(0, 12), first(0, count))
    model.save_to_preset(tmp_path)
    loaded = BertTask.from_preset(tmp_path)
    assert type(loaded.backbone) is type(model.backbone) and loaded.backbone.causal
    expected, found = (np.asarray(ops.convert_to_numpy(m.head.kernel)) for m in (model, loaded))
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="sequence_ids"):
        model({"token_ids": inputs["token_ids"], "sequence_ids": inputs["padding_mask"]})
