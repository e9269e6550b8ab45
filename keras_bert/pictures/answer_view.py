"""Answers marked in the texts that they come from."""

import html
import itertools
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files

from keras_bert.files.whole import whole_file
from keras_bert.messages import check_one_each, shown

_TINTS = ["#cfe8fc", "#fde2b8", "#cdeccd", "#f6d0de", "#e3d7f5", "#fdf1a6", "#d5dde5"]
_FOR = "60 140 230"
_AGAINST = "240 140 40"
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
        x = [x]
        answers = [answers]
    check_one_each(len(x), "texts", answers=answers)
    examples = list(map(_read, x, answers))
    types = set()
    for _, _, spans in examples:
        types.update(type_ for _, _, type_, _ in spans)
    tints = dict(zip(sorted(types), itertools.cycle(_TINTS), strict=False))
    lines = []
    for question, text, spans in examples:
        if question is not None and not spans:
            line = _marked(question, "", []) + '<p class="none">(no answer in the text)</p>'
        else:
            marks = [(start, end, tints[type_], score, type_) for start, end, type_, score in spans]
            line = _marked(question, text, marks)
        lines.append(line)
    return AnswerView("\n".join(lines))


def show_explanation(x: str | Mapping | Sequence[str], explanation: Mapping) -> AnswerView:
    """Colors words by their weights: blue for the target, orange against it.

    Args:
        x: the example that `explain` was given.
        explanation: what it gave.

    Returns:
        An `AnswerView`. A word shows its weight where the mouse rests.

    Example:
    >>> words = {"word_column": [0, 0], "word_start": [0, 3], "word_end": [2, 7]}
    >>> show_explanation("So good", {**words, "word_weight": [-0.1, 0.8], "target": "yes"})
    AnswerView(2 marks; html() and save(path) show them)
    """
    if isinstance(x, Mapping):
        x = x["text"]
    texts = [x] if isinstance(x, str) else x
    weights = explanation["word_weight"]
    largest = max(map(abs, weights), default=0) or 1
    marks = [[] for _ in texts]
    for word, weight in enumerate(weights):
        start = explanation["word_start"][word]
        end = explanation["word_end"][word]
        color = _FOR if weight > 0 else _AGAINST
        tint = f"rgb({color} / {abs(weight) / largest:.2f})"
        marks[explanation["word_column"][word]].append((start, end, tint, weight, ""))
    target = explanation["target"]
    heads = [f"Speaks for {'the score' if target is None else target}:", None]
    return AnswerView("\n".join(map(_marked, heads, texts, marks)))


def _read(example, answer):
    """Returns the question, or None, the text, and its spans, `(start, end, type, score)`."""
    question = None
    text = example
    spans = []
    if isinstance(example, str) and "entity_start" in answer:
        names = ("entity_start", "entity_end", "entity_type", "entity_score")
        columns = [answer[name] for name in names]
        spans = sorted(zip(*columns, strict=True))
    elif isinstance(example, Mapping) and "start" in answer:
        question = example["question"]
        text = example["context"]
        if answer["answer"]:
            spans.append((answer["start"], answer["end"], "", answer.get("score", "")))
    else:
        raise ValueError(
            "show_answers marks entities of raw texts and answers to questions; got a "
            f"{type(example).__name__} and an answer with {', '.join(answer)}."
        )
    position = 0
    for start, end, *_ in spans:
        if not position <= start <= end <= len(text):
            raise ValueError(
                f"Spans must lie in their text, one after the other; got {spans} for {shown(text)}."
            )
        position = end
    return question, text, spans


def _marked(head, text, marks):
    """Returns HTML of a text below a line in bold; marks are `(start, end, tint, score, label)`."""
    page = "" if head is None else f'<p class="question">{html.escape(head)}</p>\n'
    page += "<p>"
    position = 0
    for start, end, tint, score, label in marks:
        title = "" if score == "" else f' title="{score:.3f}"'
        inside = html.escape(text[start:end])
        if label:
            inside += f"<small>{html.escape(label)}</small>"
        page += html.escape(text[position:start])
        page += f'<mark style="background: {tint}"{title}>{inside}</mark>'
        position = end
    return page + html.escape(text[position:]) + "</p>"
