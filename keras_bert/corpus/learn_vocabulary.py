"""Vocabularies learned from the inputs of a corpus."""

import collections
import functools
import os
import warnings
from collections.abc import Sequence

from keras_bert.corpus.corpus_plan import find_inputs, plan_slices
from keras_bert.corpus.documents import Settings
from keras_bert.corpus.text_files import BLOCK_BYTES, BROKEN
from keras_bert.corpus.workers import progress_bar, run_locally
from keras_bert.messages import check_int
from keras_bert.reports import Reports
from keras_bert.text.train_wordpieces import count_words, train_wordpieces
from keras_bert.text.vocabulary import SPECIAL_TOKENS

_MAX_DISTINCT_WORDS = 20_000_000  # about 3 GB


def learn_vocabulary(
    inputs: str | os.PathLike | Sequence[str | os.PathLike],
    vocabulary_size: int = 30522,
    *,
    text_column: str = "text",
    lowercase: bool = True,
    max_characters: int = 1000,
    min_frequency: int = 2,
    num_workers: int | None = None,
    progress: bool = True,
) -> list[str]:
    """Learns a WordPiece vocabulary from the inputs of `prepare_corpus`.

    Use it when no published vocabulary fits the language or domain. Inputs are read as
    `prepare_corpus` reads them, and split into words as `BertTokenizer` splits them. Memory grows
    with the number of distinct words, not with the inputs. The trainer of Hugging Face `tokenizers`
    then finds the pieces on all cores, by byte pair encoding with WordPiece's "##". The same inputs
    give the same vocabulary.

    Args:
        inputs: path or list of paths, as for `prepare_corpus`.
        vocabulary_size: number of tokens to learn, including the special ones.
        text_column: column of the texts in .jsonl and .parquet files.
        lowercase: `True` for an uncased vocabulary.
        max_characters: number of characters to keep, the most frequent first; words with any other
            character are skipped, because the tokenizer turns them into [UNK].
        min_frequency: number of occurrences; rarer pieces are not learned.
        num_workers: number of processes, as for `prepare_corpus`.
        progress: whether to show progress bars and print a summary, with irregularities of the
            input. If false, bytes that are not UTF-8 are still reported, by a warning.

    Returns:
        list of str: [PAD] (id 0), [UNK], [CLS], [SEP], [MASK], then characters, then pieces; fewer
        than `vocabulary_size`, with a warning, if the texts have no more pieces.

    Raises:
        ValueError: if inputs are missing, damaged, of an unknown kind or without any words, or
            `vocabulary_size` leaves no room for the special tokens and characters.
        RuntimeError: if a worker process dies.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "text.txt")
    >>> _ = path.write_text("low lower lowest, low lower lowest")
    >>> vocabulary = learn_vocabulary(path, vocabulary_size=22, progress=False)
    >>> vocabulary[:6], vocabulary[-3:]
    (['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ','], ['lo', 'low', 'lowe'])
    """
    check_int("vocabulary_size", vocabulary_size, at_least=len(SPECIAL_TOKENS) + 1)
    reports = Reports()
    files = find_inputs(inputs, reports)
    settings = Settings(text_column=text_column)
    work = functools.partial(_count_slice, settings=settings, lowercase=lowercase)
    slices = plan_slices(files, settings)
    counts = _count_words(slices, work, min_frequency, num_workers, reports, progress)
    if not counts:
        raise ValueError(
            f"There are no words to learn from in {files[0].path} (of {len(files):,}). Give files "
            f"that contain text. {'; '.join(reports.lines())}"
        )
    _tell(files, counts, reports, progress)
    tokens = train_wordpieces(counts, vocabulary_size, max_characters, min_frequency, progress)
    if len(tokens) < vocabulary_size:
        warnings.warn(
            f"the vocabulary has {len(tokens)} tokens, not vocabulary_size={vocabulary_size}: no "
            f"more pieces occur {min_frequency} times or more in the texts",
            stacklevel=2,
        )
    return tokens


def _count_words(slices, work, min_frequency, num_workers, reports, progress):
    counts = collections.Counter()
    with progress_bar("words", slices, progress) as bar:
        # In the order of the inputs: what is dropped depends on it.
        for slice_, (new_counts, new_reports) in run_locally(slices, work, num_workers):
            bar.update(slice_.text_bytes)
            counts.update(new_counts)
            reports.merge(new_reports)
            if len(counts) > _MAX_DISTINCT_WORDS:
                rare = [word for word, count in counts.items() if count < min_frequency]
                for word in rare:  # a list of all words with their counts takes a gigabyte
                    del counts[word]
    return counts


def _count_slice(slice_, settings, lowercase):
    reports = Reports()
    counts = collections.Counter()
    texts = []
    size = 0
    for _, _, passages in slice_.documents(settings, reports):
        texts += passages
        size += sum(map(len, passages))
        if size > BLOCK_BYTES:
            counts.update(count_words("\n".join(texts), lowercase))
            texts = []
            size = 0
    counts.update(count_words("\n".join(texts), lowercase))
    return counts, reports.as_dict()


def _tell(files, counts, reports, progress):
    """Prints what was read and its irregularities; without progress, warns of lost bytes."""
    if progress:
        noun = "file" if len(files) == 1 else "files"
        print(f"{counts.total():,} words, {len(counts):,} distinct, in {len(files):,} {noun}")
        for line in reports.lines():
            print(f"note: {line}")
        return
    for line in reports.lines():
        if BROKEN in line:
            lost = "The vocabulary lacks these characters; convert the files to UTF-8."
            warnings.warn(f"{line}. {lost}", stacklevel=3)
