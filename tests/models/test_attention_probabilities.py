"""What each token attends to: sums, hidden keys, packed rows, causal encoders, and transformers."""

import keras
import numpy as np
import pytest

from keras_bert import BertBackbone

SIZE = {"num_layers": 2, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16}
IDS = np.array([[2, 7, 8, 3, 0, 0], [2, 9, 7, 6, 5, 3]])
MASK = (IDS > 0).astype("int32")


def probabilities(backbone, **inputs):
    found = backbone.attention_probabilities({"token_ids": IDS, **inputs})
    return np.stack([keras.ops.convert_to_numpy(layer) for layer in found])  # [L, B, N, S, S]


def test_tokens_attend_to_tokens_alone(assert_close, varied):
    backbone = varied(BertBackbone(10, **SIZE))
    found = probabilities(backbone, padding_mask=MASK)
    assert found.shape == (2, 2, 2, 6, 6) and found.dtype == np.float32
    assert_close(found.sum(-1), np.ones(found.shape[:-1]))
    assert not found[:, 0, ..., 4:].any() and found[:, 1].all()
    alone = probabilities(backbone)[:, 1]
    assert_close(found[:, 1], alone)


def test_a_packed_sequence_attends_to_itself_and_a_causal_token_to_none_after_it(varied):
    ids = np.array([[1, 1, 1, 2, 2, 0], [1, 1, 2, 2, 2, 2]])
    found = probabilities(varied(BertBackbone(10, **SIZE)), sequence_ids=ids)
    is_other = (ids[:, :, None] != ids[:, None, :])[None, :, None]
    assert not found[np.broadcast_to(is_other, found.shape)].any()

    found = probabilities(varied(BertBackbone(10, causal=True, **SIZE)))
    assert not np.triu(found, 1).any() and (np.tril(found) > 0).sum() == 2 * 2 * 2 * 21


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_they_are_those_of_transformers(
    assert_close, causal, torch, transformers, tmp_path, varied
):
    backbone = varied(BertBackbone(10, causal=causal, **SIZE))
    backbone.save_to_hugging_face(tmp_path / "theirs")
    theirs = transformers.BertModel.from_pretrained(
        tmp_path / "theirs", attn_implementation="eager"
    ).eval()
    with torch.no_grad():
        expected = theirs(torch.tensor(IDS), torch.tensor(MASK), output_attentions=True).attentions
    for found, wanted in zip(probabilities(backbone, padding_mask=MASK), expected, strict=True):
        is_token = np.broadcast_to(MASK[:, None, :, None] > 0, found.shape)
        assert_close(found[is_token], wanted.numpy()[is_token])
