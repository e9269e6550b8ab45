"""A tokenizer that every test of this room shares: making one, and tracing it, takes time."""

import pytest

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="session")
def vocabulary():
    """Letters, the ids 5 to 30; letters that continue a word; marks and two ideographs."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [
        *special,
        *LETTERS,
        *(f"##{letter}" for letter in LETTERS),
        *".,()'@-",
        "中",
        "国",
    ]


@pytest.fixture(scope="session")
def tokenizer(vocabulary):
    from keras_bert import BertTokenizer

    return BertTokenizer(vocabulary)


@pytest.fixture(scope="session")
def preprocessor(tokenizer):
    from keras_bert import BertPreprocessor

    return BertPreprocessor(tokenizer, sequence_length=10)
