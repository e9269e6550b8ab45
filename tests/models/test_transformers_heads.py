"""Every head goes to transformers and comes from it, with its tokenizer."""

import logging
import warnings

import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertMultipleChoice,
    BertPretrainer,
    BertReranker,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    ModernBertBackbone,
)

MPNET = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]


@pytest.fixture
def load_theirs(transformers, caplog):
    """Loads a folder into a model of theirs, which must not have a word to say of it."""

    def load(architecture, folder):
        transformers.utils.logging.enable_propagation()
        with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
            warnings.simplefilter("error")
            theirs, said = getattr(transformers, architecture).from_pretrained(
                folder, output_loading_info=True
            )
        transformers.utils.logging.disable_propagation()
        assert not any(said.values()), said
        assert not [r.getMessage() for r in caplog.records if "transformers" in r.name]
        return theirs.eval()

    return load


@pytest.fixture
def outputs(torch, untraced, inputs):
    """What a model of theirs, or one of ours, gives for the inputs: a list of arrays."""

    def call(model):
        x, kind = dict(inputs), type(model).__name__
        choices = 4 if "MultipleChoice" in kind else 1 if kind == "BertReranker" else None
        if choices:
            x = {name: values.reshape(-1, choices, 12) for name, values in x.items()}
        if not isinstance(model, torch.nn.Module) or hasattr(model, "get_config"):
            if model.backbone.num_segments == 1:
                del x["segment_ids"]
            if isinstance(model, BertPretrainer):
                x["mask_positions"] = np.tile(np.arange(12, dtype="int32"), (8, 1))
            given = untraced(model).predict_on_batch(x)
            names = ["sequence_output", "masked_lm", "pooled_output", "next_sentence"]
            names += ["start", "end"]
            given = [given[n] for n in names if n in given] if isinstance(given, dict) else [given]
        else:
            with torch.no_grad():
                given = model(**of_theirs(torch, model, x)).to_tuple()
            given = [value.numpy() for value in given if torch.is_tensor(value)]  # no cache
        tokens = inputs["padding_mask"] == 1
        return [part[tokens] if part.shape[:2] == tokens.shape else part for part in given]

    return call


def of_theirs(torch, model, inputs):
    """Inputs of ours as a model of theirs takes them, which may have no segments."""
    names = {"token_ids": "input_ids", "padding_mask": "attention_mask"}
    if model.config.model_type in ("bert", "electra"):
        names["segment_ids"] = "token_type_ids"
    return {theirs: torch.tensor(inputs[ours]) for ours, theirs in names.items()}


def assert_same_tensors(state, expected):
    for name in expected:  # no token that counts is at the positions before the first
        if name.endswith("position_embeddings.weight"):
            expected[name][:-16] = 0
    assert state.keys() == expected.keys()
    assert all((state[name] == expected[name]).all() for name in expected)


def reranker(family, **config):
    """A cross-encoder, as sentence-transformers writes it."""
    own = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
    config |= {"num_labels": 1, "sentence_transformers": own}
    return f"{family}ForSequenceClassification", config, BertReranker


ODD = {"hidden_size": 24, "intermediate_size": 10, "local_attention": 10, "norm_eps": 1e-3}
ODD |= {"classifier_pooling": "mean", "hidden_activation": "relu", "classifier_activation": "relu"}
UNTIED = {"tie_word_embeddings": False}
EPSILON, RELU, SMALL = {"layer_norm_eps": 1e-5}, {"hidden_act": "relu"}, {"embedding_size": 16}
FAMILIES = {  # configs of an encoder, a masked LM, heads of classes, tags and spans; and a dropout
    "Bert": ({}, {"hidden_act": "gelu_new", **EPSILON}, RELU, {}, {}, "classifier_dropout"),
    "DistilBert": ({}, {"activation": "relu"}, {}, {}, {"qa_dropout": 0.3}, "seq_classif_dropout"),
    "Electra": (SMALL, {**RELU, **EPSILON}, RELU, SMALL, {}, "classifier_dropout"),
    "XLMRoberta": (EPSILON, RELU, {}, {}, {}, "classifier_dropout"),
    "MPNet": (EPSILON, RELU, {}, {}, {}, "classifier_dropout"),
    "ModernBert": ({}, {}, ODD, {}, {}, "classifier_dropout"),
}
HEADS = [
    ("BertForPreTraining", {}, BertPretrainer),
    ("BertForPreTraining", UNTIED, BertPretrainer),
    ("BertForSequenceClassification", {"num_labels": 1, "type_vocab_size": 4}, BertClassifier),
    ("ElectraModel", {}, BertBackbone),
]
for family, (encoder, masked, classes, tags, spans, dropout) in FAMILIES.items():
    summary = "summary_last_dropout" if family == "Electra" else dropout
    HEADS += [
        (f"{family}Model", encoder, ModernBertBackbone if "Modern" in family else BertBackbone),
        (f"{family}ForMaskedLM", masked, BertPretrainer),
        (f"{family}ForMaskedLM", UNTIED, BertPretrainer),
        (f"{family}ForSequenceClassification", {"num_labels": 3, **classes}, BertClassifier),
        (f"{family}ForTokenClassification", {"num_labels": 5, **tags}, BertTokenClassifier),
        (f"{family}ForQuestionAnswering", spans, BertSpanLabeler),
        (f"{family}ForMultipleChoice", {summary: 0.3}, BertMultipleChoice),
        reranker(family, **{dropout: 0.3}),
    ]
