"""WordPiece vocabularies from word counts."""

import collections
import functools
import itertools
import sys
from collections.abc import Mapping

import tokenizers

from keras_bert.text.basic_words import BasicWords, chunks
from keras_bert.text.vocabulary import SPECIAL_TOKENS, UNK

_MAX_WORD_CHARACTERS = 200  # longer words are [UNK] to BERT
_MAX_COUNT = 1 << 30  # the trainer counts pairs in 32 bits

_basic_words = functools.cache(BasicWords)  # one for each casing: its tables fill as it reads


def count_words(text: str, lowercase: bool) -> collections.Counter:
    """Counts the normalized words that a `BertTokenizer` cuts into pieces."""
    counts = collections.Counter()
    words = _basic_words(lowercase)
    for chunk, count in collections.Counter(chunks(text)).items():
        for word in words(chunk):
            counts[word] += count
    return counts


def train_wordpieces(
    counts: Mapping[str, int],
    vocabulary_size: int,
    max_characters: int,
    min_frequency: int,
    progress: bool,
) -> list[str]:
    """Trains a WordPiece vocabulary on words from `count_words`; see `learn_vocabulary`."""
    words = {word: count for word, count in counts.items() if len(word) <= _MAX_WORD_CHARACTERS}
    characters = _frequent_characters(words, max_characters)
    words = {word: count for word, count in words.items() if characters.issuperset(word)}
    if not words:
        raise ValueError(
            f"every word of the texts is [UNK]: longer than {_MAX_WORD_CHARACTERS} characters, or "
            f"with a character outside the {max_characters} most frequent. Use other texts, or "
            "increase max_characters."
        )
    alphabet = _alphabet(words, characters)
    least = len(SPECIAL_TOKENS) + len(alphabet)
    if vocabulary_size < least:
        raise ValueError(
            f"{vocabulary_size=} is too small: give at least {least}, the special tokens and "
            f"characters, better several times that, or lower {max_characters=}."
        )
    return _train(words, alphabet, vocabulary_size, min_frequency, progress)


def _frequent_characters(words, most):
    frequency = collections.Counter()
    for word, count in words.items():
        for character in word:
            frequency[character] += count
    by_frequency = sorted(frequency, key=lambda character: (-frequency[character], character))
    return set(by_frequency[:most])


def _alphabet(words, characters):
    """Returns characters as sorted tokens, and those inside words with "##" as well."""
    inner = {character for word in words for character in word[1:]}
    return sorted(characters) + [f"##{character}" for character in sorted(inner)]


def _train(counts, alphabet, vocabulary_size, min_frequency, progress):
    """Runs the trainer.

    It breaks ties between pairs by token id, and numbers "##" characters in hash-table order. They
    are therefore passed as special tokens, which come first and in order.
    """
    scale = -(-sum(counts.values()) // _MAX_COUNT)
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token=UNK))
    model.pre_tokenizer = tokenizers.pre_tokenizers.CharDelimiterSplit(" ")
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=max(1, min_frequency // scale),
        # Without a terminal its bars are blank lines, such as in a notebook.
        show_progress=progress and sys.stdout.isatty() and sys.stderr.isatty(),
        special_tokens=[*SPECIAL_TOKENS, *alphabet],
        continuing_subword_prefix="##",
    )
    model.train_from_iterator(_repeated(counts, scale), trainer)
    ids = model.get_vocab(with_added_tokens=False)
    return sorted(ids, key=ids.get)


def _repeated(counts, scale):
    """Yields each word as often as it was counted, in strings of up to 4,096 words."""

    def occurrences():
        for word in sorted(counts):
            yield from itertools.repeat(word, max(1, counts[word] // scale))

    words = occurrences()
    while line := " ".join(itertools.islice(words, 4096)):
        yield line
