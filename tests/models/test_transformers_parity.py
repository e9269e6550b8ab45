"""Hugging Face's models give what ours give with the same weights, which go both ways.

Transformers is an independent reference of outputs, hidden states, losses and gradients.
"""

import keras
import numpy as np
import pytest

from keras_bert import (
    AdamW,
    BertBackbone,
    BertClassifier,
    BertMultipleChoice,
    BertPretrainer,
    BertReranker,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    ModernBertBackbone,
    testing,
)
from tests.marks import slow, weekly

SIZES = {  # words, layers, width, positions
    "tiny": (30, 2, 16, 16),
    "MiniLM": (30522, 6, 384, 512),
    "Base": (30522, 12, 768, 512),
    "Large": (30522, 24, 1024, 512),
}
# Rows of many blocks.
MODERN = {
    "num_hidden_layers": 4,
    "local_attention": 4,
    "pad_token_id": 0,
}
MODERN |= dict.fromkeys(f"{role}_token_id" for role in ("bos", "eos", "cls", "sep"))


@pytest.fixture
def make_theirs(torch, transformers, tmp_path):
    """Makes a random model of transformers without dropout, and saves it to the folder "theirs"."""

    def make(architecture, size="tiny", **config):
        words, layers, width, positions = SIZES[size]
        names = [
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
        ]
        names += ["hidden_dropout_prob", "attention_probs_dropout_prob"]
        if architecture.startswith("DistilBert"):
            names = ["dim", "n_layers", "n_heads", "hidden_dim", "dropout", "attention_dropout"]
            config = {"seq_classif_dropout": 0.0, **config}
        if architecture.startswith("Electra"):
            config = {"embedding_size": width // 2, **config}
        if architecture.startswith(("XLMRoberta", "Roberta")):
            config = {"type_vocab_size": 1, **config}
        if architecture.startswith("ModernBert"):
            config = {**MODERN, **config}
        if not architecture.startswith(("Bert", "DistilBert", "Electra", "ModernBert")):
            positions += 2
        sizes = (width, layers, max(2, width // 64), 4 * width, 0.0, 0.0)
        sizes = dict(zip(names, sizes, strict=True)) | {"vocab_size": words, **config}
        kind = getattr(transformers, architecture)
        torch.manual_seed(1)
        theirs = kind(kind.config_class(max_position_embeddings=positions, **sizes)).eval()
        for name, parameter in theirs.named_parameters() if size == "tiny" else ():
            parameter.data.normal_(float("norm.weight" in name.lower()), 0.2)
        theirs.save_pretrained(tmp_path / "theirs")
        return theirs

    return make


def random_batch(torch, theirs, seed=2):
    """`(x, y, sample_weight)` of the head of a model of theirs, and the same as its arguments.

    Rows have several lengths, and two to four predictions each.
    """
    config, draw, rows, length = theirs.config, np.random.default_rng(seed), 8, 12
    head = type(theirs).__name__.partition("For")[2]
    shortest = length if head == "QuestionAnswering" else length // 2  # whose softmax has padding
    lengths = np.linspace(length, shortest, rows).astype(int)[:, None]
    mask = (np.arange(length) < lengths).astype("int32")
    tokens = draw.integers(5, config.vocab_size, mask.shape).astype("int32")
    segments = (np.arange(length) >= lengths // 2).astype("int32") * mask
    x = {
        "token_ids": np.where(mask, tokens, config.pad_token_id).astype("int32"),
        "segment_ids": segments * (config.pad_token_id == 0),  # the others have one
        "padding_mask": mask,
    }
    if head == "MultipleChoice":
        x = {name: values.reshape(-1, 4, length) for name, values in x.items()}
    given = {"input_ids": x["token_ids"], "attention_mask": x["padding_mask"]}
    if config.model_type in ("bert", "electra"):
        given["token_type_ids"] = x["segment_ids"]
    y = weights = None
    if head in ("PreTraining", "MaskedLM"):
        positions = np.array([draw.permutation(n - 1)[:4] + 1 for [n] in lengths], "int32")
        used = np.arange(4) < draw.integers(2, 5, (rows, 1))
        x["mask_positions"] = np.where(used, positions, 0)
        words = draw.integers(5, config.vocab_size, (rows, 4))
        y, weights = {"masked_lm": words}, {"masked_lm": used.astype("float32")}
        given["labels"] = np.full(mask.shape, -100)
        given["labels"][np.nonzero(used)[0], positions[used]] = words[used]
        if head == "PreTraining":
            y["next_sentence"] = given["next_sentence_label"] = draw.integers(0, 2, rows)
            weights["next_sentence"] = np.ones(rows, "float32")
    elif head == "QuestionAnswering":
        start, end = draw.integers(0, length // 2, (2, rows))
        y = {"start": start, "end": end}
        given |= {f"{name}_positions": values for name, values in y.items()}
    elif head == "TokenClassification":
        y = draw.integers(0, config.num_labels, mask.shape)
        weights = mask.astype("float32")
        given["labels"] = np.where(mask, y, -100)
    elif config.num_labels == 1:
        y = given["labels"] = draw.random((rows, 1)).astype("float32")
    elif head:
        classes = 4 if head == "MultipleChoice" else config.num_labels
        y = given["labels"] = draw.integers(0, classes, len(x["token_ids"]))
    return (x, y, weights), {name: torch.tensor(values) for name, values in given.items()}


def with_decoders_bias(arrays):
    """An untied decoder of theirs may compute with a bias of its own."""
    for name in ("cls.predictions", "lm_head"):
        if f"{name}.decoder.bias" in arrays:
            arrays[f"{name}.bias"] = arrays[f"{name}.decoder.bias"]
    return arrays


def pairs_of(model, arrays, theirs):
    """Yields `(path, part of ours, part of theirs)` of arrays that are named as weights are.

    The bias of keys is left out, as softmax cancels it: its gradient is rounding alone, of which
    Adam makes a step.
    """
    for path, array in arrays.items():
        _, names = model.load_report.matched[path]
        parts = [np.asarray(theirs[name]) for name in names.split(", ")]
        for index, part in enumerate(np.split(array, len(parts), axis=-1)):
            other = parts[index].T if path.endswith("/kernel") else parts[index]
            other = other[2:] if len(other) in (18, 514) else other  # of positions
            if not (path.endswith("query_key_value/bias") and index == 1):
                yield path, part, other


THEIR_OUTPUTS = (  # as ours are sorted by name
    "logits",
    "prediction_logits",
    "seq_relationship_logits",
    "pooler_output",
    "last_hidden_state",
    "end_logits",
    "start_logits",
)


@pytest.fixture
def compare(torch, assert_close, difference):
    """Compares what a model and one of theirs compute; gradients, if there is no dropout."""

    def compare(model, theirs, size="tiny", with_gradients=True):
        (x, y, weights), batch = random_batch(torch, theirs)
        inputs = {name: x[name].reshape(-1, x[name].shape[-1]) for name in list(x)[:3]}
        tokens = inputs["padding_mask"] == 1
        if type(model) is BertReranker:
            x = {name: values[:, None] for name, values in x.items()}
            theirs.config.problem_type = "multi_label_classification"  # their loss of logits
        theirs.set_attn_implementation("eager")  # which gives its probabilities
        given = theirs(**batch, output_hidden_states=True, output_attentions=True)
        found = keras.tree.flatten(model.predict_on_batch(x))
        expected = [given[name].detach().numpy() for name in THEIR_OUTPUTS if name in given]
        if "mask_positions" in x:
            expected[0] = expected[0][np.arange(len(found[0]))[:, None], x["mask_positions"]]
        found = found[-len(expected) :]  # their encoder may have no pooled output
        found, expected = (
            [part[tokens] if part.shape[:2] == tokens.shape else part for part in each]
            for each in (found, expected)
        )
        encoder = model.backbone
        states = [
            *encoder.hidden_states(inputs),
            *encoder.attention_probabilities(inputs),
        ]
        states = [keras.ops.convert_to_numpy(part) for part in states]
        others = [part.detach().numpy() for part in given.hidden_states + given.attentions]
        # Those of tokens, of [B, S, H] and of [B, N, S, S].
        states = [[part.swapaxes(1, -2)[tokens] for part in each] for each in (states, others)]
        figures = f"outputs {difference(found, expected):.1e}, states {difference(*states):.1e}"
        print(f"{size} on {keras.backend.backend()}: {figures}")
        assert_close(found, expected)
        assert_close(*states)
        if y is None:
            return
        optimizer = AdamW(0.0, beta_1=0.0, global_clipnorm=None)  # whose moment is the gradient
        settings = {**model.default_compile_args(), "optimizer": optimizer}
        model.compile(**settings, run_eagerly=size == "tiny")
        data = {"x": x, "y": y, "sample_weight": weights}
        loss = model.evaluate(**data, return_dict=True)["loss"]
        np.testing.assert_allclose(loss, given.loss.item(), rtol=1e-5)
        if not with_gradients:
            return
        given.loss.backward()
        named = theirs.named_parameters(remove_duplicate=False)
        expected = with_decoders_bias({name: parameter.grad for name, parameter in named})
        encoder.remat = size == "tiny"
        model.fit(**data)
        encoder.remat = False
        paths = [variable.path for variable in model.trainable_variables]
        moments = map(keras.ops.convert_to_numpy, optimizer._first_moments)
        found = dict(zip(paths, moments, strict=True))
        worst = max(
            (float(np.abs(part - other).max() / np.abs(other).max()), path)
            for path, part, other in pairs_of(model, found, expected)
        )
        print(f"gradients {worst}")
        assert worst[0] < (1e-5 if size == "tiny" else 1e-4), worst

    return compare


ODD = {
    "hidden_size": 24,
    "intermediate_size": 10,
    "local_attention": 10,
    "norm_eps": 1e-3,
    "classifier_pooling": "mean",
    "hidden_activation": "relu",
    "classifier_activation": "relu",
}
UNTIED = {"tie_word_embeddings": False}
EPSILON = {"layer_norm_eps": 1e-5}
RELU = {"hidden_act": "relu"}
SMALL = {"embedding_size": 16}
FAMILIES = {  # configs of an encoder, a masked LM, heads of classes, tags and spans; and a dropout
    "Bert": (
        {},
        {"hidden_act": "gelu_new", **EPSILON},
        RELU,
        {},
        {},
        "classifier_dropout",
    ),
    "DistilBert": (
        {},
        {"activation": "relu"},
        {},
        {},
        {"qa_dropout": 0.3},
        "seq_classif_dropout",
    ),
    "Electra": (SMALL, {**RELU, **EPSILON}, RELU, SMALL, {}, "classifier_dropout"),
    "XLMRoberta": (EPSILON, RELU, {}, {}, {}, "classifier_dropout"),
    "Roberta": ({}, {}, {}, {}, {}, "classifier_dropout"),
    "MPNet": (EPSILON, RELU, {}, {}, {}, "classifier_dropout"),
    "ModernBert": ({}, {}, ODD, {}, {}, "classifier_dropout"),
}
# A cross-encoder, as sentence-transformers writes it.
SCORES = {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}
HEADS = [
    ("BertForPreTraining", {}, BertPretrainer),
    ("BertForPreTraining", UNTIED, BertPretrainer),
    (
        "BertForSequenceClassification",
        {"num_labels": 1, "type_vocab_size": 4},
        BertClassifier,
    ),
    ("ElectraModel", {}, BertBackbone),
]
for family, (encoder, masked, classes, tags, spans, dropout) in FAMILIES.items():
    summary = "summary_last_dropout" if family == "Electra" else dropout
    HEADS += [
        (
            f"{family}Model",
            encoder,
            ModernBertBackbone if "Modern" in family else BertBackbone,
        ),
        (f"{family}ForMaskedLM", masked, BertPretrainer),
        (f"{family}ForMaskedLM", UNTIED, BertPretrainer),
        (
            f"{family}ForSequenceClassification",
            {"num_labels": 3, **classes},
            BertClassifier,
        ),
        (
            f"{family}ForSequenceClassification",
            {"num_labels": 1, dropout: 0.3, **SCORES},
            BertReranker,
        ),
        (
            f"{family}ForTokenClassification",
            {"num_labels": 5, **tags},
            BertTokenClassifier,
        ),
        (f"{family}ForQuestionAnswering", spans, BertSpanLabeler),
        (f"{family}ForMultipleChoice", {summary: 0.3}, BertMultipleChoice),
    ]
QUICK = [f"ModernBert{head}" for head in ("Model", "ForMaskedLM", "ForSequenceClassification")]
WITHOUT_POOLER = (
    "MaskedLM",
    "TokenClassification",
    "QuestionAnswering",
    "DistilBertModel",
    "ElectraModel",
)
MPNET = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
POOLER, HEAD = {"pooler/kernel", "pooler/bias"}, {"head/dense/kernel", "head/norm/gamma"}


@pytest.mark.parametrize(
    ("architecture", "config", "ours"),
    [head if head[0] in QUICK else slow(*head) for head in HEADS],
)
def test_every_head_computes_what_theirs_does_and_comes_and_goes(
    torch,
    transformers,
    make_theirs,
    compare,
    tmp_path,
    architecture,
    config,
    ours,
):
    theirs = make_theirs(architecture, **config)
    is_encoder = not issubclass(ours, BertTask)
    load = ours.from_preset if is_encoder else BertTask.from_preset
    model = load(tmp_path / "theirs")
    assert type(model) is ours
    new = POOLER if architecture.endswith(WITHOUT_POOLER) else set()
    if "Modern" in architecture:
        new = HEAD if is_encoder else set()
    assert set(model.load_report.new) == new and not model.load_report.left_over
    has_gradients = ours is not BertSpanLabeler  # of whose last weights some cancel out
    compare(model, theirs, with_gradients=has_gradients and 0.3 not in config.values())
    model.save_to_hugging_face(tmp_path / "ours")
    back, said = getattr(transformers, architecture).from_pretrained(
        tmp_path / "ours", output_loading_info=True, attn_implementation="eager"
    )
    assert not any(said.values()), said
    state, expected = back.state_dict(), with_decoders_bias(theirs.state_dict())
    assert state.keys() == expected.keys()
    for name, values in expected.items():
        if name.endswith("position_embeddings.weight"):
            values[:-16] = 0  # no token that counts is at the positions before the first
        assert (state[name] == values).all(), name
    for key in config:
        assert getattr(back.config, key) == getattr(theirs.config, key)
    _, batch = random_batch(torch, theirs)
    hidden = [each(**batch, output_hidden_states=True).hidden_states[-1] for each in (back, theirs)]
    assert torch.equal(*hidden)
    testing.run_format(ours.save_to_hugging_face, model, load)


@pytest.mark.parametrize(
    "size",
    [slow("Base"), weekly("Large")],
)
def test_wide_models_compute_what_theirs_do(size, make_theirs, compare, tmp_path):
    theirs = make_theirs("BertForPreTraining", size)
    compare(BertPretrainer.from_preset(tmp_path / "theirs"), theirs, size)


# An architecture and a config of each change, and weekly all, of MiniLM's size.
CLASSIFIERS = [f"{family}ForSequenceClassification" for family in list(FAMILIES)[:6]]
RUNS = [(name, {}, "tiny", 20, 1, 1e-3) for name in (CLASSIFIERS[0], "BertForPreTraining")]
LONG = [(name, {}) for name in CLASSIFIERS] + [(CLASSIFIERS[2], {"embedding_size": 384})]
RUNS += [weekly(*run, "MiniLM", 200, 10, 5e-5) for run in LONG]


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "config", "size", "steps", "batches", "rate"), RUNS)
def test_steps_of_every_architecture_have_the_losses_and_weights_of_transformers(
    torch, make_theirs, tmp_path, architecture, config, size, steps, batches, rate
):
    theirs = make_theirs(architecture, size, **config).train()
    model = BertTask.from_preset(tmp_path / "theirs")
    groups = [{"params": [], "weight_decay": decay} for decay in (0.01, 0.0)]
    for name, parameter in theirs.named_parameters():
        groups["bias" in name or "norm" in name.lower()]["params"].append(parameter)
    optimizer = torch.optim.AdamW(groups, lr=rate, eps=1e-6)
    model.compile(**{**model.default_compile_args(), "optimizer": AdamW(rate)})
    losses = []
    for step in range(steps):
        (x, y, weights), batch = random_batch(torch, theirs, 2 + step % batches)
        loss = theirs(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        history = model.fit(x, y, sample_weight=weights, shuffle=False).history
        losses.append((history["loss"][0], float(loss.detach())))
        if step == 2:
            found = {v.path: keras.ops.convert_to_numpy(v) for v in model.trainable_variables}
            for path, part, other in pairs_of(model, found, theirs.state_dict()):
                bound = {"rtol": 0, "atol": 0.01 * 3 * rate}
                np.testing.assert_allclose(part, other, **bound, err_msg=path)
    ours, expected = np.array(losses).T
    worst = np.abs(ours / expected - 1).max()
    print(f"{architecture} {size}, {steps} steps on {keras.backend.backend()}: ", end="")
    print(f"{expected[0]:.4f} to {expected[-1]:.4f}, {worst:.1e} apart")
    assert expected[-batches:].mean() < 0.9 * expected[:batches].mean()
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


@pytest.mark.slow
def test_a_discriminator_is_an_encoder(make_theirs, tmp_path):
    make_theirs("ElectraForPreTraining")
    report = BertBackbone.from_preset(tmp_path / "theirs").load_report
    assert {name.split(".")[0] for name in report.left_over} == {"discriminator_predictions"}
    assert set(report.new) == POOLER


@pytest.mark.slow
def test_another_summary_of_choices_is_refused(make_theirs, tmp_path, refused):
    make_theirs("ElectraForMultipleChoice", summary_type="mean")
    refused(
        "summarizes choices by .*'mean'",
        BertMultipleChoice.from_preset,
        tmp_path / "theirs",
    )
    assert BertBackbone.from_preset(tmp_path / "theirs").architecture == "electra"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Bert", "DistilBert", "Electra", "MPNet"])
def test_texts_are_read_as_by_transformers(transformers, make_theirs, tmp_path, family):
    letters = "abcdefghijABCDEFGHIJé中!?.'"
    special = MPNET if family == "MPNet" else "[PAD] [UNK] [CLS] [SEP] [MASK]".split()
    words = [*special, *letters, *(f"##{letter}" for letter in letters)]
    make_theirs(f"{family}ForSequenceClassification", vocab_size=len(words))
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    texts = ["Bad, bédd!", "a中b\tJ?", "h Z", "", "ＡＢＣ e\u0301"]
    texts = texts, ["Fig", "", "c.d", "ABC's", "\u200bhé"]
    for lowercase in (True, False):
        kind = getattr(transformers, f"{family}Tokenizer")
        tokenizer = kind(str(tmp_path / "vocab.txt"), do_lower_case=lowercase)
        tokenizer.save_pretrained(tmp_path / "theirs")
        model = BertTask.from_preset(tmp_path / "theirs")
        model.save_to_hugging_face(tmp_path / "ours")
        inputs = model.preprocessor(*texts)
        names = {"input_ids": "token_ids", "attention_mask": "padding_mask"}
        if family in ("Bert", "Electra"):
            names["token_type_ids"] = "segment_ids"
        for read in (
            tokenizer,
            transformers.AutoTokenizer.from_pretrained(tmp_path / "ours"),
        ):
            given = read(*texts, padding="max_length", max_length=16)
            assert given == {theirs: inputs[ours].tolist() for theirs, ours in names.items()}


def test_models_that_no_other_library_has_are_refused(make_backbone, tmp_path, refused):
    settings = {
        "architecture": "distilbert",
        "num_segments": 0,
        "pooler_activation": "relu",
    }
    switches = {"num_segments": 0, "embedding_dim": 8, "pooler_activation": "relu"}
    for name, value in {**switches, "relative_bias": True}.items():
        save = make_backbone(**{name: value}).save_to_hugging_face
        refused(f"{name}={value!r}", save, tmp_path / "a")
    task = BertPretrainer(make_backbone(**settings))
    refused("next_sentence=True", task.save_to_hugging_face, tmp_path / "a")