WITHOUT_POOLER = ("MaskedLM", "TokenClassification", "QuestionAnswering")
POOLER, HEAD = {"pooler/kernel", "pooler/bias"}, {"head/dense/kernel", "head/norm/gamma"}


@pytest.mark.parametrize(
    ("architecture", "config", "ours"),
    [pytest.param(*head, marks=() if "Modern" in head[0] else pytest.mark.slow) for head in HEADS],
)
def test_every_head_comes_and_goes(
    assert_close, make_theirs, load_theirs, outputs, tmp_path, architecture, config, ours
):
    theirs = make_theirs(architecture, **config)
    model = ours.from_preset(tmp_path / "theirs")
    is_modern, is_encoder = "Modern" in architecture, not issubclass(ours, BertTask)
    if not is_encoder:
        assert type(BertTask.from_preset(tmp_path / "theirs")) is ours
    is_new = architecture.endswith((*WITHOUT_POOLER, "DistilBertModel", "ElectraModel"))
    new = POOLER if is_new else set()
    if is_modern:
        new = HEAD if is_encoder else set()
    assert set(model.load_report.new) == new and not model.load_report.left_over
    number = len(outputs(theirs))  # their encoder may have no pooled output
    assert_close(outputs(model)[:number], outputs(theirs))
    model.save_to_hugging_face(tmp_path / "ours")
    back = load_theirs(architecture, tmp_path / "ours")
    state, expected = back.state_dict(), theirs.state_dict()
    if config.get("tie_word_embeddings") is False:  # it may compute with the decoder's own bias
        for name in ("cls.predictions", "lm_head"):
            if f"{name}.decoder.bias" in expected:
                expected[f"{name}.bias"] = expected[f"{name}.decoder.bias"]
    assert_same_tensors(state, expected)
    assert_close(outputs(back), outputs(theirs), sums=0)
    for key in config:
        assert getattr(back.config, key) == getattr(theirs.config, key)
    again = ours.from_preset(tmp_path / "ours")
    assert again.get_config()["name"] and not again.load_report.new
    assert_close(outputs(again), outputs(model), sums=0)
    assert model.backbone.get_config() | {"name": 0} == again.backbone.get_config() | {"name": 0}


@pytest.mark.slow
def test_a_discriminator_is_an_encoder(assert_close, make_theirs, outputs, tmp_path):
    theirs = make_theirs("ElectraForPreTraining")
    model = BertBackbone.from_preset(tmp_path / "theirs")
    left_over = {name.split(".")[0] for name in model.load_report.left_over}
    assert left_over == {"discriminator_predictions"}
    assert_close(outputs(model)[:1], outputs(theirs.electra))


@pytest.mark.slow
def test_another_summary_of_choices_is_refused(make_theirs, tmp_path, refused):
    make_theirs("ElectraForMultipleChoice", summary_type="mean")
    refused("summarizes choices by .*'mean'", BertMultipleChoice.from_preset, tmp_path / "theirs")
    assert BertBackbone.from_preset(tmp_path / "theirs").architecture == "electra"


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Bert", "DistilBert", "Electra", "MPNet"])
def test_texts_are_read_as_by_transformers(transformers, make_theirs, tmp_path, family):
    letters = "abcdefghijABCDEFGHIJé中!?.'"
    special = MPNET if family == "MPNet" else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
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
        for read in (tokenizer, transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")):
            given = read(*texts, padding="max_length", max_length=16)
            assert given == {theirs: inputs[ours].tolist() for theirs, ours in names.items()}
