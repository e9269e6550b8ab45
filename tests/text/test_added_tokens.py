"""Tokens that were added to a vocabulary stay whole, as in Hugging Face's `tokenizers`."""

import random
import re

import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from keras_bert import BertTokenizer
from keras_bert.text.added_tokens import added_regex

SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK]".split()
LETTERS = [*"acdefilmnoprsuvwx", "good", "film", "<", ">", "日"]
WORDS = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS[:17])]
NAMES = ["<num>", "covid", "[USER]", "new york", "@a", "<num>>", "日x", "é.x"]


def theirs(tokens, lowercase):
    own = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for token, any_case in tokens.items():
        own.add_tokens([AddedToken(token, normalized=any_case)])
    return own


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_tokens_and_places_are_those_of_tokenizers(lowercase, seed):
    generator = random.Random(seed)
    names = generator.sample(NAMES, 5)
    # An uncased word may be a piece, too, in whatever case.
    tokens = {name: lowercase and generator.random() < (0.5 + name.isalpha()) for name in names}
    own = theirs(tokens, lowercase)
    tokenizer = BertTokenizer([*WORDS, *tokens], lowercase, added_tokens=tokens)
    parts = [
        *tokens,
        *map(str.title, tokens),
        " ",
        "  ",
        "good",
        "É",
        ".",
        "\u00ad",
        "\0",
        "한",
    ]
    texts = ["".join(generator.choices(parts, k=generator.randrange(9))) for _ in range(100)]
    ids, starts, ends = tokenizer.tokenize_with_offsets(texts)
    for text, *found in zip(texts, tokenizer(texts), ids, starts, ends, strict=True):
        expected = own.encode(text)
        places = [[place[end] for place in expected.offsets] for end in (0, 1)]
        assert found == [expected.ids, expected.ids, *places], text
    again = BertTokenizer.from_config(tokenizer.get_config())
    assert again.added_tokens == tokenizer.added_tokens and again(texts) == ids


def test_the_pattern_of_many_tokens_finds_what_a_list_of_them_finds():
    generator = random.Random(1)
    names = {"".join(generator.choices("abé<|", k=generator.randrange(1, 6))) for _ in range(300)}
    text = "".join(generator.choices("abéABÉ<| .", k=4000))
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    for any_case, flag in ((False, 0), (True, re.IGNORECASE)):
        pattern = added_regex(dict.fromkeys(names, any_case))
        assert re.findall(pattern, text) == re.findall(longest_first, text, flag)


def test_they_must_be_tokens_of_the_vocabulary(refused):
    refused("lacks <user>", BertTokenizer, WORDS, added_tokens={"<user>": True})
    refused("added_tokens must be a dict", BertTokenizer, WORDS, added_tokens=["good"])
