"""Every head goes to transformers and comes from it, with its tokenizer."""

import logging
import warnings

import numpy as np
import pytest

from keras_bert import (
    BertBackbone,
    BertClassifier,
    BertMultipleChoice,
    BertPreprocessor,
    BertPretrainer,
    BertReranker,
    BertSpanLabeler,
    BertTask,
    BertTokenClassifier,
    BertTokenizer,
)

pytestmark = pytest.mark.slow

SMALL = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 32, "max_position_embeddings": 16}


@pytest.fixture
def make_theirs(torch, transformers):
    """Makes a model of theirs with random weights."""

    def make(architecture, **config):
        config = transformers.BertConfig(**SMALL, **config)
        theirs = getattr(transformers, architecture)(config).eval()
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.normal_(0.1, 0.3, generator=generator)
        return theirs

    return make


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
def outputs(torch, inputs):
    """What a model of theirs, or one of ours, gives for the inputs: a list of arrays."""

    def call(model):
        if not isinstance(model, torch.nn.Module) or hasattr(model, "get_config"):
            x = dict(inputs)
            if isinstance(model, BertPretrainer):
                x["mask_positions"] = np.tile(np.arange(12, dtype="int32"), (8, 1))
            given = model.predict_on_batch(x)
            names = ["sequence_output", "masked_lm", "pooled_output", "next_sentence"]
            names += ["start", "end"]
            given = [given[n] for n in names if n in given] if isinstance(given, dict) else [given]
        else:
            with torch.no_grad():
                given = model(
                    input_ids=torch.tensor(inputs["token_ids"]),
                    token_type_ids=torch.tensor(inputs["segment_ids"]),
                    attention_mask=torch.tensor(inputs["padding_mask"]),
                ).to_tuple()
            given = [value.numpy() for value in given]
        tokens = inputs["padding_mask"] == 1
        return [value[tokens] if value.ndim == 3 else value for value in given]

    return call


HEADS = [
    ("BertModel", {}, BertBackbone),
    ("BertForPreTraining", {}, BertPretrainer),
    ("BertForPreTraining", {"tie_word_embeddings": False}, BertPretrainer),
    ("BertForMaskedLM", {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5}, BertPretrainer),
    ("BertForMaskedLM", {"tie_word_embeddings": False}, BertPretrainer),
    ("BertForSequenceClassification", {"num_labels": 3, "hidden_act": "relu"}, BertClassifier),
    ("BertForSequenceClassification", {"num_labels": 1, "type_vocab_size": 4}, BertClassifier),
    ("BertForTokenClassification", {"num_labels": 5}, BertTokenClassifier),
    ("BertForQuestionAnswering", {}, BertSpanLabeler),
]
WITHOUT_POOLER = ("BertForMaskedLM", "BertForTokenClassification", "BertForQuestionAnswering")


@pytest.mark.parametrize(("architecture", "config", "ours"), HEADS)
def test_every_head_comes_and_goes(
    assert_close, make_theirs, load_theirs, outputs, tmp_path, architecture, config, ours
):
    theirs = make_theirs(architecture, **config)
    theirs.save_pretrained(tmp_path / "theirs")
    model = ours.from_preset(tmp_path / "theirs")
    if ours is not BertBackbone:
        assert type(BertTask.from_preset(tmp_path / "theirs")) is ours
    new = {"pooler/kernel", "pooler/bias"} if architecture in WITHOUT_POOLER else set()
    assert set(model.load_report.new) == new and not model.load_report.left_over
    assert_close(outputs(model), outputs(theirs))
    model.save_to_hugging_face(tmp_path / "ours")
    back = load_theirs(architecture, tmp_path / "ours")
    state, expected = back.state_dict(), theirs.state_dict()
    if config.get("tie_word_embeddings") is False:  # which computes with the decoder's own
        expected["cls.predictions.bias"] = expected["cls.predictions.decoder.bias"]
    assert state.keys() == expected.keys()
    assert all((state[name] == expected[name]).all() for name in expected)
    assert_close(outputs(back), outputs(theirs), sums=0)


