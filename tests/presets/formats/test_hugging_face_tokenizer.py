"""Tokenizers of Hugging Face folders: vocabulary, casing and special tokens, or a refusal."""

import itertools

import pytest

from keras_bert import BertBackbone, BertClassifier
from keras_bert.presets.formats.hugging_face import read_hugging_face
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer

ADVICE = "from_preset.*preprocessor=.*or load only the encoder with BertBackbone.from_preset"

MAKES_ONE = r"""has no tokenizer.json.*
    from transformers import AutoTokenizer
    AutoTokenizer.from_pretrained\('.*theirs.*'\).save_pretrained\('.*theirs.*'\)
"""


def after(step, lowercase):
    """A normalizer with a step before BERT's."""
    berts = {"type": "BertNormalizer", "lowercase": lowercase}
    return {"type": "Sequence", "normalizers": [{"type": step}, berts]}


def tokenizer_json(tokens, normalizer=(), **model):
    """A `tokenizer.json` as the tokenizers library writes it, shortened."""
    vocabulary = {token: index for index, token in enumerate(tokens)}
    return {
        "version": "1.0",
        "added_tokens": [{"id": vocabulary[t], "content": t, "special": True} for t in tokens[:5]],
        "normalizer": {"type": "BertNormalizer", "lowercase": True, **dict(normalizer)},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "vocab": vocabulary, **model},
    }


@pytest.fixture
def write(folder):
    """Writes a folder of these files, and settings of a tokenizer."""
    numbers = itertools.count()

    def write(files, settings=None, tensors=None):
        if settings is not None:
            files = {**files, "tokenizer_config.json": settings}
        return folder(tensors, files=files, name=f"theirs {next(numbers)}")

    return write


@pytest.fixture
def read(write):
    """Reads a tokenizer from these files: its vocabulary, and its other arguments."""

    def read(files, settings=None):
        arguments, *_ = read_tokenizer(write(files, settings))
        return arguments.pop("vocabulary", None), arguments

    return read


@pytest.fixture
def cased(words):
    return [*words[:-3], "X", "Y", "Z"]


def lines(tokens, end="\n"):
    return "".join(token + end for token in tokens)


def test_tokenizer_json_is_read_where_vocab_txt_is_missing(read, words, cased):
    model = {"max_input_chars_per_word": 50}
    files = {"tokenizer.json": tokenizer_json(cased, {"lowercase": False}, **model)}
    vocabulary, arguments = read(files)
    assert vocabulary == cased
    assert arguments["lowercase"] is False and arguments["max_word_characters"] == 50
    vocabulary, _ = read({"vocab.txt": lines(words, "\r\n"), **files})
    assert vocabulary == words
    assert read({"vocab.txt": lines(words)})[1]["max_word_characters"] == 100  # as transformers


def test_casing_comes_from_tokenizer_config_json_or_else_the_vocabulary(read, words, cased):
    for tokens, lowercase in ((words, True), (cased, False)):
        files = {"vocab.txt": lines(tokens)}
        assert read(files)[1]["lowercase"] is lowercase
        settings = {"do_lower_case": not lowercase, "strip_accents": False}
        files["tokenizer.json"] = tokenizer_json(tokens, {"lowercase": lowercase})
        _, arguments = read(files, settings)
        assert arguments["lowercase"] is not lowercase and arguments["strip_accents"] is lowercase


def test_special_tokens_may_have_other_names(read, words):
    theirs = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    roles = ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
    named = dict(zip(roles, theirs, strict=True))
    named["mask_token"] = {"content": "<mask>", "lstrip": True}
    for where in ("tokenizer_config.json", "special_tokens_map.json"):
        vocabulary, _ = read({"vocab.txt": lines(theirs), where: named})
        assert vocabulary == words[:5]


def test_added_tokens_keep_their_ids_and_stay_whole(read, words):
    files = {"vocab.txt": lines(words[:27]), "added_tokens.json": {"<user>": 27}}
    decoder = {"28": {"content": "<url>", "normalized": True}, "29": {"content": "<num>"}}
    settings = {"added_tokens_decoder": decoder, "do_lower_case": True}
    vocabulary, arguments = read(files, settings)
    assert vocabulary[27:] == ["<user>", "<url>", "<num>"]
    assert arguments["added_tokens"] == {"<user>": False, "<url>": True, "<num>": False}


