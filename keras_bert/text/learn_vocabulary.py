"""Learns WordPiece vocabularies from text files."""

import collections
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf
import tokenizers
from tqdm import tqdm

from keras_bert.text.exact_wordpiece import word_splitter
from keras_bert.text.normalization import PLACEHOLDER
from keras_bert.text.vocabulary import SPECIAL_TOKENS, UNK

_BLOCK_BYTES = 1 << 20
_MAX_WORD_CHARACTERS = 200  # longer words are [UNK] to BERT
_MAX_DISTINCT_WORDS = 20_000_000  # about 3 GB
_MAX_COUNT = 1 << 30  # the trainer counts pairs in 32 bits


def learn_vocabulary(
    files: str | os.PathLike | Sequence[str | os.PathLike],
    vocabulary_size: int = 30522,
    *,
    lowercase: bool = True,
    max_characters: int = 1000,
    min_frequency: int = 2,
    progress: bool = True,
) -> list[str]:
    """Learns a WordPiece vocabulary from text files.

    Use it when no published vocabulary fits the language or domain. The graph of `BertTokenizer`
    normalizes the texts and splits them into words, so the pieces fit the words that it will cut.
    Words are counted in a stream: memory grows with the number of distinct words, not with the
    files. The trainer of Hugging Face `tokenizers` then finds the pieces on all cores, by byte pair
    encoding with WordPiece's "##". The same files give the same vocabulary.

    Args:
        files: path of a UTF-8 text file, or a list of paths.
        vocabulary_size: number of tokens to learn, including the special ones.
        lowercase: `True` for an uncased vocabulary.
        max_characters: number of characters to keep, the most frequent first; words with any other
            character are skipped, because the tokenizer turns them into [UNK].
        min_frequency: number of occurrences; rarer pieces are not learned.
        progress: whether to show progress bars.

    Returns:
        list of str: [PAD] (id 0), [UNK], [CLS], [SEP], [MASK], then characters, then pieces. It is
        shorter than `vocabulary_size`, with a warning, if the files have no more pieces.

    Raises:
        ValueError: if the files hold no words or are UTF-16, or `vocabulary_size` leaves no room
            for the special tokens and characters.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "text.txt")
    >>> _ = path.write_text("low lower lowest, low lower lowest")
    >>> vocabulary = learn_vocabulary(path, vocabulary_size=22, progress=False)
    >>> vocabulary[:6], vocabulary[-3:]
    (['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ','], ['lo', 'low', 'lowe'])
    """
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    files = [os.fspath(file) for file in files]
    if vocabulary_size <= len(SPECIAL_TOKENS):
        raise ValueError(
            f"vocabulary_size={vocabulary_size} leaves no room beyond the {len(SPECIAL_TOKENS)} "
            "special tokens; 30522 is the size of BERT's uncased vocabulary"
        )
    for file in files:
        _check_encoding(file)
    counts = _count_words(files, lowercase, min_frequency, progress)
    if not counts:
        raise ValueError(
            f"no words to learn from in {len(files)} files of "
            f"{sum(map(os.path.getsize, files))} bytes: {', '.join(files[:3]) or 'none given'}"
        )
    counts, alphabet = _keep_frequent_characters(counts, max_characters)
    if vocabulary_size < len(SPECIAL_TOKENS) + len(alphabet):
        raise ValueError(
            f"vocabulary_size={vocabulary_size} is too small: the texts need "
            f"{len(SPECIAL_TOKENS)} special tokens and {len(alphabet)} characters; give at least "
            f"{len(SPECIAL_TOKENS) + len(alphabet)}, preferably several times that, or lower "
            f"max_characters={max_characters}"
        )
    tokens = _train(counts, alphabet, vocabulary_size, min_frequency, progress)
    if len(tokens) < vocabulary_size:
        warnings.warn(
            f"the texts have {len(tokens)} pieces that occur {min_frequency} times or more, fewer "
            f"than vocabulary_size={vocabulary_size}: the vocabulary has {len(tokens)} tokens",
            stacklevel=2,
        )
    return tokens