@pytest.mark.parametrize("head", ["choices", "activation.Sigmoid", "linear.Identity"])
def test_heads_of_choices_and_documents_come_and_go(
    assert_close, torch, make_theirs, load_theirs, inputs, preprocessor, tmp_path, head
):
    kind, number = ("MultipleChoice", 4) if head == "choices" else ("SequenceClassification", 1)
    config = {"classifier_dropout": 0.3}
    if kind != "MultipleChoice":  # a cross-encoder
        own = {"activation_fn": f"torch.nn.modules.{head}", "version": "4.1.0"}
        config |= {"num_labels": 1, "sentence_transformers": own}
    theirs = make_theirs(f"BertFor{kind}", **config)
    theirs.save_pretrained(tmp_path / "theirs")
    words = "\n".join(preprocessor.tokenizer.get_vocabulary())
    (tmp_path / "theirs" / "vocab.txt").write_text(words)
    model = BertTask.from_preset(tmp_path / "theirs")
    assert type(model) is (BertMultipleChoice if head == "choices" else BertReranker)
    assert model.dropout == 0.3
    assert not model.load_report.new and not model.load_report.left_over
    several = {name: values.reshape(-1, number, 12) for name, values in inputs.items()}
    asked = several if head == "choices" else inputs  # theirs has [B, S] for a document
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids"}
    names["padding_mask"] = "attention_mask"
    asked = {names[name]: torch.tensor(values) for name, values in asked.items()}
    expected = theirs(**asked).logits.detach().numpy()  # [2, 4] or [8, 1]
    assert np.ptp(expected) > 1e-3
    assert_close(model.predict(several, verbose=0), expected)
    model.save_to_hugging_face(tmp_path / "ours")
    back = load_theirs(f"BertFor{kind}", tmp_path / "ours")
    assert back.config.classifier_dropout == 0.3
    if head != "choices":
        assert back.config.sentence_transformers == {"activation_fn": own["activation_fn"]}
    state, weights = back.state_dict(), theirs.state_dict()
    assert state.keys() == weights.keys()
    assert all((state[name] == weights[name]).all() for name in weights)
    assert_close(back(**asked).logits.detach(), expected, sums=0)


@pytest.mark.parametrize("lowercase", [True, False])
def test_their_tokenizer_reads_text_as_ours(transformers, make_backbone, tmp_path, lowercase):
    letters = "abcdefghijABCDEFGHIJé中!?.'"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    preprocessor = BertPreprocessor(BertTokenizer(words, lowercase), sequence_length=16)
    backbone = make_backbone(vocabulary_size=len(words))
    model = BertPretrainer(backbone, preprocessor=preprocessor)
    model.save_to_hugging_face(tmp_path / "ours")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    texts = ["Bad, bédd!", "a中b\tJ?", "h Z", "", "ＡＢＣ e\u0301"]
    pairs = ["Fig", "", "c.d", "ABC's", "\u200bhé"]
    theirs.save_pretrained(tmp_path / "theirs")
    theirs.save_pretrained(tmp_path / "json")
    (tmp_path / "json" / "vocab.txt").unlink(missing_ok=True)
    for folder in ("theirs", "json"):  # come back, with and without a vocab.txt
        for name in ("config.json", "model.safetensors"):
            (tmp_path / folder / name).write_bytes((tmp_path / "ours" / name).read_bytes())
        back = BertPretrainer.from_preset(tmp_path / folder).preprocessor
        assert back.tokenizer.get_vocabulary() == words
        assert (back.tokenizer.lowercase, back.sequence_length) == (lowercase, 16)
    given = theirs(texts, pairs, padding="max_length")
    ours = preprocessor(texts, pairs)
    for name, key in (("token_ids", "input_ids"), ("segment_ids", "token_type_ids")):
        assert ours[name].tolist() == given[key]
    assert ours["padding_mask"].tolist() == given["attention_mask"]
