"""Rows that can't be packed rows; `training/test_train_loop.py` has those that can."""

import numpy as np
import pytest

from keras_bert import BertEmbedder, BertPretrainer

ROW = {  # three sequences and three places of padding
    "token_ids": np.array([[*range(5, 26), 0, 0, 0]]),
    "sequence_ids": np.array([[1] * 5 + [2] * 7 + [3] * 9 + [0] * 3]),
}
SLOTS = {
    "mask_positions": np.array([[1, 3, 6, 13]]),
    "cls_positions": np.array([[0, 5, 12, 0]]),
}


@pytest.fixture(scope="module")
def model(make_backbone, untraced):
    return untraced(BertPretrainer(make_backbone(max_sequence_length=24)))


def test_rows_packed_wrongly_are_refused(model, refused):
    for change, message in (
        ({"sequence_ids": np.array([[1] * 5 + [3] * 19])}, r"got 3 at \[0, 5\]"),
        ({"sequence_ids": np.array([[1] * 5 + [0] + [2] * 18])}, r"got 2 at \[0, 6\]"),
        ({"sequence_ids": np.array([[1] * 20])}, "sequence_ids has shape"),
        (
            {"cls_positions": np.array([[0, 24]])},
            "cls_positions must be integers from 0 to 23",
        ),
        ({"padding_mask": np.ones((1, 24), "int32")}, "sequence_ids or padding_mask"),
    ):
        refused(message, model.predict, {**ROW, **SLOTS, **change})
    whole = {"token_ids": ROW["token_ids"], **SLOTS}
    refused("cls_positions are those of packed rows: give sequence_ids", model.predict, whole)
    embedder = BertEmbedder(model.backbone)
    refused("no input 'sequence_ids'", embedder.predict, ROW)


def test_a_dataset_packed_wrongly_is_refused(model, tensorflow):
    wrong = {**ROW, **SLOTS, "sequence_ids": np.array([[1] * 5 + [3] * 19])}
    data = tensorflow.data.Dataset.from_tensors(wrong)
    with pytest.raises(tensorflow.errors.InvalidArgumentError, match="number the sequences"):
        model.predict(data)
