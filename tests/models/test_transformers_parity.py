"""Our models give what Hugging Face's give with the same weights: an independent reference."""

import keras
import numpy as np
import pytest

from keras_bert import AdamW, BertPretrainer

pytestmark = pytest.mark.slow

BLOCK = {
    "attention/query_key_value": [f"attention.self.{part}" for part in ("query", "key", "value")],
    "attention/output_dense": ["attention.output.dense"],
    "attention_norm": ["attention.output.LayerNorm"],
    "intermediate_dense": ["intermediate.dense"],
    "output_dense": ["output.dense"],
    "output_norm": ["output.LayerNorm"],
}
OUTSIDE = {
    "embeddings/token_embedding": ["bert.embeddings.word_embeddings"],
    "embeddings/segment_embedding": ["bert.embeddings.token_type_embeddings"],
    "embeddings/position_embedding": ["bert.embeddings.position_embeddings"],
    "embeddings/norm": ["bert.embeddings.LayerNorm"],
    "pooler": ["bert.pooler.dense"],
    "masked_lm/dense": ["cls.predictions.transform.dense"],
    "masked_lm/norm": ["cls.predictions.transform.LayerNorm"],
    "masked_lm": ["cls.predictions"],
    "next_sentence": ["cls.seq_relationship"],
}
KINDS = {"kernel": "weight", "gamma": "weight", "beta": "bias", "embeddings": "weight"}


def their_weight(path, theirs):
    """The value that a weight of ours has in a `BertForPreTraining`, by its path."""
    layer, kind = path.rsplit("/", 1)
    if layer.startswith("block_"):
        block, layer = layer.split("/", 1)
        prefix = f"bert.encoder.layer.{block.removeprefix('block_')}."
        names = [prefix + name for name in BLOCK[layer]]
    else:
        names = OUTSIDE[layer]
    values = [theirs[f"{name}.{KINDS.get(kind, kind)}"].numpy() for name in names]
    return np.concatenate([value.T if kind == "kernel" else value for value in values], axis=-1)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs the parity extra (torch)")


def make_pair(torch, make_backbone, activation):
    """Their model and ours, with the same random weights."""
    transformers = pytest.importorskip("transformers", reason="needs the parity extra")
    config = transformers.BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        hidden_act=activation,
    )
    theirs = transformers.BertForPreTraining(config).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.normal_(0.1, 0.3, generator=generator)
    ours = BertPretrainer(
        make_backbone(activation={"gelu": "gelu", "gelu_new": "gelu_approximate"}[activation])
    )
    state = theirs.state_dict()
    for weight in ours.trainable_weights:
        weight.assign(their_weight(weight.path, state))
    return theirs, ours


def their_batch(torch, x, y, weights):
    """A pre-training batch as the arguments of a `BertForPreTraining`: labels lie at positions."""
    used = weights["masked_lm"] == 1
    rows = np.arange(len(used))[:, None].repeat(used.shape[1], axis=1)
    labels = np.full(x["token_ids"].shape, -100)
    labels[rows[used], x["mask_positions"][used]] = y["masked_lm"][used]
    return {
        "input_ids": torch.tensor(x["token_ids"]),
        "token_type_ids": torch.tensor(x["segment_ids"]),
        "attention_mask": torch.tensor(x["padding_mask"]),
        "labels": torch.tensor(labels),
        "next_sentence_label": torch.tensor(y["next_sentence"], dtype=torch.long),
    }


@pytest.mark.parametrize("activation", ["gelu", "gelu_new"])
def test_outputs_and_losses_equal_those_of_transformers(
    torch, make_backbone, pretraining_batch, activation
):
    theirs, ours = make_pair(torch, make_backbone, activation)
    x, y, weights = pretraining_batch
    with torch.no_grad():
        expected = theirs(**their_batch(torch, x, y, weights), output_hidden_states=True)
    outputs = ours.predict(x, verbose=0)
    masked_lm = expected.prediction_logits.numpy()[np.arange(8)[:, None], x["mask_positions"]]
    np.testing.assert_allclose(outputs["masked_lm"], masked_lm, atol=1e-5)
    next_sentence = expected.seq_relationship_logits.numpy()
    np.testing.assert_allclose(outputs["next_sentence"], next_sentence, atol=1e-5)
    encoded = {name: x[name] for name in ("token_ids", "segment_ids", "padding_mask")}
    sequence_output = ours.backbone.predict(encoded, verbose=0)["sequence_output"]
    tokens = x["padding_mask"] == 1
    np.testing.assert_allclose(
        sequence_output[tokens], expected.hidden_states[-1].numpy()[tokens], atol=1e-5
    )
    loss = ours.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(loss, float(expected.loss), rtol=1e-5)


def test_training_steps_equal_those_of_transformers_and_torch(
    torch, make_backbone, pretraining_batch
):
    theirs, ours = make_pair(torch, make_backbone, "gelu")
    for layer in ours._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    decay, no_decay = [], []
    for name, parameter in theirs.named_parameters():
        (no_decay if "bias" in name or "LayerNorm" in name else decay).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}],
        lr=1e-3,
        eps=1e-6,
    )
    ours.compile(**{**ours.default_compile_args(), "optimizer": AdamW(1e-3)})
    x, y, weights = pretraining_batch
    batch = their_batch(torch, x, y, weights)
    for _ in range(3):
        theirs(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ours.fit(x, y, sample_weight=weights, verbose=0)
    state = theirs.state_dict()
    for weight in ours.trainable_weights:
        expected = their_weight(weight.path, state)
        actual = keras.ops.convert_to_numpy(weight)
        if weight.path.endswith("query_key_value/bias"):
            # The key's bias has no effect: its gradient is rounding, which Adam makes a step of.
            actual, expected = (np.delete(part, slice(16, 32)) for part in (actual, expected))
        np.testing.assert_allclose(actual, expected, atol=3e-5, err_msg=weight.path)
