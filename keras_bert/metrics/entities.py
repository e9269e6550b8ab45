"""Named entity recognition scores, as CoNLL's `conlleval` defines them."""

import functools
import re
from collections import Counter
from collections.abc import Sequence

from keras_bert.messages import check_one_each

_KINDS = {"O": "O", "B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}
_PREFIXED = re.compile(r"([BIESMLU])-(.*)", re.DOTALL)


def entity_scores(
    true_tags: Sequence[Sequence[str]], predicted_tags: Sequence[Sequence[str]]
) -> dict[str, float | dict]:
    """Computes precision, recall and F1 of entities, as `conlleval` of CoNLL-2000 and 2003 does.

    An entity is correct if its first word, its last word and its type are. Tags that violate their
    scheme are read as `conlleval` reads them: an I- begins an entity if it comes first or follows
    a tag of another type. A tag without a prefix, such as a part of speech, is an entity of one
    word (`conlleval -r`).

    The schemes BIO, IOB1, BIOES, BILOU and BMES are accepted, with types or without. `conlleval`
    has the first two only: to compare scores with the script's, convert the tags to BIO first.

    Args:
        true_tags: lists of str, the tags of each sentence.
        predicted_tags: the same, predicted.

    Returns:
        A dict of `precision`, `recall` and `f1` of all entities and `accuracy` of the tags, floats
        from 0 to 1 (0 if the denominator is 0). Its `types` maps each type to a dict of
        `precision`, `recall`, `f1`, and the numbers of `true`, `predicted` and `correct` entities.

    Raises:
        ValueError: if the numbers of sentences, or of tags in a sentence, differ.

    Example:
    >>> scores = entity_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    >>> scores["precision"], scores["types"]["LOC"]["f1"], scores["accuracy"]
    (0.5, 1.0, 0.75)
    """
    _check_as_many(true_tags, predicted_tags)
    true, predicted = (
        {(row, *entity) for row, tags in enumerate(sentences) for entity in tagged_entities(tags)}
        for sentences in (true_tags, predicted_tags)
    )
    entities = {"true": true, "predicted": predicted, "correct": true & predicted}
    counts = {name: Counter(type_ for _, type_, _, _ in each) for name, each in entities.items()}
    types = {}
    for type_ in sorted(counts["true"] | counts["predicted"]):
        numbers = {name: count[type_] for name, count in counts.items()}
        types[type_] = {**_ratios(**numbers), **numbers}
    pairs = zip(true_tags, predicted_tags, strict=True)
    is_right = [a == b for pair in pairs for a, b in zip(*pair, strict=True)]
    return {
        **_ratios(**{name: count.total() for name, count in counts.items()}),
        "accuracy": sum(is_right) / len(is_right) if is_right else 0.0,
        "types": types,
    }


def tagged_entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Finds `(type, start, end)` of the entities of a sentence by `conlleval`'s rules and S-."""
    entities, before, type_before = [], "O", ""
    for index, tag in enumerate([*tags, "O"]):
        kind, type_ = split_tag(tag)
        # E and S end an entity.
        begins = kind != "O" and (kind in "BS" or before in "OES" or type_ != type_before)
        if before != "O" and (begins or kind == "O"):
            entities[-1] += (index,)
        if begins:
            entities.append((type_, index))
        before, type_before = kind, type_
    return entities


@functools.lru_cache
def split_tag(tag: str) -> tuple[str, str]:
    """Splits a tag: "B-LOC" gives `("B", "LOC")`, "O" `("O", "")` and "NN" `("S", "NN")`.

    The kind is one of B, I, E, S and O; the letters of BMES and BILOU are mapped to these.
    """
    if tag in _KINDS:
        return _KINDS[tag], ""
    match = _PREFIXED.fullmatch(tag)
    return (_KINDS[match[1]], match[2]) if match else ("S", tag)


def _ratios(true, predicted, correct):
    precision = correct / predicted if predicted else 0.0
    recall = correct / true if true else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _check_as_many(true_tags, predicted_tags):
    for name, tags in (("true_tags", true_tags), ("predicted_tags", predicted_tags)):
        if isinstance(tags, str) or (len(tags) and isinstance(tags[0], str)):
            raise ValueError(f"{name} must be a list of sentences: give [tags] for a single one.")
    check_one_each(len(true_tags), "tagged sentences", predicted_tags=predicted_tags)
    for index, (true, predicted) in enumerate(zip(true_tags, predicted_tags, strict=True)):
        check_one_each(len(true), f"tags in sentence {index}", predicted_tags=predicted)