def _check_encoding(file):
    with open(file, "rb") as stream:
        start = stream.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{file!r} is UTF-16; convert it to UTF-8, e.g. iconv -f UTF-16 -t UTF-8")


def _count_words(files, lowercase, min_frequency, progress):
    """Returns a Counter of the words of all files, as bytes."""
    split = word_splitter(lowercase)
    workers = os.cpu_count() or 1
    counts, pending = collections.Counter(), collections.deque()
    total = sum(map(os.path.getsize, files))
    with (
        ThreadPoolExecutor(workers) as pool,
        tqdm(total=total, unit="B", unit_scale=True, desc="words", disable=not progress) as bar,
    ):

        def collect():
            size, task = pending.popleft()
            counts.update(task.result())
            bar.update(size)
            if len(counts) > _MAX_DISTINCT_WORDS:
                for word in [word for word, count in counts.items() if count < min_frequency]:
                    del counts[word]

        for block in _blocks(files):
            pending.append((len(block), pool.submit(_count_block, split, block)))
            if len(pending) > 2 * workers:
                collect()
        while pending:
            collect()
    return counts


def _blocks(files):
    """Yields the bytes of the files in blocks of about a megabyte that end between words."""
    for file in files:
        with open(file, "rb") as stream:
            rest = b""
            while block := stream.read(_BLOCK_BYTES):
                block = rest + block
                cut = max(block.rfind(b"\n"), block.rfind(b" ")) + 1
                if not cut and len(block) < 16 * _BLOCK_BYTES:
                    rest = block
                    continue
                cut = cut or len(block)
                rest = block[cut:]
                yield block[:cut]
            if rest:
                yield rest


def _count_block(split, block):
    texts, starts, ends = split(tf.constant([block]))
    text = texts.numpy()[0]
    spans = zip(starts.values.numpy().tolist(), ends.values.numpy().tolist(), strict=True)
    return collections.Counter([text[start:end] for start, end in spans])


def _keep_frequent_characters(counts, max_characters):
    """Returns the words made of frequent characters only, and these characters as sorted tokens."""
    words = {}
    for word, count in counts.items():
        word = word.decode()
        if len(word) <= _MAX_WORD_CHARACTERS and PLACEHOLDER not in word:
            words[word] = count
    frequency = collections.Counter()
    for word, count in words.items():
        for character in word:
            frequency[character] += count
    kept = sorted(frequency, key=lambda character: (-frequency[character], character))
    kept = set(kept[:max_characters])
    words = {word: count for word, count in words.items() if kept.issuperset(word)}
    inner = set().union(*(word[1:] for word in words))
    return words, sorted(kept) + [f"##{character}" for character in sorted(inner)]


def _train(counts, alphabet, vocabulary_size, min_frequency, progress):
    """Runs the trainer on counted words.

    The trainer breaks ties between pairs by token id, and numbers "##" characters in hash-table
    order. They are therefore passed as special tokens, which come first and in order.
    """
    scale = -(-sum(counts.values()) // _MAX_COUNT)
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token=UNK))
    model.pre_tokenizer = tokenizers.pre_tokenizers.CharDelimiterSplit(" ")
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=max(1, min_frequency // scale),
        show_progress=progress,
        special_tokens=[*SPECIAL_TOKENS, *alphabet],
        continuing_subword_prefix="##",
    )
    model.train_from_iterator(_repeated(counts, scale), trainer)
    ids = model.get_vocab(with_added_tokens=False)
    return sorted(ids, key=ids.get)


def _repeated(counts, scale):
    """Yields each word as often as it was counted, in strings of up to 4,096 words."""
    line = []
    for word in sorted(counts):
        times = max(1, counts[word] // scale)
        while times:
            now = min(times, 4096 - len(line))
            line += [word] * now
            times -= now
            if len(line) == 4096:
                yield " ".join(line)
                line = []
    if line:
        yield " ".join(line)
