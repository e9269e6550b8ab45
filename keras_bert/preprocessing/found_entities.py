"""Search for entities in the logits of words. W words, E entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_bert.metrics.entities import split_tag
from keras_bert.preprocessing.text_words import TextWords


def found_entities(outputs: Any, words: TextWords, label_names: Sequence[str]) -> dict[str, Any]:
    """Finds the entities of texts by `conlleval`'s rules, from the logits of their words.

    Args:
        outputs: logits `[N, S, C]`, float, of the rows of `words`.
        words: `TextWords`.
        label_names: C strings, tags with or without prefixes.

    Returns:
        A dict; see `BertTokenClassifierPreprocessor.answers`.
    """
    ops = words.windows.ops
    parts = [split_tag(name) for name in label_names]
    type_names = sorted({type_ for _, type_ in parts})
    opens, closes, inside = (
        ops.array([kind in kinds for kind, _ in parts]) for kinds in ("BS", "OES", "BIES")
    )
    types = ops.array([type_names.index(type_) for _, type_ in parts])
    logits = ops.take_at(outputs, words.window, words.position)  # [W, C]
    probabilities = ops.softmax(logits)
    label = ops.argmax(probabilities, axis=-1)  # [W]
    score = ops.take_each(probabilities, label[:, None])[:, 0]
    is_in, type_, text = ops.take(inside, label), ops.take(types, label), words.text
    follows = (text[1:] == text[:-1]) & ~ops.take(closes, label)[:-1] & (type_[1:] == type_[:-1])
    follows = ops.concat([ops.full([1], False, "bool"), follows], axis=0)[: ops.size(label)]
    begins = is_in & (~follows | ops.take(opens, label))
    first, member = ops.flatnonzero(begins), ops.flatnonzero(is_in)  # [E], words in entities
    number = ops.take(ops.cumsum(ops.cast(begins, "int64")) - 1, member)
    last = ops.segment_max(member, number, ops.size(first))
    text = ops.take(text, first)
    start, end = ops.take(words.start, first), ops.take(words.end, last)
    values = {
        "text": ops.cut(words.texts, text, start, end),
        "type": ops.take(ops.strings(type_names), ops.take(type_, first)),
        **ops.located(words.texts, text, start, end),
        "score": ops.segment_mean(ops.take(score, member), number, ops.size(first)),
    }
    counts = ops.segment_sum(ops.full([ops.size(first)], 1, "int64"), text, ops.size(words.texts))
    found = {f"entity_{name}": ops.ragged(value, counts) for name, value in values.items()}
    return {**found, "num_entities": counts}