def test_other_tokens_than_bert_s_are_those_of_tokenizer_json(read, words):
    plain = {"strip_accents": None, "handle_chinese_chars": True, "clean_text": True}
    for settings, normalizer, others in (
        ({"strip_accents": True}, {"lowercase": False, "strip_accents": True}, {}),
        ({"do_lower_case": True}, {"handle_chinese_chars": False}, {}),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, {}, {}),
        (
            {"tokenizer_class": "PreTrainedTokenizerFast"},
            {},
            {"pre_tokenizer": {"type": "Whitespace"}},
        ),
        ({}, {}, {"normalizer": after("NFC", False)}),
        ({}, {}, {"normalizer": after("NFKC", True)}),
        ({}, {}, {"normalizer": None}),
        ({}, {"clean_text": False}, {}),
        ({}, {}, {"added_tokens": [{"id": 5, "content": "a", "single_word": True}]}),
    ):
        content = {**tokenizer_json(words, plain | normalizer), **others}
        vocabulary, arguments = read({"tokenizer.json": content}, {"pad_token": "[PAD]"} | settings)
        assert vocabulary.endswith("tokenizer.json"), (settings, normalizer, others)
        assert arguments == {"pad_token": "[PAD]", "unk_token": None, "mask_token": None}


def test_what_gives_other_tokens_or_two_accounts_of_them_is_refused(read, words, refused):
    for files, settings, reason in (
        ({"sentencepiece.bpe.model": "x"}, None, "is in sentencepiece.bpe.model"),
        ({}, {"tokenizer_class": "XLMRobertaTokenizer"}, "is a XLMRob"),
    ):
        message = f"(?s)theirs.* can't be used: it {reason}.*{MAKES_ONE}"
        refused(message, read, files, settings)
    for settings, fast, fault in (
        ({"do_lower_case": True}, {"normalizer": after("NFC", False)}, "do_lower_case"),
        ({"added_tokens_decoder": {"5": {"content": "<url>"}}}, {}, "<url>"),
        (
            {"add_prefix_space": True},
            {"pre_tokenizer": {"add_prefix_space": False}},
            "add_prefix",
        ),
    ):
        content = {**tokenizer_json(words), "model": {"type": "BPE", "vocab": {}}, **fast}
        message = f"has {fault}.* other than tokenizer.json.*{ADVICE}"
        refused(message, read, {"tokenizer.json": content}, settings)


def test_text_that_is_lowercased_before_needs_an_uncased_vocabulary(write, words, refused):
    def written(normalizer):
        return write({"tokenizer.json": {**tokenizer_json(words), "normalizer": normalizer}})

    for normalizer in ({"type": "Lowercase"}, after("NFKC", True)):
        assert read_tokenizer(written(normalizer), lowercases=True)
    message = "lowercases text, but has a cased vocabulary"
    refused(message, read_tokenizer, written({"type": "NFC"}), lowercases=True)


def test_a_refused_tokenizer_can_be_replaced_or_left_out(
    encoder, write, words, preprocessor, refused
):
    settings = {"do_lower_case": True, "tokenize_chinese_chars": False}
    source = write({"vocab.txt": lines(words)}, settings, encoder)
    message = f"(?s)tokenize_chinese_chars=False.*{ADVICE}"
    refused(message, BertClassifier.from_preset, source, num_classes=2)
    model = BertClassifier.from_preset(source, num_classes=2, preprocessor=preprocessor)
    assert model.preprocessor.tokenizer is preprocessor.tokenizer
    assert BertBackbone.from_preset(source).num_layers == 2


def test_vocabularies_and_sequences_are_limited_by_the_tables(encoder, write, read, words, refused):
    source = write({"vocab.txt": lines([*words, "more"])}, tensors=encoder)
    refused(f"{source}.* 31 words.* 30", BertClassifier.from_preset, source, num_classes=2)
    for settings, expected in (
        ({"model_max_length": 12, "max_len": 9}, (12, "longest_first")),
        ({"max_len": 12, "truncation_side": "left"}, (12, "tail")),
        ({"model_max_length": 1e30}, (16, "longest_first")),
        ({}, (16, "longest_first")),
    ):
        source = read_hugging_face(write({"vocab.txt": lines(words)}, settings, encoder))
        assert (source.sequence_length, source.truncation) == expected
    files = {"vocab.txt": lines(words), "added_tokens.json": {"x": 10**9}}
    refused("belong to different models", read, files)
    fast = {"tokenizer.json": tokenizer_json(words, vocab={"x": 10**9})}
    refused("belong to different models", read, fast)
    settings = {"added_tokens_decoder": {"9" * 50: {"content": "x"}}}
    refused("belong to different models", read, fast, settings)
