"""Tokenizers of Hugging Face folders: vocabulary, casing and special tokens, or a refusal."""

import pytest

from keras_bert import BertBackbone, BertClassifier

ADVICE = "from_preset.*preprocessor=.*or load the encoder alone with BertBackbone.from_preset"


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
def tokenizer(encoder, folder):
    """The tokenizer of a folder with these files."""
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")

    def read(files, **arguments):
        source = folder(encoder, files=files)
        model = BertClassifier.from_preset(source, num_classes=2, **arguments)
        assert model.preprocessor is not None
        return model.preprocessor.tokenizer

    return read


@pytest.fixture
def cased(words):
    return [*words[:-3], "X", "Y", "Z"]


def lines(tokens, end="\n"):
    return "".join(token + end for token in tokens)


def test_the_vocabulary_is_that_of_vocab_txt(tokenizer, words):
    read = tokenizer({"vocab.txt": lines(words), "tokenizer.json": tokenizer_json(words[::-1])})
    assert read.get_vocabulary() == words
    assert read.max_word_characters == 100  # of transformers


def test_a_vocabulary_of_windows_is_the_same(tokenizer, words):
    assert tokenizer({"vocab.txt": lines(words, "\r\n")}).get_vocabulary() == words


def test_tokenizer_json_stands_in_for_vocab_txt(tokenizer, cased):
    content = tokenizer_json(cased, {"lowercase": False}, max_input_chars_per_word=50)
    read = tokenizer({"tokenizer.json": content})
    assert read.get_vocabulary() == cased
    assert (read.lowercase, read.max_word_characters) == (False, 50)


def test_a_folder_without_a_tokenizer_reads_no_text(encoder, folder):
    model = BertClassifier.from_preset(folder(encoder), num_classes=2)
    assert model.preprocessor is None


@pytest.mark.parametrize("lowercase", [True, False])
def test_casing_is_that_of_tokenizer_config_json(tokenizer, words, lowercase):
    files = {
        "vocab.txt": lines(words),
        "tokenizer_config.json": {"do_lower_case": lowercase, "strip_accents": None},
        "tokenizer.json": tokenizer_json(words, {"lowercase": not lowercase}),
    }
    assert tokenizer(files).lowercase is lowercase


def test_casing_is_else_that_of_the_vocabulary(encoder, folder, words, cased):
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    for tokens, lowercase in ((words, True), (cased, False)):
        source = folder(encoder, files={"vocab.txt": lines(tokens)}, name=f"{lowercase}")
        model = BertClassifier.from_preset(source, num_classes=2)
        assert model.preprocessor.tokenizer.lowercase is lowercase


def test_casing_can_be_said(tokenizer, words):
    files = {"vocab.txt": lines(words), "tokenizer_config.json": {"do_lower_case": True}}
    assert tokenizer(files, lowercase=False).lowercase is False


@pytest.mark.parametrize("where", ["tokenizer_config.json", "special_tokens_map.json"])
def test_special_tokens_of_other_names_play_their_parts(tokenizer, words, where):
    theirs = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    roles = ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
    named = dict(zip(roles, theirs, strict=True))
    named["mask_token"] = {"content": "<mask>", "lstrip": True}
    read = tokenizer({"vocab.txt": lines([*words[5:], *theirs]), where: named})
    assert read.get_vocabulary() == [*words[5:], *words[:5]]
    ids = [read.pad_token_id, read.unk_token_id, read.cls_token_id, read.sep_token_id]
    assert [*ids, read.mask_token_id] == [25, 26, 27, 28, 29]


def test_added_tokens_keep_their_ids_and_are_said(encoder, folder, words, caplog):
    encoder_files = {
        "vocab.txt": lines(words[:27]),
        "tokenizer_config.json": {"added_tokens_decoder": {"28": {"content": "<url>"}}},
        "added_tokens.json": {"<user>": 27},
    }
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    model = BertClassifier.from_preset(folder(encoder, files=encoder_files), num_classes=2)
    assert model.preprocessor.tokenizer.get_vocabulary()[27:] == ["<user>", "<url>"]
    assert "<url>, <user> were added to the vocabulary, to be kept whole" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strip_accents": False}, "strip_accents=False with do_lower_case=True"),
        ({"do_lower_case": False, "strip_accents": True}, "strip_accents=True with do_lower"),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars=False"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "is a BertJapaneseTokenizer"),
    ],
)
def test_a_tokenizer_that_cuts_otherwise_is_refused(
    encoder, folder, words, preprocessor, settings, message
):
    settings = {"do_lower_case": True, **settings}
    source = folder(encoder, files={"vocab.txt": lines(words), "tokenizer_config.json": settings})
    with pytest.raises(ValueError, match=f"{message}.*{ADVICE}"):
        BertClassifier.from_preset(source, num_classes=2)
    model = BertClassifier.from_preset(source, num_classes=2, preprocessor=preprocessor)
    assert model.preprocessor is preprocessor
    assert BertBackbone.from_preset(source).num_layers == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"type": "Unigram"}}, "is of type Unigram; BertTokenizer has WordPiece"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "cuts text by BertNormalizer and Whitespace"),
        ({"normalizer": None}, "cuts text by None and BertPreTokenizer"),
    ],
)
def test_a_tokenizer_json_of_another_algorithm_is_refused(encoder, folder, words, change, message):
    files = {
        "tokenizer.json": {**tokenizer_json(words), **change},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
    }
    with pytest.raises(ValueError, match=f"{message}.*{ADVICE}"):
        BertClassifier.from_preset(folder(encoder, files=files), num_classes=2)


def test_a_vocabulary_larger_than_the_table_is_refused(encoder, folder, words):
    source = folder(encoder, files={"vocab.txt": lines([*words, "more"])})
    message = "vocabulary of 31 tokens but a table of 30: they belong to different models"
    for model, arguments in ((BertBackbone, {}), (BertClassifier, {"num_classes": 2})):
        with pytest.raises(ValueError, match=message):
            model.from_preset(source, **arguments)


def test_a_vocabulary_smaller_than_the_table_leaves_rows_spare(tokenizer, words, caplog):
    with caplog.at_level("INFO", "keras_bert"):
        assert tokenizer({"vocab.txt": lines(words[:28])}).vocabulary_size() == 28
    assert "28 words, the last 2 rows of the table are spare" in caplog.text


def test_sequences_are_as_long_as_the_tokenizer_and_the_table_allow(encoder, folder, words):
    pytest.importorskip("tensorflow_text", reason="raw text needs TensorFlow Text")
    for longest, expected in ((12, 12), (512, 16), (1e30, 16), (None, 16)):
        files = {"vocab.txt": lines(words), "tokenizer_config.json": {"model_max_length": longest}}
        source = folder(encoder, files=files, name=f"{longest}")
        model = BertClassifier.from_preset(source, num_classes=2)
        assert model.preprocessor.sequence_length == expected
    assert (
        BertClassifier.from_preset(
            source, num_classes=2, sequence_length=8
        ).preprocessor.sequence_length
        == 8
    )


def test_a_vocabulary_that_is_not_utf8_is_refused(encoder, folder, words):
    source = folder(encoder)
    (source / "vocab.txt").write_bytes(lines(words).encode("utf-16"))
    with pytest.raises(ValueError, match="vocab.txt is not UTF-8"):
        BertClassifier.from_preset(source, num_classes=2)
