"""Our models give what Hugging Face's give with the same weights: an independent reference."""

import gc

import keras
import numpy as np
import pytest

from keras_bert import AdamW, BertClassifier, BertPretrainer

BATCHES = {"tiny": (8, 12), "MiniLM": (4, 16), "Base": (2, 48), "Large": (2, 48)}  # rows, length


def random_batch(torch, theirs, size="tiny", seed=2):
    """`(x, y, sample_weight)` of the head of a model of theirs, and the same as its arguments.

    Rows have several lengths, and two to four predictions each.
    """
    config, (batch, length) = theirs.config, BATCHES[size]
    generator = np.random.default_rng(seed)
    lengths = np.linspace(length, length // 2, batch).astype(int)[:, None]
    padding_mask = (np.arange(length) < lengths).astype("int32")
    positions = np.array([generator.permutation(n - 1)[:4] + 1 for [n] in lengths], "int32")
    weights = (np.arange(4) < generator.integers(2, 5, (batch, 1))).astype("float32")
    tokens = generator.integers(5, config.vocab_size, (batch, length)).astype("int32")
    segments = (np.arange(length) >= lengths // 2).astype("int32") * padding_mask
    x = {
        "token_ids": np.where(padding_mask, tokens, config.pad_token_id).astype("int32"),
        "segment_ids": segments * (config.pad_token_id == 0),  # the others have one
        "padding_mask": padding_mask,
        "mask_positions": np.where(weights, positions, 0).astype("int32"),
    }
    words = generator.integers(5, config.vocab_size, (batch, 4)).astype("int32")
    classes = generator.integers(0, 2, batch).astype("int32")
    labels, used = np.full(tokens.shape, -100), weights == 1
    labels[np.nonzero(used)[0], positions[used]] = words[used]
    y = {"masked_lm": words, "next_sentence": classes}
    weights = {"masked_lm": weights, "next_sentence": np.ones(batch, "float32")}
    given = {"input_ids": x["token_ids"], "attention_mask": padding_mask, "labels": labels}
    if config.model_type not in ("distilbert", "mpnet", "modernbert"):
        given["token_type_ids"] = x["segment_ids"]
    head = type(theirs).__name__.partition("For")[2]
    if head == "PreTraining":
        given["next_sentence_label"] = np.int64(classes)
    elif head == "SequenceClassification":
        del x["mask_positions"]
        y, weights, given["labels"] = classes, None, np.int64(classes)
    else:
        del y["next_sentence"], weights["next_sentence"]
    return (x, y, weights), {name: torch.tensor(values) for name, values in given.items()}


def gradients(model, x, y, sample_weight):
    """`{path: gradient}` of the compiled loss of training, by the backend's own means."""
    variables = model.trainable_variables

    def loss_of():
        return model.compute_loss(x, y, model(x, training=True), sample_weight)

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


def parts_of(model, path, theirs):
    """The parts of a weight of ours, among arrays of theirs by name, as the model loaded them."""
    _, names = model.load_report.matched[path]
    parts = [theirs[name].numpy() for name in names.split(", ")]
    parts = [part[2:] if len(part) in (18, 514) else part for part in parts]  # of positions
    return [part.T if path.endswith("/kernel") else part for part in parts]


def their_gradients(theirs):
    named = theirs.named_parameters(remove_duplicate=False)
    return {name: parameter.grad for name, parameter in named}


def worst_gradient(model, ours, theirs):
    """`(relative difference, path)`: the largest of any tensor, by its own largest gradient."""
    differences = []
    for path, actual in ours.items():
        expected = parts_of(model, path, theirs)
        actual = np.split(actual, len(expected), axis=-1)
        scales = [np.abs(part).max() for part in expected]
        if path.endswith("query_key_value/bias"):
            scales[1] = scales[0]  # the key's bias has no effect: its gradient is rounding alone
        for part, reference, scale in zip(actual, expected, scales, strict=True):
            differences.append((float(np.abs(part - reference).max() / scale), path))
    return max(differences)


NAMES = ["Bert", "DistilBert", "Electra", "XLMRoberta", "Roberta", "MPNet"]
FAMILIES = [*((name, {}) for name in NAMES), ("Electra", {"embedding_size": 16})]  # as ELECTRA Base
WEEKLY = {"marks": pytest.mark.weekly}
HEADS = [  # an architecture, a size and a config
    *(("BertForPreTraining", "tiny", {"hidden_act": f}) for f in ("gelu", "gelu_new", "relu")),
    ("BertForPreTraining", "Base", {}),
    *((f"{family}ForSequenceClassification", "tiny", config) for family, config in FAMILIES),
    *((f"{family}ForMaskedLM", "tiny", config) for family, config in FAMILIES),
]
HEADS = [pytest.param(*head, marks=pytest.mark.slow) for head in HEADS]
HEADS += [pytest.param("BertForPreTraining", "Large", {}, **WEEKLY)]
HEADS += [(f"ModernBertFor{head}", "tiny", {}) for head in ("SequenceClassification", "MaskedLM")]


@pytest.mark.parametrize(("architecture", "size", "config"), HEADS)
def test_outputs_loss_and_gradients_equal_those_of_transformers(
    assert_close, difference, torch, make_theirs, tmp_path, architecture, size, config
):
    theirs = make_theirs(architecture, size, **config)
    theirs.set_attn_implementation("eager")  # which gives its probabilities
    (x, y, weights), batch = random_batch(torch, theirs, size)
    given = theirs(**batch, output_hidden_states=True, output_attentions=True)
    given.loss.backward()
    expected_gradients, loss = their_gradients(theirs), float(given.loss.detach())
    del theirs
    gc.collect()
    kind = BertClassifier if architecture.endswith("Classification") else BertPretrainer
    model = kind.from_preset(tmp_path / "theirs")
    model.compile(**model.default_compile_args(), run_eagerly=size == "tiny")
    model.backbone.remat = size == "tiny"
    found = keras.tree.flatten(model.predict_on_batch(x))
    expected = [given[name] for name in ("logits", "prediction_logits") if name in given]
    if kind is BertPretrainer:
        expected[0] = expected[0][np.arange(len(expected[0]))[:, None], x["mask_positions"]]
    expected += [given.seq_relationship_logits] if "seq_relationship_logits" in given else []
    expected = [part.detach().numpy() for part in expected]
    tokens = x["padding_mask"] == 1
    inputs = {name: x[name] for name in ("token_ids", "segment_ids", "padding_mask")}
    states = model.backbone.hidden_states(inputs) + model.backbone.attention_probabilities(inputs)
    states = [keras.ops.convert_to_numpy(part) for part in states]
    theirs = [part.detach().numpy() for part in given.hidden_states + given.attentions]
    # Those of tokens, of [B, S, H] and of [B, N, S, S].
    states = [[part.swapaxes(1, -2)[tokens] for part in each] for each in (states, theirs)]
    own = model.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)["loss"]
    worst = worst_gradient(model, gradients(model, x, y, weights), expected_gradients)
    figures = f"logits {difference(found, expected):.1e}, states {difference(*states):.1e}"
    print(f"{architecture} {size} on {keras.backend.backend()}: {figures}, gradients {worst}")
    assert_close(found, expected)
    assert_close(*states)
    np.testing.assert_allclose(own, loss, rtol=1e-5)
    assert worst[0] < (1e-5 if size == "tiny" else 1e-4), worst


CLASSIFIERS = [(f"{family}ForSequenceClassification", config) for family, config in FAMILIES]
EACH_CHANGE = (CLASSIFIERS[0], ("BertForPreTraining", {}))  # and weekly each, of MiniLM's size
RUNS = [(*run, "tiny", 20, 1, 1e-3) for run in EACH_CHANGE]
RUNS += [pytest.param(*run, "MiniLM", 200, 10, 5e-5, **WEEKLY) for run in CLASSIFIERS]


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "config", "size", "steps", "batches", "rate"), RUNS)
def test_steps_of_every_architecture_have_the_losses_and_weights_of_transformers(
    torch, make_theirs, tmp_path, architecture, config, size, steps, batches, rate
):
    config = {"embedding_size": 384} if config and size == "MiniLM" else config
    theirs = make_theirs(architecture, size, **config).train()
    kind = BertClassifier if architecture.endswith("Classification") else BertPretrainer
    model = kind.from_preset(tmp_path / "theirs")
    groups = [{"params": [], "weight_decay": decay} for decay in (0.01, 0.0)]
    for name, parameter in theirs.named_parameters():
        groups["bias" in name or "norm" in name.lower()]["params"].append(parameter)
    optimizer = torch.optim.AdamW(groups, lr=rate, eps=1e-6)
    model.compile(**{**model.default_compile_args(), "optimizer": AdamW(rate)})
    losses = []
    for step in range(steps):
        (x, y, weights), batch = random_batch(torch, theirs, size, 2 + step % batches)
        loss = theirs(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        history = model.fit(x, y, sample_weight=weights, verbose=0, shuffle=False).history
        losses.append((history["loss"][0], float(loss.detach())))
        if step == 2:
            check_weights(model, theirs.state_dict(), bound=0.01 * 3 * rate)
    ours, expected = np.array(losses).T
    worst = np.abs(ours / expected - 1).max()
    print(f"{architecture} {size}, {steps} steps on {keras.backend.backend()}: ", end="")
    print(f"{expected[0]:.4f} to {expected[-1]:.4f}, {worst:.1e} apart")
    assert expected[-batches:].mean() < 0.9 * expected[:batches].mean()
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


def check_weights(model, state, bound):
    for weight in model.trainable_weights:
        expected = np.concatenate(parts_of(model, weight.path, state), axis=-1)
        actual = keras.ops.convert_to_numpy(weight)
        if weight.path.endswith("query_key_value/bias"):
            # The key's bias has no effect: its gradient is rounding, which Adam makes a step of.
            width = len(actual) // 3
            actual, expected = (
                np.delete(part, slice(width, 2 * width)) for part in (actual, expected)
            )
        np.testing.assert_allclose(actual, expected, rtol=0, atol=bound, err_msg=weight.path)


def test_models_that_no_other_library_has_are_refused(make_backbone, tmp_path, refused):
    settings = {"architecture": "distilbert", "num_segments": 0, "pooler_activation": "relu"}
    others = [("num_segments", 0), ("embedding_dim", 8), ("pooler_activation", "relu")]
    for switches in ({name: value} for name, value in [*others, ("relative_bias", True)]):
        message = f"{[*switches][0]}={[*switches.values()][0]!r}"
        refused(message, make_backbone(**switches).save_to_hugging_face, tmp_path / "a")
    task = BertPretrainer(make_backbone(**settings))
    refused("next_sentence=True", task.save_to_hugging_face, tmp_path / "a")
