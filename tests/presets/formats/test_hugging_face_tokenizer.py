"""Tokenizers of Hugging Face folders: vocabulary, casing and special tokens, or a refusal."""

import pytest

from keras_bert import BertBackbone, BertClassifier
from keras_bert.presets.formats.hugging_face import read_hugging_face
from keras_bert.presets.formats.hugging_face_tokenizer import read_tokenizer

ADVICE = "from_preset.*preprocessor=.*or load only the encoder with BertBackbone.from_preset"

MAKES_ONE = r"""has no tokenizer.json.*
    from transformers import AutoTokenizer
    AutoTokenizer.from_pretrained\('.*theirs'\).save_pretrained\('.*theirs'\)
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
def read(folder):
    """Reads a tokenizer from these files: its vocabulary, and its other arguments."""

    def read(files, name="theirs"):
        arguments, _ = read_tokenizer(folder(None, files=files, name=name))
        return arguments.pop("vocabulary", None), arguments

    return read


@pytest.fixture
def cased(words):
    return [*words[:-3], "X", "Y", "Z"]


def lines(tokens, end="\n"):
    return "".join(token + end for token in tokens)


def test_a_model_reads_text_with_the_tokenizer_of_its_folder(encoder, folder, words):
    settings = {"do_lower_case": False, "max_input_chars_per_word": 50}
    source = folder(encoder, files={"vocab.txt": lines(words), "tokenizer_config.json": settings})
    tokenizer = BertClassifier.from_preset(source, num_classes=2).preprocessor.tokenizer
    assert tokenizer.get_vocabulary() == words
    assert (tokenizer.lowercase, tokenizer.max_word_characters) == (False, 50)
    model = BertClassifier.from_preset(source, num_classes=2, lowercase=True, sequence_length=8)
    assert model.preprocessor.tokenizer.lowercase is True
    assert model.preprocessor.sequence_length == 8


def test_vocab_txt_comes_before_tokenizer_json(read, words):
    files = {"vocab.txt": lines(words, "\r\n"), "tokenizer.json": tokenizer_json(words[::-1])}
    vocabulary, arguments = read(files)
    assert vocabulary == words
    assert arguments["max_word_characters"] == 100  # the default of transformers


def test_tokenizer_json_replaces_vocab_txt(read, cased):
    content = tokenizer_json(cased, {"lowercase": False}, max_input_chars_per_word=50)
    vocabulary, arguments = read({"tokenizer.json": content})
    assert vocabulary == cased
    assert arguments["lowercase"] is False and arguments["max_word_characters"] == 50


def test_casing_comes_from_tokenizer_config_json_or_else_the_vocabulary(read, words, cased):
    for tokens, by_vocabulary in ((words, True), (cased, False)):
        files = {"vocab.txt": lines(tokens)}
        assert read(files, f"plain {by_vocabulary}")[1]["lowercase"] is by_vocabulary
        for lowercase in (True, False):
            files["tokenizer_config.json"] = {"do_lower_case": lowercase, "strip_accents": None}
            files["tokenizer.json"] = tokenizer_json(tokens, {"lowercase": not lowercase})
            assert read(files, f"{by_vocabulary} {lowercase}")[1]["lowercase"] is lowercase


def test_accents_may_stay(read, words, cased):
    for lowercase in (True, False):
        settings = {"do_lower_case": lowercase, "strip_accents": False}
        files = {"vocab.txt": lines(words), "tokenizer_config.json": settings}
        _, arguments = read(files, str(lowercase))
        assert arguments["strip_accents"] is not lowercase


@pytest.mark.parametrize("where", ["tokenizer_config.json", "special_tokens_map.json"])
def test_special_tokens_may_have_other_names(read, words, where):
    theirs = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    roles = ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
    named = dict(zip(roles, theirs, strict=True))
    named["mask_token"] = {"content": "<mask>", "lstrip": True}
    vocabulary, _ = read({"vocab.txt": lines([*words[5:], *theirs]), where: named})
    assert vocabulary == [*words[5:], *words[:5]]


def test_added_tokens_keep_their_ids_and_stay_whole(read, words):
    files = {"vocab.txt": lines(words[:27]), "added_tokens.json": {"<user>": 27}}
    decoder = {"28": {"content": "<url>", "normalized": True}}
    files["tokenizer_config.json"] = {"added_tokens_decoder": decoder, "do_lower_case": True}
    vocabulary, arguments = read(files)
    assert vocabulary[27:] == ["<user>", "<url>"]
    assert arguments["added_tokens"] == {"<user>": False, "<url>": True}


@pytest.mark.parametrize(
    ("settings", "fast"),
    [
        ({"strip_accents": True}, {"normalizer": {"lowercase": False, "strip_accents": True}}),
        ({"do_lower_case": True}, {"normalizer": {"handle_chinese_chars": False}}),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, {}),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, {"pre_tokenizer": {"type": "Whitespace"}}),
        ({}, {"normalizer": after("NFC", False)}),
        ({}, {"normalizer": after("NFKC", True)}),
        ({}, {"normalizer": None}),
        ({}, {"added_tokens": [{"id": 5, "content": "a", "single_word": True}]}),
    ],
)
def test_other_tokens_than_bert_s_are_those_of_tokenizer_json(read, words, settings, fast):
    normalizer = {"strip_accents": None, "handle_chinese_chars": True, "clean_text": True}
    content = tokenizer_json(words, normalizer)
    for key, value in fast.items():
        is_berts = key == "normalizer" and value and "type" not in value
        content[key] = {**content[key], **value} if is_berts else value
    settings = {"pad_token": "[PAD]", **settings}
    vocabulary, arguments = read({"tokenizer.json": content, "tokenizer_config.json": settings})
    assert vocabulary.endswith("tokenizer.json")
    names = {"pad_token": "[PAD]", "unk_token": None, "mask_token": None}
    assert arguments == names


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"sentencepiece.bpe.model": "x"}, "is in sentencepiece.bpe.model"),
        ({"vocab.json": {"a": 0}, "merges.txt": "a b"}, "is in vocab.json"),
        ({"tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"}}, "is a XLMRob"),
        (
            {"vocab.txt": "a\nb", "tokenizer_config.json": {"tokenize_chinese_chars": False}},
            "has tokenize_chinese_chars=False",
        ),
    ],
)
def test_without_tokenizer_json_other_tokens_are_refused_with_the_lines_that_make_it(
    read, files, reason, refused
):
    refused(f"(?s)theirs can't be used: it {reason}.*{MAKES_ONE}", read, files)


@pytest.mark.parametrize(
    ("settings", "fast", "fault"),
    [
        ({"do_lower_case": True}, {"normalizer": after("NFC", False)}, "do_lower_case"),
        ({"added_tokens_decoder": {"5": {"content": "<url>"}}}, {}, "<url>"),
        ({"add_prefix_space": True}, {"pre_tokenizer": {"add_prefix_space": False}}, "add_prefix"),
    ],
)
def test_files_that_differ_are_refused(read, words, settings, fast, fault, refused):
    content = {**tokenizer_json(words), "model": {"type": "BPE", "vocab": {}}, **fast}
    files = {"tokenizer.json": content, "tokenizer_config.json": settings}
    refused(f"has {fault}.* other than tokenizer.json.*{ADVICE}", read, files)


def test_text_that_is_lowercased_before_needs_an_uncased_vocabulary(folder, words, refused):
    cases = [({"type": "Lowercase"}, True), ({"type": "NFC"}, False)]
    cases += [(after("NFKC", is_uncased), is_uncased) for is_uncased in (True, False)]
    for index, (normalizer, is_uncased) in enumerate(cases):
        content = {**tokenizer_json(words), "normalizer": normalizer}
        path = folder(None, files={"tokenizer.json": content}, name=f"folder {index}")
        if is_uncased:
            assert read_tokenizer(path, lowercases=True)
        else:
            refused(
                "lowercases text, but has a cased vocabulary", read_tokenizer, path, lowercases=True
            )


def test_a_refused_tokenizer_can_be_replaced_or_left_out(
    encoder, folder, words, preprocessor, refused
):
    settings = {"do_lower_case": True, "tokenize_chinese_chars": False}
    source = folder(encoder, files={"vocab.txt": lines(words), "tokenizer_config.json": settings})
    refused(
        f"(?s)tokenize_chinese_chars=False.*{ADVICE}",
        BertClassifier.from_preset,
        source,
        num_classes=2,
    )
    model = BertClassifier.from_preset(source, num_classes=2, preprocessor=preprocessor)
    assert model.preprocessor.tokenizer is preprocessor.tokenizer
    assert BertBackbone.from_preset(source).num_layers == 2


def test_a_vocabulary_larger_than_the_table_is_refused(encoder, folder, words, refused):
    source = folder(encoder, files={"vocab.txt": lines([*words, "more"])})
    refused(f"{source}.* 31 words.* 30", BertClassifier.from_preset, source, num_classes=2)


def test_sequences_are_limited_by_the_tokenizer_and_the_table(encoder, folder, words):
    for longest, expected in ((12, 12), (512, 16), (1e30, 16), (None, 16)):
        files = {"vocab.txt": lines(words), "tokenizer_config.json": {"model_max_length": longest}}
        source = folder(encoder, files=files, name=f"{longest}")
        assert read_hugging_face(source).sequence_length == expected
