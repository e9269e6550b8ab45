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
    bounds = np.searchsorted(words.text, np.arange(len(words.texts) + 1))
    sentences = []
    tags = []
    for index, text in enumerate(words.texts):
        own = slice(bounds[index], bounds[index + 1])
        starts = words.start[own]
        ends = words.end[own]
        sentence_tags = ["O"] * len(starts)
        for start, end, type_ in _spans(index, spans[index]):
            [inside] = np.nonzero((starts < end) & (ends > start))
            if {sentence_tags[word] for word in inside} != {"O"}:
                raise ValueError(
                    f"Text {index} has the span {shown(text[start:end])} from {start} to {end}, "
                    "without words, or with those of another span: leave one out."
                )
            if text[start:end].strip() != text[starts[inside[0]] : ends[inside[-1]]]:
                message = "Text %d has the span %r amid a word, which gets its tag."
                logger.warning(message, index, text[start:end])
            for place, word in enumerate(inside):
                sentence_tags[word] = _tag(type_, place, len(inside), names)
        sentences.append([text[start:end] for start, end in zip(starts, ends, strict=True)])
        tags.append(sentence_tags)
    return sentences, tags


def _spans(index: int, given: Any) -> list[tuple[int, int, str]]:
    """Lists the spans of a text."""
    if isinstance(given, Mapping):
        given = given.get("entities")
    spans = []
    for span in given if isinstance(given, (list, tuple, np.ndarray)) else [given]:
        if isinstance(span, Mapping):
            fields = span.get("value", span)  # Label Studio's
            [label, *_] = fields.get("labels") or [fields.get("label")]
            start = fields.get("start", fields.get("start_offset"))
            span = start, fields.get("end", fields.get("end_offset")), label
        is_span = isinstance(span, (list, tuple, np.ndarray)) and len(span) == 3
        if not is_span or not all(isinstance(place, numbers.Integral) for place in span[:2]):
            raise ValueError(
                f"Text {index} has {shown(span)} in place of a span, (start, end, type). Tags are "
                "for lists of words."
            )
        spans.append(span)
    return spans


def _tag(type_, place, count, names):
    """Returns the tag of a word of an entity; without a prefix if the scheme has none."""
    prefixes = "BI" if place == 0 else "ELI" if place == count - 1 else "I"
    for prefix in "SUBI" if count == 1 else prefixes:
        if f"{prefix}-{type_}" in names:
            return f"{prefix}-{type_}"
    return type_
