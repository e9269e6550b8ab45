"""Spans of characters as tags of words: those of doccano, Label Studio, Prodigy and spaCy."""

import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from keras_bert.messages import check_one_each, logger, shown
from keras_bert.preprocessing.text_words import TextWords


def tags_of_spans(
    words: TextWords, spans: Sequence, names: Collection[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Returns the words of each text and their tags, in the scheme of the classes' `names`."""
    check_one_each(len(words.texts), "texts", **{"lists of spans": spans})
    bounds = np.searchsorted(words.text, np.arange(1, len(words.texts)))
    starts = np.split(words.start, bounds)
    ends = np.split(words.end, bounds)
    sentences = []
    tags = []
    for text, first, last, given in zip(words.texts, starts, ends, spans, strict=True):
        if isinstance(given, Mapping):  # spaCy's
            given = given.get("entities")
        given = given if hasattr(given, "__len__") else [given]
        sentences.append([text[start:end] for start, end in zip(first, last, strict=True)])
        tags.append(_tags(text, first, last, list(map(_span, given)), names))
    return sentences, tags


def _tags(text, starts, ends, spans, names):
    """Returns the tags of a text's words, which start and end at these characters."""
    tags = ["O"] * len(starts)
    for start, end, type_ in spans:
        [inside] = np.nonzero((starts < end) & (ends > start))
        if {tags[word] for word in inside} != {"O"}:
            raise ValueError(
                f"The span {text[start:end]!r}, {start} to {end} of {shown(text)}, holds no word, "
                "or one of another span: leave one out."
            )
        if text[start:end].strip() != text[starts[inside[0]] : ends[inside[-1]]]:
            message = "The span %r, %d to %d of %s, is amid a word, all of which gets its tag."
            logger.warning(message, text[start:end], start, end, shown(text))
        for place, word in enumerate(inside, start=1):
            tags[word] = _tag(type_, place, len(inside), names)
    return tags


def _tag(type_, place, count, names):
    """Returns the tag of a word of an entity; without a prefix if the scheme has none."""
    prefixes = "BI" if place == 1 else "ELI" if place == count else "I"
    for prefix in "SUBI" if count == 1 else prefixes:
        if f"{prefix}-{type_}" in names:
            return f"{prefix}-{type_}"
    return type_


def _span(given: Any) -> tuple[int, int, str]:
    span = given
    if isinstance(given, Mapping):
        fields = given.get("value", given)  # Label Studio's
        start = fields.get("start", fields.get("start_offset"))
        end = fields.get("end", fields.get("end_offset"))
        span = start, end, *(fields.get("labels") or [fields.get("label")])
    if np.shape(span) != (3,) or not all(isinstance(at, numbers.Integral) for at in span[:2]):
        raise ValueError(
            f"Each text takes a list of spans, (start, end, type); got {shown(given)}. Tags are "
            "for lists of words."
        )
    return span
