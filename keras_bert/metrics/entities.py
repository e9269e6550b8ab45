"""Named entity recognition scores, as CoNLL's `conlleval` defines them."""

import functools
import operator
import re
from collections import Counter
from collections.abc import Sequence

from keras_bert.messages import check_one_each

_PREFIXES = {"O": "O", "B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}
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
    true, predicted, correct = Counter(), Counter(), Counter()  # of entities, by type
    num_tags = num_right = 0
    for tags, other_tags in zip(true_tags, predicted_tags, strict=True):
        num_tags += len(tags)
        num_right += sum(map(operator.eq, tags, other_tags))
        entities = set(tagged_entities(tags))
        others = set(tagged_entities(other_tags))
        true.update(type_ for type_, *_ in entities)
        predicted.update(type_ for type_, *_ in others)
        correct.update(type_ for type_, *_ in entities & others)
    types = {}
    for type_ in sorted(true | predicted):
        counts = (true[type_], predicted[type_], correct[type_])
        names = ("true", "predicted", "correct")
        types[type_] = _ratios(*counts) | dict(zip(names, counts, strict=True))
    scores = _ratios(true.total(), predicted.total(), correct.total())
    return {**scores, "accuracy": num_right / max(num_tags, 1), "types": types}


def tagged_entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Finds `(type, start, end)` of the entities of a sentence by `conlleval`'s rules and S-."""
    entities = []
    start = None  # of the entity that the last tag is part of
    prefix_before, type_before = "O", ""
    for index, tag in enumerate([*tags, "O"]):
        prefix, type_ = split_tag(tag)
        # E and S end an entity.
        continues = prefix in "IE" and prefix_before in "BI" and type_ == type_before
        if start is not None and not continues:
            entities.append((type_before, start, index))
            start = None
        if start is None and prefix != "O":
            start = index
        prefix_before, type_before = prefix, type_
    return entities


@functools.lru_cache
def split_tag(tag: str) -> tuple[str, str]:
    """Splits a tag: "B-LOC" gives `("B", "LOC")`, "O" `("O", "")` and "NN" `("S", "NN")`.

    The prefix is one of B, I, E, S and O; the letters of BMES and BILOU are mapped to these.
    """
    if tag in _PREFIXES:
        return _PREFIXES[tag], ""
    match = _PREFIXED.fullmatch(tag)
    if match is None:
        return "S", tag
    prefix, type_ = match.groups()
    return _PREFIXES[prefix], type_


def _ratios(true, predicted, correct):
    precision = correct / predicted if predicted else 0.0
    recall = correct / true if true else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _check_as_many(true_tags, predicted_tags):
    for name, tags in {"true_tags": true_tags, "predicted_tags": predicted_tags}.items():
        if isinstance(tags, str) or (len(tags) and isinstance(tags[0], str)):
            raise ValueError(f"{name} must be a list of sentences: give [tags] for a single one.")
    check_one_each(len(true_tags), "tagged sentences", predicted_tags=predicted_tags)
    for index, (true, predicted) in enumerate(zip(true_tags, predicted_tags, strict=True)):
        check_one_each(len(true), f"tags in sentence {index}", predicted_tags=predicted)
