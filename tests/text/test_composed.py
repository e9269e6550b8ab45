"""Letters are composed with their marks (NFC) as `tokenizers` does it before WordPiece."""

import random
import unicodedata

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from keras_bert import BertBackbone, BertClassifier, BertClassifierPreprocessor, BertTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Marks that sort, that compose and that do neither; letters of one character, that decompose, of
# Hangul and of Indic scripts, where marks of class 0 compose; a space, a soft hyphen.
MARKS = [*"\u0301\u0323\u0308\u031b\u0334\u0344\u05b4\u0651\u093c\u09be\u0bd7\u0f73\u1161\u11a8"]
LETTERS = [*"aeoSz.\u00e9\u1ea1\u212b\u212a\u0915\u0958\u09c7\u1100\uac00\u304b\ufb1d\uf900"]
LETTERS += ["\U0001d15e", " ", "\u00ad"]


def composed(text):
    return unicodedata.normalize("NFC", text)


@pytest.fixture
def texts():
    generator = random.Random(0)
    characters = MARKS + LETTERS
    return ["".join(generator.choices(characters, k=generator.randrange(12))) for _ in range(2000)]


@pytest.fixture
def words():
    pairs = [composed(letter + mark) for letter in LETTERS for mark in ["", *MARKS]]
    letters = sorted({*"".join(pairs), *"".join(pairs).lower()} - {" "})
    return [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), "##e\u0334"]


@pytest.mark.parametrize(("lowercase", "accents"), [(False, None), (True, False)])
def test_tokens_are_those_of_tokenizers(texts, words, lowercase, accents):
    theirs = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    bert = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=accents)
    theirs.normalizer = normalizers.Sequence([normalizers.NFC(), bert])
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = BertTokenizer(words, lowercase, strip_accents=accents is not False, nfc=True)
    expected = [row.ids for row in theirs.encode_batch(texts)]
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    assert tokenizer(texts) == ids == expected
    assert BertTokenizer.from_config(tokenizer.get_config())(texts) == expected
    assert BertTokenizer(words, lowercase, strip_accents=accents is not False)(texts) != expected
    for text, *tokens in zip(texts, ids, starts, ends, strict=True):
        for index, start, end in zip(*tokens, strict=True):
            token = tokenizer.id_to_token(index).removeprefix("##")
            source = composed(text[start:end])
            assert token in (source.lower() if lowercase else source), (text, start, end)


def test_a_token_has_the_place_of_its_letter_and_marks():
    words = [*SPECIAL, "Caf", "##\u00e9", "##s", "\u1ec7", "##\u0301", "a"]
    tokenizer = BertTokenizer(words, lowercase=False, nfc=True)
    text = "a Cafe\u0301s e\u0323\u0302\u0301 a"
    ids, starts, ends = tokenizer.tokenize_with_offsets(text)
    assert tokenizer.detokenize(ids) == composed(text)
    assert starts == [0, 2, 5, 7, 9, 9, 14]
    assert ends == [1, 5, 7, 8, 13, 13, 15]


def test_an_added_token_is_found_in_the_composed_text():
    words = [*SPECIAL, "a", "##\u00e9", "\u00e9.x"]
    tokenizer = BertTokenizer(words, lowercase=False, nfc=True, added_tokens={"\u00e9.x": False})
    assert tokenizer.tokenize_with_offsets("ae\u0301.x") == ([5, 7], [0, 1], [1, 5])


def test_folders_and_saved_models_compose(transformers, tensorflow, assert_close, tmp_path):
    words = [*SPECIAL, "a", "##\u00e9", "##e", "e", "\u0301"]
    tokenizer = BertTokenizer(words, lowercase=False, nfc=True)
    backbone = BertBackbone(10, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=16)
    preprocessor = BertClassifierPreprocessor(tokenizer, sequence_length=8)
    model = BertClassifier(backbone, 2, preprocessor=preprocessor)
    model.save_to_hugging_face(tmp_path / "folder")
    texts = ["ae\u0301", "a\u00e9", "a"]
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")
    assert theirs(texts)["input_ids"] == [[2, 5, 6, 3], [2, 5, 6, 3], [2, 5, 3]]
    again = BertClassifier.from_preset(tmp_path / "folder")
    assert again.preprocessor.tokenizer.settings() == tokenizer.settings()
    expected = tensorflow.nn.softmax(model.predict(texts, verbose=0))
    served = tensorflow.saved_model.load(model.export(tmp_path / "served"))
    found = served.signatures["serving_default"](tensorflow.constant(texts))["probabilities"]
    assert_close(found, expected)
