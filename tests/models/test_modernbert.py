"""ModernBERT beside transformers: every head, its gradients, its files; and what it refuses."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert import (
    BertClassifier,
    BertEmbedder,
    BertMultipleChoice,
    BertPretrainer,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    ModernBertBackbone,
)

SIZES = {"vocab_size": 60, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 5}
SIZES |= {"num_attention_heads": 2, "max_position_embeddings": 400, "local_attention": 16}
LENGTH = 40  # five blocks of a window
NO_TOKENS = dict.fromkeys(f"{role}_token_id" for role in ("pad", "bos", "eos", "cls", "sep"))
ODD = {"hidden_size": 24, "intermediate_size": 10, "local_attention": 10, "norm_eps": 1e-3}
ODD |= {"classifier_pooling": "mean", "hidden_activation": "relu", "classifier_activation": "relu"}
HEADS = [
    ("Model", {}, ModernBertBackbone),
    ("ForMaskedLM", {}, BertPretrainer),
    ("ForMaskedLM", {"tie_word_embeddings": False}, BertPretrainer),
    ("ForSequenceClassification", {"num_labels": 3, **ODD}, BertClassifier),
    ("ForTokenClassification", {"num_labels": 3}, BertTokenClassifier),
    ("ForQuestionAnswering", {"num_labels": 2}, BertSpanLabeler),
    ("ForMultipleChoice", {"classifier_dropout": 0.3}, BertMultipleChoice),
]


@pytest.fixture
def make_modern(torch, transformers, tmp_path):
    """Makes a random ModernBERT of transformers, and saves it to the folder "theirs"."""

    def make(head, **config):
        torch.manual_seed(1)
        config = transformers.ModernBertConfig(**{**SIZES, **NO_TOKENS, **config})
        theirs = getattr(transformers, f"ModernBert{head}")(config).eval()
        for name, parameter in theirs.named_parameters():
            parameter.data.normal_(float("norm.weight" in name), 0.2)
        theirs.save_pretrained(tmp_path / "theirs")
        return theirs

    return make


@pytest.fixture
def rows():
    """Two rows, the second of them with padding, for both libraries."""
    ids = np.random.default_rng(3).integers(5, 60, (2, LENGTH)).astype("int32")
    padding_mask = np.ones_like(ids)
    padding_mask[1, 22:] = 0
    return {"token_ids": ids, "padding_mask": padding_mask}


def outputs_of(model, rows, torch):
    """What a model of theirs or ours gives for the tokens of rows, one array."""
    x, kind = dict(rows), type(model).__name__
    if "MultipleChoice" in kind:
        x = {name: values[None] for name, values in x.items()}
    if isinstance(model, keras.Model):
        if isinstance(model, BertPretrainer):
            x["mask_positions"] = np.tile(np.arange(LENGTH, dtype="int32"), (2, 1))
        given = model(x, training=False)
        if isinstance(given, dict):  # whose order is the backend's
            names = ("sequence_output", "masked_lm", "start", "end")
            given = [given[name] for name in names if name in given]
        else:
            given = [given]
        given = [ops.convert_to_numpy(each) for each in given]
    else:
        names = {"token_ids": "input_ids", "padding_mask": "attention_mask"}
        with torch.no_grad():
            given = model(**{names[name]: torch.tensor(values) for name, values in x.items()})
        given = [each.numpy() for each in given.to_tuple()]
    is_token = rows["padding_mask"] == 1
    return np.concatenate(
        [np.ravel(each[is_token] if each.shape[:2] == (2, LENGTH) else each) for each in given]
    )


@pytest.mark.parametrize(("head", "config", "ours"), HEADS)
def test_every_head_comes_and_goes(
    head, config, ours, make_modern, rows, torch, transformers, assert_close, tmp_path
):
    theirs = make_modern(head, **config)
    model = ours.from_preset(tmp_path / "theirs")
    new = {"head/dense/kernel", "head/norm/gamma"} if head == "Model" else set()
    assert set(model.load_report.new) == new and not model.load_report.left_over
    expected = outputs_of(theirs, rows, torch)
    assert_close(outputs_of(model, rows, torch), expected, sums=4000)
    model.save_to_hugging_face(tmp_path / "ours")
    back, said = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(said.values())
    state = back.state_dict()
    for name, value in theirs.state_dict().items():
        assert (state[name] == value).all(), name
    assert_close(outputs_of(back.eval(), rows, torch), expected)  # bits depend on PyTorch's threads
    again = (ours if head == "Model" else BertTask).from_preset(tmp_path / "ours")
    assert type(again) is ours and not again.load_report.new
    assert model.backbone.get_config() | {"name": 0} == again.backbone.get_config() | {"name": 0}


def test_older_files_say_the_same(make_modern, tmp_path):
    kinds = ["full_attention", *["sliding_attention"] * 3, "full_attention"]
    make_modern("Model", layer_types=kinds)
    new = ModernBertBackbone.from_preset(tmp_path / "theirs")
    path = tmp_path / "theirs" / "config.json"
    config = json.loads(path.read_text())
    del config["layer_types"], config["rope_parameters"]
    config |= {"global_attn_every_n_layers": 4, "global_rope_theta": 5e4, "local_rope_theta": 3e3}
    path.write_text(json.dumps(config))
    old = ModernBertBackbone.from_preset(tmp_path / "theirs")
    assert (new.global_every, new.global_theta, new.local_theta) == (4, 160_000, 10_000)
    assert (old.global_every, old.global_theta, old.local_theta) == (4, 50_000, 3_000)


def test_gradients_are_theirs(make_modern, rows, torch, assert_close, tmp_path):
    theirs = make_modern("ForSequenceClassification", num_labels=3)
    model = BertClassifier.from_preset(tmp_path / "theirs", dropout=0.0)
    model.backbone.remat = True
    y = np.array([2, 0])
    theirs.zero_grad()
    their_loss = theirs(
        input_ids=torch.tensor(rows["token_ids"]),
        attention_mask=torch.tensor(rows["padding_mask"]),
        labels=torch.tensor(y),
    ).loss
    their_loss.backward()
    optimizer = keras.optimizers.SGD(1.0)
    model.compile(optimizer=optimizer, run_eagerly=True)
    before = {v.path: ops.convert_to_numpy(v) for v in model.trainable_variables}
    loss = model.train_on_batch(rows, y)
    assert_close(loss[0] if isinstance(loss, list) else loss, their_loss.item(), sums=300)
    state = dict(theirs.named_parameters())
    for path, theirs_of in (
        ("embeddings/token_embedding/embeddings", "model.embeddings.tok_embeddings.weight"),
        ("block_0/attention/query_key_value/kernel", "model.layers.0.attn.Wqkv.weight"),
        ("block_3/attention_norm/gamma", "model.layers.3.attn_norm.weight"),
        ("block_4/feed_forward/values_and_gates/kernel", "model.layers.4.mlp.Wi.weight"),
        ("head/dense/kernel", "head.dense.weight"),
    ):
        [after] = [v for v in model.trainable_variables if v.path == path]
        gradient = before[path] - ops.convert_to_numpy(after)
        expected = state[theirs_of].grad.numpy()
        expected = expected.T if path.endswith("kernel") else expected
        # The difference of weights before and after is rounded to the weights' last digit.
        np.testing.assert_allclose(
            gradient, expected, rtol=0, atol=1e-4 * np.abs(expected).max() + 1e-6
        )


@pytest.fixture
def small():
    return ModernBertBackbone(
        30, num_layers=4, num_heads=2, hidden_dim=16, intermediate_dim=24, window=2
    )


def test_a_packed_row_of_many_blocks_is_read_as_its_sequences_alone(small, assert_close):
    ids = np.arange(24, dtype="int32")[None] + 5
    packed = {"token_ids": ids, "sequence_ids": np.repeat([1, 2], (13, 11))[None]}
    packed["cls_positions"] = np.array([[0, 13]])
    for pooling in ("cls", "mean"):
        config = {**small.get_config(), "pooling": pooling}
        backbone = ModernBertBackbone.from_config(config)
        found = backbone(packed)
        for place, part in enumerate((slice(0, 13), slice(13, 24))):
            alone = backbone({"token_ids": ids[:, part]})
            assert_close(found["sequence_output"][:, part], alone["sequence_output"])
            assert_close(found["pooled_output"][:, place], alone["pooled_output"])


def test_all_layers_and_probabilities_are_given(small, assert_close):
    x = {"token_ids": np.arange(12, dtype="int32")[None] + 5}
    x["padding_mask"] = (np.arange(12) < 10)[None]
    states, seen = small.hidden_states(x), small.attention_probabilities(x)
    assert len(states) == 5 and len(seen) == 4
    assert_close(states[-1], small(x)["sequence_output"])
    for layer, probabilities in enumerate(seen):
        probabilities = ops.convert_to_numpy(probabilities)
        assert_close(probabilities.sum(-1), np.ones((1, 2, 12)))
        assert not probabilities[..., 10:].any()
        assert (probabilities[0, 0, 0, 3] > 0) == (layer % 3 == 0)


def test_initial_weights_are_smaller_before_residuals():
    wide = ModernBertBackbone(400, 8, 2, 128, 200)
    for name, deviation in (("query_key_value", 0.02), ("output_dense", 0.005)):
        [kernel] = [v for v in wide.blocks[1].attention.variables if name in v.path]
        values = ops.convert_to_numpy(kernel)
        outside = abs(values) > 2 * deviation + 1e-7
        # On PyTorch, Keras takes the first of four normal draws that lies inside, if one does.
        assert outside.mean() <= (1e-4 if keras.backend.backend() == "torch" else 0)
        assert values.std() == pytest.approx(0.88 * deviation, rel=0.05)  # without its tails
    assert not [v.path for v in wide.variables if v.path.endswith(("bias", "beta"))]


def test_layers_are_kept_in_their_order(small, tmp_path, refused):
    task = BertEmbedder(small)
    task.save_to_preset(tmp_path / "own")
    small.save_to_hugging_face(tmp_path / "theirs")
    for folder in ("own", "theirs"):
        load = BertEmbedder.from_preset
        kept = load(tmp_path / folder, keep_layers=(0, 2)).backbone
        assert [block.window for block in kept.blocks] == [None, 2]
        for layers in ((1,), (0, 3), (1, 2)):
            refused("must begin with 0 and have one", load, tmp_path / folder, keep_layers=layers)


CONFIGS = [
    ({"attention_bias": True}, "attention_bias.*True"),
    ({"norm_bias": True}, "norm_bias.*True"),
    ({"decoder_bias": False}, "decoder_bias.*False"),
    ({"classifier_activation": "silu"}, "classifier_activation.*silu"),
    ({"hidden_activation": "snake"}, "hidden_activation.*snake"),
    ({"classifier_pooling": "max"}, "classifier_pooling.*max"),
    ({"layer_types": ["sliding_attention", "full_attention"]}, "layer_types"),
    ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_type.*yarn"),
    ({"rope_scaling": {"factor": 2.0}}, "rope_scaling"),
]


def test_files_of_another_architecture_are_refused(small, tmp_path, refused):
    small.save_to_hugging_face(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for changed, message in CONFIGS:
        (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
        refused(message, ModernBertBackbone.from_preset, tmp_path)


def test_wrong_arguments_are_refused(small, refused):
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 24}
    for changed, message in (
        ({"pooling": "max"}, "pooling.*max"),
        ({"window": 0}, "window must be at least 1"),
        ({"num_heads": 3}, "hidden_dim=16 and num_heads=3"),
        ({"num_heads": 16}, "head_dim must be even; got 1"),
        ({"relative_bias": True}, "relative_bias"),
    ):
        refused(message, ModernBertBackbone, 30, **{**sizes, **changed})
    short = ModernBertBackbone(30, **sizes, max_sequence_length=8)
    refused("Sequences of 9 tokens don't fit", short, {"token_ids": np.ones((1, 9), "int32")})
    refused("no next sentences: pass next_sentence=False", BertPretrainer, small)
