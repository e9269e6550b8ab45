"""Our models give what Hugging Face's give with the same weights: an independent reference."""

import gc

import keras
import numpy as np
import pytest

from keras_bert import AdamW, BertBackbone, BertClassifier, BertPretrainer
from keras_bert.layers.dropout import Dropout

pytestmark = pytest.mark.slow

# Name: vocabulary, layers, width, positions, batch, length.
SIZES = {
    "tiny": (30, 2, 16, 16, 8, 12),
    "MiniLM": (30522, 6, 384, 512, 4, 16),
    "Base": (30522, 12, 768, 512, 2, 48),
    "Large": (30522, 24, 1024, 512, 2, 48),
}


@pytest.fixture
def make_theirs(torch, transformers, tmp_path):
    """Makes a random `BertForPreTraining` of theirs and a folder that it saved itself to."""

    def make(size, activation="gelu"):
        words, layers, width, positions, _, _ = SIZES[size]
        config = transformers.BertConfig(
            vocab_size=words,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=max(2, width // 64),
            intermediate_size=4 * width,
            max_position_embeddings=positions,
            hidden_act=activation,
        )
        theirs = transformers.BertForPreTraining(config).eval()
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, parameter in theirs.named_parameters():
                mean = 0.1 if size == "tiny" else float("LayerNorm.weight" in name)
                deviation = 0.3 if size == "tiny" else 0.02
                parameter.normal_(mean, deviation, generator=generator)
        theirs.save_pretrained(tmp_path)
        return theirs, tmp_path

    return make


def random_batch(size, seed=2):
    """`(x, y, sample_weight)` of pairs of several lengths, two to four predictions each."""
    words, _, _, _, batch, length = SIZES[size]
    generator = np.random.default_rng(seed)
    lengths = np.linspace(length, length // 2, batch).astype(int)[:, None]
    padding_mask = (np.arange(length) < lengths).astype("int32")
    positions = np.array([generator.permutation(n - 1)[:4] + 1 for [n] in lengths], "int32")
    weights = (np.arange(4) < generator.integers(2, 5, (batch, 1))).astype("float32")
    x = {
        "token_ids": generator.integers(5, words, (batch, length)).astype("int32") * padding_mask,
        "segment_ids": (np.arange(length) >= lengths // 2).astype("int32") * padding_mask,
        "padding_mask": padding_mask,
        "mask_positions": np.where(weights, positions, 0).astype("int32"),
    }
    y = {
        "masked_lm": generator.integers(5, words, (batch, 4)).astype("int32"),
        "next_sentence": generator.integers(0, 2, batch).astype("int32"),
    }
    return x, y, {"masked_lm": weights, "next_sentence": np.ones(batch, "float32")}


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


def what_theirs_gives(torch, theirs, batch):
    """Outputs as ours are called, the loss, and `{their name: gradient}`."""
    x, _, _ = batch
    given = theirs(**their_batch(torch, *batch), output_hidden_states=True)
    given.loss.backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    rows = np.arange(len(x["token_ids"]))[:, None]
    outputs = {
        "sequence_output": given.hidden_states[-1],
        "pooled_output": theirs.bert.pooler(given.hidden_states[-1]),
        "masked_lm": given.prediction_logits[rows, x["mask_positions"]],
        "next_sentence": given.seq_relationship_logits,
    }
    outputs = {name: value.detach().numpy() for name, value in outputs.items()}
    return outputs, float(given.loss.detach()), gradients


def gradients(model, x, y, sample_weight):
    """`{path: gradient}` of the compiled loss, without dropout, by the backend's own means."""
    variables = model.trainable_variables

    def loss_of():
        return model.compute_loss(x, y, model(x, training=False), sample_weight)

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = loss_of()
        values = map(tf.convert_to_tensor, tape.gradient(loss, [v.value for v in variables]))
    elif keras.backend.backend() == "jax":
        import jax

        def loss_at(values):
            with keras.StatelessScope(zip(variables, values, strict=True)):
                return loss_of()

        values = jax.grad(loss_at)([v.value for v in variables])
    else:
        loss_of().backward()
        values = [v.value.grad for v in variables]
    arrays = map(keras.ops.convert_to_numpy, values)
    return {v.path: array for v, array in zip(variables, arrays, strict=True)}


def worst_gradient(their_parts, ours, theirs):
    """`(relative difference, path)`: the largest of any tensor, by its own largest gradient."""
    differences = []
    for path, actual in ours.items():
        expected = their_parts(path, theirs)
        actual = np.split(actual, len(expected), axis=-1)
        scales = [np.abs(part).max() for part in expected]
        if path.endswith("query_key_value/bias"):
            scales[1] = scales[0]  # the key's bias has no effect: its gradient is rounding alone
        for part, reference, scale in zip(actual, expected, scales, strict=True):
            differences.append((float(np.abs(part - reference).max() / scale), path))
    return max(differences)


@pytest.mark.parametrize(
    ("size", "activation"),
    [("tiny", "gelu"), ("tiny", "gelu_new"), ("tiny", "relu"), ("Base", "gelu"), ("Large", "gelu")],
)
def test_outputs_loss_and_gradients_equal_those_of_transformers(
    assert_close, their_parts, torch, make_theirs, difference, size, activation
):
    theirs, folder = make_theirs(size, activation)
    batch = x, y, weights = random_batch(size)
    expected, expected_loss, expected_gradients = what_theirs_gives(torch, theirs, batch)
    del theirs
    gc.collect()
    ours = BertPretrainer.from_preset(folder)
    encoded = ours.backbone.predict_on_batch({k: x[k] for k in list(x)[:3]})
    tokens = x["padding_mask"] == 1
    for outputs in (encoded, expected):
        outputs["sequence_output"] = outputs["sequence_output"][tokens]
    outputs = {**encoded, **ours.predict_on_batch(x)}
    differences = {name: difference(outputs[name], expected[name]) for name in expected}
    ours.compile(**ours.default_compile_args())
    loss = ours.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    worst = worst_gradient(their_parts, gradients(ours, *batch), expected_gradients)
    figures = ", ".join(f"{name} {value:.1e}" for name, value in differences.items())
    print(f"{size} {activation} on {keras.backend.backend()}: {figures}, gradients {worst}")
    assert_close({name: outputs[name] for name in expected}, expected)
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert worst[0] < 1e-4, worst


def test_a_causal_encoder_equals_a_decoder_of_transformers(
    assert_close,
    difference,
    their_parts,
    torch,
    transformers,
    make_backbone,
    randomized,
    inputs,
    tmp_path,
):
    ours = randomized(BertPretrainer(make_backbone(causal=True, dropout=0.0), next_sentence=False))
    ours.save_to_hugging_face(tmp_path)
    theirs = transformers.BertLMHeadModel.from_pretrained(tmp_path).eval()
    assert theirs.config.is_decoder
    tokens = torch.tensor(inputs["token_ids"])
    is_token = torch.tensor(inputs["padding_mask"])
    given = theirs(
        input_ids=tokens,
        token_type_ids=torch.tensor(inputs["segment_ids"]),
        attention_mask=is_token,
        labels=torch.where(is_token == 1, tokens, -100).long(),
    )
    given.loss.backward()
    x = {**inputs, "mask_positions": np.tile(np.arange(11, dtype="int32"), (8, 1))}
    y = {"masked_lm": inputs["token_ids"][:, 1:]}
    weights = {"masked_lm": inputs["padding_mask"][:, 1:].astype("float32")}
    expected = given.logits.detach().numpy()[:, :-1]
    logits = [
        part[weights["masked_lm"] == 1]
        for part in (ours.predict_on_batch(x)["masked_lm"], expected)
    ]
    assert_close(*logits)
    ours.compile(**ours.default_compile_args())
    loss = ours.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(loss, float(given.loss.detach()), rtol=1e-5)
    expected = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    found = gradients(ours, x, y, weights)
    assert {"embeddings/token_embedding/embeddings", "masked_lm/bias"} <= found.keys()
    worst = worst_gradient(their_parts, found, expected)
    print(f"causal on {keras.backend.backend()}: {difference(*logits):.1e}, gradients {worst}")
    assert worst[0] < 1e-5, worst


def test_training_steps_equal_those_of_transformers_and_torch(their_parts, torch, make_theirs):
    theirs, folder = make_theirs("tiny")
    ours = BertPretrainer.from_preset(folder)
    for layer in ours._flatten_layers():
        if isinstance(layer, Dropout):
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
    x, y, weights = random_batch("tiny")
    batch = their_batch(torch, x, y, weights)
    for _ in range(3):
        theirs(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        ours.fit(x, y, sample_weight=weights, verbose=0)
    state = theirs.state_dict()
    for weight in ours.trainable_weights:
        expected = np.concatenate(their_parts(weight.path, state), axis=-1)
        actual = keras.ops.convert_to_numpy(weight)
        if weight.path.endswith("query_key_value/bias"):
            # The key's bias has no effect: its gradient is rounding, which Adam makes a step of.
            actual, expected = (np.delete(part, slice(16, 32)) for part in (actual, expected))
        bound = 0.01 * 3 * 1e-3  # of three steps
        np.testing.assert_allclose(actual, expected, rtol=0, atol=bound, err_msg=weight.path)


FAMILIES = ["Bert", "DistilBert", "Electra", "Electra Base", "XLMRoberta", "Roberta", "MPNet"]


@pytest.fixture(params=FAMILIES)
def make_other(torch, transformers, tmp_path, request):
    """Makes a random model of another architecture, without dropout, and its folder."""

    def make(head, size="tiny"):
        family, *is_base = request.param.split()
        words, layers, width, positions, _, _ = SIZES[size]
        heads = max(2, width // 32)
        if family == "DistilBert":
            sizes = {"dim": width, "n_layers": layers, "n_heads": heads, "hidden_dim": 4 * width}
            sizes |= {"dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0}
        else:
            sizes = {"hidden_size": width, "num_hidden_layers": layers}
            sizes |= {"num_attention_heads": heads, "intermediate_size": 4 * width}
            sizes |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        if family == "Electra":
            sizes["embedding_size"] = width if is_base else width // 2
        positions += 0 if family in ("Bert", "DistilBert", "Electra") else 2
        theirs = getattr(transformers, f"{family}For{head}")
        config = theirs.config_class(vocab_size=words, max_position_embeddings=positions, **sizes)
        torch.manual_seed(1)
        theirs, generator = theirs(config), torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, parameter in theirs.named_parameters():
                if size == "tiny":
                    mean = float("norm.weight" in name.lower())
                    parameter.normal_(mean, 0.2, generator=generator)
        theirs.save_pretrained(tmp_path)
        return theirs, tmp_path

    return make


def other_batch(torch, theirs, *size_and_seed):
    """A batch for a model of theirs, which may have no segments; never for next sentences."""
    x, y, weights = random_batch(*size_and_seed or ("tiny",))
    if theirs.config.pad_token_id == 1:  # no other token is that of padding, which has no position
        real = np.where(x["token_ids"] == 1, 2, x["token_ids"])
        x["token_ids"] = np.where(x["padding_mask"] == 1, real, 1)
        x["segment_ids"] = 0 * x["segment_ids"]
    batch = their_batch(torch, x, y, weights)
    names = {"next_sentence_label"}
    no_segments = theirs.config.model_type in ("distilbert", "mpnet")
    names |= {"token_type_ids"} if no_segments else set()
    return x, y, weights, {name: values for name, values in batch.items() if name not in names}


@pytest.mark.parametrize("head", ["SequenceClassification", "MaskedLM"])
def test_other_architectures_have_the_numbers_of_transformers(
    assert_close, difference, torch, make_other, head
):
    theirs, folder = make_other(head)
    x, y, weights, batch = other_batch(torch, theirs)
    if head == "MaskedLM":
        model = BertPretrainer.from_preset(folder)
        del y["next_sentence"], weights["next_sentence"]
    else:
        model = BertClassifier.from_preset(folder)
        y, weights = y["next_sentence"], None
        batch["labels"] = torch.tensor(y, dtype=torch.long)
        del x["mask_positions"]
    given = theirs(**batch, output_hidden_states=True)
    given.loss.backward()
    logits = given.logits.detach().numpy()
    if head == "MaskedLM":
        logits = logits[np.arange(8)[:, None], x["mask_positions"]]
    found = model.predict_on_batch(x)
    found = found["masked_lm"] if head == "MaskedLM" else found
    tokens = x["padding_mask"] == 1
    rows = {name: x[name] for name in ("token_ids", "segment_ids", "padding_mask")}
    states = [
        [keras.ops.convert_to_numpy(state)[tokens] for state in model.backbone.hidden_states(rows)],
        [state.detach().numpy()[tokens] for state in given.hidden_states],
    ]
    model.compile(**model.default_compile_args())

    def their_parts(path, gradients):
        _, names = model.load_report.matched[path]
        parts = [gradients[name].numpy() for name in names.split(", ")]
        parts = [part[2:] if len(part) == 18 else part for part in parts]  # of positions
        return [part.T if path.endswith("/kernel") else part for part in parts]

    named = theirs.named_parameters(remove_duplicate=False)
    expected = {name: parameter.grad for name, parameter in named}
    worst = worst_gradient(their_parts, gradients(model, x, y, weights), expected)
    figures = f"logits {difference(found, logits):.1e}, states {difference(*states):.1e}"
    print(f"{type(theirs).__name__} on {keras.backend.backend()}: {figures}, gradients {worst}")
    assert_close(found, logits)
    assert_close(*states)
    assert worst[0] < 1e-5, worst


@pytest.mark.parametrize(
    ("size", "steps", "batches", "rate"),
    [("tiny", 20, 1, 1e-3), pytest.param("MiniLM", 200, 10, 5e-5, marks=pytest.mark.weekly)],
)
def test_steps_of_every_architecture_have_the_losses_of_transformers(
    torch, make_other, size, steps, batches, rate
):
    theirs, folder = make_other("SequenceClassification", size)
    model = BertClassifier.from_preset(folder, dropout=0.0)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=rate, eps=1e-6, weight_decay=0.0)
    model.compile(
        optimizer=AdamW(rate, weight_decay=0.0), **{"loss": model.default_compile_args()["loss"]}
    )
    losses = []
    for step in range(steps):
        x, y, weights, batch = other_batch(torch, theirs, size, 2 + step % batches)
        batch["labels"] = torch.tensor(y["next_sentence"], dtype=torch.long)
        loss = theirs.train()(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        rows = {name: values for name, values in x.items() if name != "mask_positions"}
        history = model.fit(rows, y["next_sentence"], verbose=0, shuffle=False).history
        losses.append((history["loss"][0], float(loss.detach())))
    ours, expected = np.array(losses).T
    worst = np.abs(ours / expected - 1).max()
    print(f"{type(theirs).__name__} {size}, {steps} steps on {keras.backend.backend()}: ", end="")
    print(f"{expected[0]:.4f} to {expected[-1]:.4f}, {worst:.1e} apart")
    assert expected[-batches:].mean() < 0.8 * expected[:batches].mean()
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


def test_models_that_no_other_library_has_are_refused(make_backbone, tmp_path, refused):
    save = {kind: getattr(BertBackbone, f"save_to_{kind}") for kind in ("hugging_face", "google")}
    distilbert = make_backbone(num_segments=0, pooler_activation="relu")
    refused("architecture='distilbert'; for Google", save["google"], distilbert, tmp_path / "a")
    others = [("num_segments", 0), ("embedding_dim", 8), ("pooler_activation", "relu")]
    for switches in ({name: value} for name, value in [*others, ("relative_bias", True)]):
        message = f"{[*switches][0]}={[*switches.values()][0]!r}"
        refused(message, save["hugging_face"], make_backbone(**switches), tmp_path / "a")
    for encoder, message in (
        (distilbert, "next_sentence=True"),
        (make_backbone(num_segments=0, pooler_activation="relu", causal=True), "causal=True"),
    ):
        task = BertPretrainer(encoder, next_sentence=not encoder.causal)
        refused(message, task.save_to_hugging_face, tmp_path / "a")
