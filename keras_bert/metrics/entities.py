"""How well entities are found, as CoNLL's `conlleval` counts it."""

import re

_KINDS = {"B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}
_PREFIXED = re.compile(r"([BIESMLU])-(.*)", re.DOTALL)


def entity_scores(true_tags, predicted_tags):
    """Precision, recall and F1 of entities, as `conlleval` of CoNLL-2000 and 2003 counts them.

    An entity is right if its first word, its last word and its type are. Tags that don't follow
    their scheme are read as `conlleval` reads them: an I- that nothing precedes begins an entity,
    and so does one of another type than the tag before. BIO, IOB1 and BIOES are all read; tags
    without a prefix, as those of parts of speech, are each an entity of one word (`conlleval -r`).

    Args:
        true_tags: lists of str, the tags of each sentence.
        predicted_tags: the same, predicted.

    Returns:
        A dict of `precision`, `recall` and `f1` of all entities, `accuracy` of the tags, all
        floats from 0 to 1 (0 where there is nothing to divide by), and `types`: of each type a
        dict of `precision`, `recall`, `f1`, and the numbers of entities that are `true`,
        `predicted` and `correct`.

    Raises:
        ValueError: if there are not as many sentences, or tags in one of them.

    Example:
    >>> scores = entity_scores([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    >>> scores["precision"], scores["types"]["LOC"]["f1"], scores["accuracy"]
    (0.5, 1.0, 0.75)
    """
    _check_as_many(true_tags, predicted_tags)
    counts, right, total = {}, 0, 0
    for true, predicted in zip(true_tags, predicted_tags, strict=True):
        right += sum(a == b for a, b in zip(true, predicted, strict=True))
        total += len(true)
        found = {"true": set(tagged_entities(true)), "predicted": set(tagged_entities(predicted))}
        found["correct"] = found["true"] & found["predicted"]
        for name, entities in found.items():
            for type_, _, _ in entities:
                counts.setdefault(type_, {"true": 0, "predicted": 0, "correct": 0})[name] += 1
    sums = {
        name: sum(count[name] for count in counts.values())
        for name in ("true", "predicted", "correct")
    }
    return {
        **_ratios(**sums),
        "accuracy": right / total if total else 0.0,
        "types": {type_: {**_ratios(**counts[type_]), **counts[type_]} for type_ in sorted(counts)},
    }


def tagged_entities(tags):
    """The entities of a tagged sentence, by `conlleval`'s rules.

    Args:
        tags: list of str.

    Returns:
        A list of `(type, start, end)`: words `start` to `end - 1`.
    """
    entities, before, type_before = [], "O", ""
    for index, tag in enumerate([*tags, "O"]):
        kind, type_ = split_tag(tag)
        begins = begins_entity(before, type_before, kind, type_)
        if before != "O" and (begins or kind == "O"):
            entities[-1] += (index,)
        if begins:
            entities.append((type_, index))
        before, type_before = kind, type_
    return entities


def begins_entity(kind_before, type_before, kind, type_):
    """Whether a tag begins an entity, given the tag before it, both as `split_tag` gives them."""
    return kind != "O" and (
        kind in "BS" or kind_before in "OES" or type_ != type_before  # E and S end theirs
    )


def split_tag(tag):
    """`(kind, type)` of a tag: "B-LOC" is `("B", "LOC")`, "O" `("O", "")`, "NN" `("S", "NN")`.

    The kind is one of B, I, E, S and O; the letters of BMES and BILOU are read as these.
    """
    if tag in ("O", "B", "I", "E", "S"):
        return tag, ""
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
            raise ValueError(
                f"{name} must be a list of sentences, each a list of tags; it is a single list. "
                "Give [tags] for one sentence."
            )
    if len(true_tags) != len(predicted_tags):
        raise ValueError(
            f"There are {len(true_tags)} tagged sentences but {len(predicted_tags)} predicted "
            "ones: give each sentence its predicted tags."
        )
    for index, (true, predicted) in enumerate(zip(true_tags, predicted_tags, strict=True)):
        if len(true) != len(predicted):
            raise ValueError(
                f"Sentence {index} has {len(true)} tags but {len(predicted)} predicted ones: give "
                "each word one of both."
            )
