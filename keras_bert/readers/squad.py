"""Questions on paragraphs, in the JSON of SQuAD 1.1 and 2.0."""

import json
import logging
import os

from keras_bert.files.reports import Reports
from keras_bert.files.utf8 import read_utf8

logger = logging.getLogger("keras_bert")
MISPLACED = "answers that don't stand at their answer_start, not learnt from"
UNANSWERED = "questions without an answer that are not said to be impossible, not learnt from"
CONTRADICTORY = "questions said to be impossible that have answers, read as impossible"


class SquadExamples(list):
    """What `read_squad` gives: a list of questions, each a dict.

    Args:
        examples: the dicts.
        reports: a `Reports` of what was strange in the file.
    """

    def __init__(self, examples, reports):
        super().__init__(examples)
        self.reports = reports


def read_squad(path):
    """Reads a file of SQuAD, 1.1 or 2.0.

    Source: Rajpurkar et al. 2016 and 2018; the files of rajpurkar.github.io/SQuAD-explorer.

    Args:
        path: the JSON file; anything that `tf.io.gfile` opens.

    Returns:
        A list of dicts, one a question: `id`, `title`, `question`, `context`, `answers` (a list of
        dicts of `text` and `answer_start`, in characters) and, in files of 2.0, `is_impossible`.
        Its attribute `reports` counts what was strange, as answers that don't stand where the file
        says, from which nothing is learnt; that is logged too.

    Raises:
        ValueError: if the file is not SQuAD's JSON, with the place, or an id comes twice.

    Example:
    >>> import json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "dev.json")
    >>> question = {"id": "1", "question": "What is it?", "answers": [
    ...     {"text": "a book", "answer_start": 6}]}
    >>> paragraphs = [{"context": "It is a book.", "qas": [question]}]
    >>> with open(path, "w") as file:
    ...     json.dump({"version": "1.1", "data": [{"title": "T", "paragraphs": paragraphs}]}, file)
    >>> [example] = read_squad(path)
    >>> example["context"], example["answers"][0]["text"]
    ('It is a book.', 'a book')
    """
    path = os.fspath(path)
    examples, reports, ids = [], Reports(), set()
    for article, where in _dicts(_data(path), f"{path}, data"):
        title = article.get("title", "")
        for paragraph, where_paragraph in _dicts(
            _part(article, "paragraphs", list, where), f"{where}.paragraphs"
        ):
            context = _part(paragraph, "context", str, where_paragraph)
            questions = _part(paragraph, "qas", list, where_paragraph)
            for question, place in _dicts(questions, f"{where_paragraph}.qas"):
                example = _example(question, title, context, place)
                if example["id"] in ids:
                    raise ValueError(
                        f"{place}: the id {example['id']!r} comes twice; answers are told apart by "
                        "it. Give each question an id of its own."
                    )
                ids.add(example["id"])
                _report(example, reports)
                examples.append(example)
    if not examples:
        raise ValueError(f"{path} holds no questions.")
    for line in reports.lines():
        logger.warning("%s: %s", path, line)
    return SquadExamples(examples, reports)


def training_answer(example):
    """The answer that an example teaches.

    Args:
        example: a dict as `read_squad` gives.

    Returns:
        `(start, end)`, characters of the context; `(0, 0)` of an impossible question; None if
        there is nothing to learn: no answer, or none that stands where it is said to.
    """
    if example.get("is_impossible"):
        return 0, 0
    for answer in example.get("answers", ()):
        text, start = answer["text"], answer["answer_start"]
        if stands(example["context"], answer):
            stripped = text.lstrip()
            start += len(text) - len(stripped)
            return start, start + len(stripped.rstrip())
    return None


def stands(context, answer):
    """Whether an answer, which isn't empty, stands at its `answer_start` in the context."""
    text, start = answer["text"], answer["answer_start"]
    return bool(text.strip()) and start >= 0 and context[start : start + len(text)] == text


def _report(example, reports):
    context, answers = example["context"], example["answers"]
    misplaced = sum(not stands(context, answer) for answer in answers)
    place = f"question {example['id']}"
    if misplaced:
        reports.add(MISPLACED, misplaced, place)
    if example.get("is_impossible") and answers:
        reports.add(CONTRADICTORY, 1, place)
    if not example.get("is_impossible") and not answers:
        reports.add(UNANSWERED, 1, place)


def _example(question, title, context, place):
    example = {
        "id": _part(question, "id", str, place),
        "title": title,
        "question": _part(question, "question", str, place),
        "context": context,
        "answers": [],
    }
    answers = question.get("answers", [])
    if not isinstance(answers, list):
        raise ValueError(f"{place}.answers must be a list; it is {_shown(answers)}.")
    for answer, where in _dicts(answers, f"{place}.answers"):
        example["answers"].append(
            {
                "text": _part(answer, "text", str, where),
                "answer_start": _part(answer, "answer_start", int, where),
            }
        )
    if "is_impossible" in question:
        example["is_impossible"] = _part(question, "is_impossible", bool, place)
    return example


def _data(path):
    try:
        content = json.loads(read_utf8(path))
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}). SQuAD comes as one JSON file."
        ) from error
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise ValueError(
            f'{path} is JSON, but not SQuAD\'s, which is {{"data": [{{"title", "paragraphs": '
            '[{"context", "qas": [{"id", "question", "answers"}]}]}]}; it is '
            f"{_shown(content)}."
        )
    return content["data"]


def _dicts(values, place):
    """`(value, its place)` of each; raises a ValueError at one that is no dict."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise ValueError(f"{place}[{index}] must be an object; it is {_shown(value)}.")
        yield value, f"{place}[{index}]"


def _part(value, key, kind, place):
    if not isinstance(value.get(key), kind) or (kind is int and isinstance(value[key], bool)):
        kinds = {list: "a list", str: "a string", int: "an integer", bool: "true or false"}
        raise ValueError(
            f"{place}.{key} must be {kinds[kind]}, as in SQuAD's files; "
            + (f"it is {_shown(value[key])}." if key in value else "it is missing.")
        )
    return value[key]


def _shown(value):
    if isinstance(value, dict):
        return f"an object of {', '.join(map(str, list(value)[:8])) or 'nothing'}"
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
