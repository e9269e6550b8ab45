"""Argument checks that run before any long work starts."""

import re
from typing import TYPE_CHECKING

from keras_bert.corpus.record_groups import num_groups
from keras_bert.corpus.shards import Corpus
from keras_bert.corpus.text_documents import TEXT_FORMATS

if TYPE_CHECKING:
    from keras_bert.corpus.corpus_plan import Settings


def check_settings(settings: "Settings") -> None:
    """Raises a ValueError for settings that `prepare_corpus` cannot use."""
    if settings.text_format not in TEXT_FORMATS:
        raise ValueError(
            f"text_format must be one of {', '.join(TEXT_FORMATS)}; got "
            f"{settings.text_format!r}. 'sentences' means one sentence per line and a blank line "
            "between documents; 'prose' is any other text."
        )
    if settings.document_separator is None:
        return
    if settings.text_format == "sentences":
        raise ValueError(
            "document_separator is only for text_format='prose'; with 'sentences' a blank line "
            "ends a document. Omit it."
        )
    try:
        re.compile(settings.document_separator)
    except re.error as error:
        raise ValueError(
            f"document_separator {settings.document_separator!r} is not a regular expression: "
            f"{error}"
        ) from error


def check_same_plan(output: str, old: dict, new: dict) -> None:
    """Raises a ValueError if the folder's corpus was made from a different plan."""
    if old == new:
        return
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    raise ValueError(
        f"{output} holds a finished or unfinished corpus that was made with different "
        f"{', '.join(names)}. Give another output folder, or remove this one to prepare the "
        "corpus again."
    )


def check_rates(**rates: float) -> None:
    """Raises a ValueError unless all rates are probabilities and masking rates sum to at most 1."""
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} is a probability, 0 to 1; got {rate}.")
    if rates["mask_token_rate"] + rates["random_token_rate"] > 1 + 1e-9:
        raise ValueError(
            "mask_token_rate and random_token_rate are fractions of the predicted tokens and must "
            f"add up to at most 1; got {rates['mask_token_rate']} and "
            f"{rates['random_token_rate']}."
        )


def check_sequence_length(sequence_length: int, next_sentence: bool) -> None:
    """Raises a ValueError for a length that leaves no room for text or exceeds 2,048."""
    least = 5 if next_sentence else 3
    if not least <= sequence_length <= 2048:
        raise ValueError(
            f"sequence_length must be {least} to 2048 (including special tokens); got "
            f"{sequence_length}. BERT is trained with 128, then 512."
        )


def check_position(start_step: int, shard: tuple[int, int]) -> None:
    """Raises a ValueError for a negative step or an impossible shard."""
    if start_step < 0:
        raise ValueError(f"start_step must not be negative; got {start_step}.")
    index, count = shard
    if not 0 <= index < count:
        raise ValueError(f"shard must be (index, count) with 0 <= index < count; got {shard}.")


def check_corpus(corpus: Corpus, next_sentence: bool, shard: tuple[int, int]) -> None:
    """Raises a ValueError for a corpus with too little text to train on."""
    if not corpus.num_sentences:
        raise ValueError(
            f"The corpus in {corpus.folder} has no sentences, so there is nothing to train on. "
            "Prepare it again, from files that contain text."
        )
    groups = num_groups(corpus.num_records)
    if shard[0] >= groups:
        raise ValueError(
            f"The corpus in {corpus.folder} has {corpus.num_records:,} records, which make "
            f"{groups:,} groups; a shard needs at least one, and shard={shard} has none. "
            f"Give at most {groups:,} shards, or a larger corpus."
        )
    if next_sentence and corpus.num_documents < 2:
        raise ValueError(
            f"The corpus in {corpus.folder} has {corpus.num_documents} document: next sentence "
            "prediction needs another one to draw random sentences from. Prepare more files, mark "
            "where documents end with document_separator (--document_separator '^CHAPTER ' of "
            "prepare_corpus.py splits a novel), or pass next_sentence=False (--no_next_sentence)."
        )
