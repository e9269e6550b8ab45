"""Named entity recognition scores, as CoNLL's `conlleval` defines them."""

import functools
import operator
from collections import Counter
from collections.abc import Sequence

from keras_bert.messages import check_one_each

_PREFIXES = {"O": "O", "B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}


def entity_scores(
    true_tags: Sequence[Sequence[str]], predicted_tags: Sequence[Sequence[str]]
) -> dict[str, float | dict]:
    """Computes precision, recall and F1 of entities, as `conlleval` of CoNLL-2000 and 2003 does.

    An entity is correct if its first word, last word and type are. Tags that violate their
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
    for name, sentences in {"true_tags": true_tags, "predicted_tags": predicted_tags}.items():
        if isinstance(sentences, str) or (len(sentences) and isinstance(sentences[0], str)):
            raise ValueError(f"{name} must be a list of sentences: give [tags] for a single one.")
    check_one_each(len(true_tags), "tagged sentences", predicted_tags=predicted_tags)
    true = Counter()  # entities by type
    predicted = Counter()
    correct = Counter()
    num_tags = 0
    num_right = 0
    for index, tags in enumerate(true_tags):
        other_tags = predicted_tags[index]
        check_one_each(len(tags), f"tags in sentence {index}", predicted_tags=other_tags)
        num_tags += len(tags)
        num_right += sum(map(operator.eq, tags, other_tags))
        entities = set(tagged_entities(tags))
        others = set(tagged_entities(other_tags))
        true.update(_types(entities))
        predicted.update(_types(others))
        correct.update(_types(entities & others))
    types = {}
    for type_ in sorted(true | predicted):
        counts = {"true": true[type_], "predicted": predicted[type_], "correct": correct[type_]}
        types[type_] = _ratios(**counts) | counts
    scores = _ratios(true.total(), predicted.total(), correct.total())
    return scores | {"accuracy": num_right / max(num_tags, 1), "types": types}


def _types(entities):
    return [type_ for type_, _, _ in entities]


def tagged_entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Finds a sentence's entities, `(type, start, end)`, by `conlleval`'s rules, E- and S-."""
    entities = []
    start = 0
    last_prefix = "O"
    last_type = ""
    for index, tag in enumerate([*tags, "O"]):
        prefix, type_ = split_tag(tag)
        continues = prefix in "IE" and last_prefix in "BI" and type_ == last_type  # E and S end one
        if not continues:
            if last_prefix != "O":
                entities.append((last_type, start, index))
            start = index
        last_prefix = prefix
        last_type = type_
    return entities


@functools.lru_cache
def split_tag(tag: str) -> tuple[str, str]:
    """Splits a tag: "B-LOC" is `("B", "LOC")`, "O" is `("O", "")` and "NN" is `("S", "NN")`.

    The prefix is one of B, I, E, S and O, to which the other letters of BMES and BILOU map.
    """
    prefix, dash, type_ = tag.partition("-")
    if prefix not in _PREFIXES or (prefix == "O" and dash):
        return "S", tag
    return _PREFIXES[prefix], type_


def _ratios(true, predicted, correct):
    precision = correct / max(predicted, 1)
    recall = correct / max(true, 1)
    f1 = 0.0
    if correct:
        f1 = 2 * precision * recall / (precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}
