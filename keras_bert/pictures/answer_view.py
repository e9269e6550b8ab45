"""Answers marked in the texts that they come from."""

import html
import itertools
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files

from keras_bert.files.whole import whole_file
from keras_bert.messages import check_one_each, shown

_TINTS = ["#cfe8fc", "#fde2b8", "#cdeccd", "#f6d0de", "#e3d7f5", "#fdf1a6", "#d5dde5"]
_FOR, _AGAINST = "60 140 230", "240 140 40"
_STYLE = files("keras_bert.pictures").joinpath("answer_view.css").read_text(encoding="utf-8")


class AnswerView:
    """Texts with their answers marked; see `show_answers`. A notebook shows it as it is."""

    def __init__(self, body: str):
        self._body = body

    def html(self) -> str:
        """Returns a page, which needs no other file and no network."""
        head = '<head><meta charset="utf-8"><title>Answers</title></head>'
        body = f"<body>\n{self._repr_html_()}\n</body>"
        return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{body}\n</html>\n'

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page to a file, to open in a browser."""
        with whole_file(path) as file:
            file.write(self.html())

    def __repr__(self):
        return f"AnswerView({self._body.count('<mark ')} marks; html() and save(path) show them)"

    def _repr_html_(self):
        return f'<style>\n{_STYLE}</style>\n<div class="answers">\n{self._body}\n</div>'


def show_answers(
    x: str | Mapping | Sequence[str | Mapping], answers: Mapping | Sequence[Mapping]
) -> AnswerView:
    """Marks entities in their texts, or the answers to questions in their contexts.

    Args:
        x: what `answer` was given: raw texts of a `BertTokenClassifier`, or questions of a
            `BertSpanLabeler`; one or a list of them.
        answers: what it gave.

    Returns:
        An `AnswerView`. A mark shows its score where the mouse rests.

    Raises:
        ValueError: if the numbers of both differ, or the answers aren't spans of the texts.

    Example:
    >>> answer = {"entity_start": [3], "entity_end": [8], "entity_type": ["LOC"]}
    >>> show_answers("In Paris", {**answer, "entity_score": [0.9]})
    AnswerView(1 marks; html() and save(path) show them)
    """
    if isinstance(answers, Mapping):
        x, answers = [x], [answers]
    check_one_each(len(x), "texts", answers=answers)
    examples = [_read(*pair) for pair in zip(x, answers, strict=True)]
    types = sorted({kind for _, _, marks in examples for *_, kind, _ in marks})
    tints = dict(zip(types, itertools.cycle(_TINTS), strict=False))
    lines = []
    for question, text, marks in examples:
        marks = [(start, end, tints[kind], score, kind) for start, end, kind, score in marks]
        lines.append(_marked(question, text, marks))
        if question is not None and not marks:
            lines[-1] = _marked(question, "", []) + '<p class="none">(no answer in the text)</p>'
    return AnswerView("\n".join(lines))


def show_explanation(x: str | Mapping | Sequence[str], explanation: Mapping) -> AnswerView:
    """Colors words by their weights: blue for the target, orange against it.

    Args:
        x: the example that `explain` was given.
        explanation: what it gave.

    Returns:
        An `AnswerView`. A word shows its weight where the mouse rests.

    Example:
    >>> places = {"word_column": [0, 0], "word_start": [0, 3], "word_end": [2, 7]}
    >>> show_explanation("So good", {**places, "word_weight": [-0.1, 0.8], "target": "yes"})
    AnswerView(2 marks; html() and save(path) show them)
    """
    if isinstance(x, Mapping):
        x = (x["question"], x["context"]) if "question" in x else x["text"]
    texts = [x] if isinstance(x, str) else [*x]
    most = max(map(abs, explanation["word_weight"]), default=0) or 1
    names = ("word_column", "word_start", "word_end", "word_weight")
    marks = [[] for _ in texts]
    for column, start, end, weight in zip(*(explanation[name] for name in names), strict=True):
        tint = f"rgb({_FOR if weight > 0 else _AGAINST} / {abs(weight) / most:.2f})"
        marks[column].append((start, end, tint, weight, ""))
    target = explanation["target"]
    named = "the score" if target is None else target or "no answer"
    heads = [f"Speaks for {named}:", *[None] * len(texts)]
    return AnswerView("\n".join(map(_marked, heads, texts, marks)))


def _read(example, answer):
    """Returns the question, or None, the text, and its marks, `(start, end, type, score)`."""
    question, text = None, example
    if isinstance(example, str) and "entity_start" in answer:
        names = ("entity_start", "entity_end", "entity_type", "entity_score")
        marks = sorted(zip(*(answer[name] for name in names), strict=True))
    elif isinstance(example, Mapping) and "start" in answer:
        question, text = example["question"], example["context"]
        marks = [(answer["start"], answer["end"], "", answer.get("score", ""))]
        marks = marks if answer["answer"] else []
    else:
        raise ValueError(
            "show_answers marks entities of raw texts and answers to questions; got a "
            f"{type(example).__name__} and an answer with {', '.join(answer)}."
        )
    places = [place for start, end, *_ in marks for place in (start, end)]
    if places != sorted(places) or (places and not 0 <= places[0] <= places[-1] <= len(text)):
        raise ValueError(
            f"Spans must lie in their text, one after the other; got {marks} for {shown(text)}."
        )
    return question, text, marks


def _marked(head, text, marks):
    """Returns HTML of a text below a line in bold; marks are `(start, end, tint, score, label)`."""
    parts, place = ["" if head is None else f'<p class="question">{html.escape(head)}</p>\n'], 0
    parts.append("<p>")
    for start, end, tint, score, label in marks:
        parts.append(html.escape(text[place:start]))
        title = f' title="{score:.3f}"' if score != "" else ""
        label = f"<small>{html.escape(label)}</small>" if label else ""
        inside = html.escape(text[start:end])
        parts.append(f'<mark style="background: {tint}"{title}>{inside}{label}</mark>')
        place = end
    return "".join([*parts, html.escape(text[place:]), "</p>"])
