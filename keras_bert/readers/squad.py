"""Reader of questions about paragraphs, in the JSON format of SQuAD 1.1 and 2.0."""

import json
import logging
import os
from collections.abc import Iterator

from keras_bert.files.utf8 import read_utf8
from keras_bert.readers.shown import shown
from keras_bert.reports import Reports

logger = logging.getLogger("keras_bert")
MISPLACED = "answers that are not at their answer_start, not used for training"
UNANSWERED = "questions without an answer that are not impossible, not used for training"
CONTRADICTORY = "impossible questions that have answers, read as impossible"


class SquadExamples(list):
    """Questions of a SQuAD file: a list of dicts, one per question, from `read_squad`.

    Args:
        path: the file, for `repr`.
        examples: the dicts.
        reports: a `Reports` of irregularities in the file.
    """

    def __init__(self, path: str, examples: list[dict], reports: Reports):
        super().__init__(examples)
        self.path = path
        self.reports = reports

    def __repr__(self):
        impossible = sum(example.get("is_impossible", False) for example in self)
        more = f", {impossible:,} impossible" if impossible else ""
        return f"SquadExamples({self.path!r}: {len(self):,} questions{more})"


def read_squad(path: str | os.PathLike) -> SquadExamples:
    """Reads a SQuAD 1.1 or 2.0 file.

    Source: Rajpurkar et al. 2016 and 2018; the files of rajpurkar.github.io/SQuAD-explorer.

    Args:
        path: the JSON file; any path that `tf.io.gfile` can open.

    Returns:
        A list of dicts, one per question: `id`, `title`, `question`, `context`, `answers` (a list
        of dicts of `text` and `answer_start`, in characters) and, in 2.0 files, `is_impossible`.
        Its attribute `reports` counts irregularities, which are also logged. For example, answers
        that are not where the file says are not used for training.

    Raises:
        ValueError: if the file is not SQuAD's JSON (the message names the place), or an id occurs
            twice.

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
    for example, place in _examples(path):
        if example["id"] in ids:
            raise ValueError(
                f"{place}: the id {example['id']!r} occurs twice, but predictions are matched by "
                "id. Give each question its own id."
            )
        ids.add(example["id"])
        _report(example, reports)
        examples.append(example)
    if not examples:
        raise ValueError(f"{path} has no questions.")
    for line in reports.lines():
        logger.warning("%s: %s", path, line)
    return SquadExamples(path, examples, reports)


def training_answer(example: dict) -> tuple[int, int] | None:
    """Returns the answer that an example is trained on.

    Args:
        example: a dict as in the list from `read_squad`.

    Returns:
        `(start, end)`, in characters of the context; `(0, 0)` for an impossible question; None if
        the example has no answer, or none at its `answer_start`.
    """
    if example.get("is_impossible"):
        return 0, 0
    for answer in example.get("answers", ()):
        text, start = answer["text"], answer["answer_start"]
        if is_placed(example["context"], answer):
            stripped = text.lstrip()
            start += len(text) - len(stripped)
            return start, start + len(stripped.rstrip())
    return None


def is_placed(context: str, answer: dict) -> bool:
    """Returns whether an answer is not blank and is at its `answer_start` in the context."""
    text, start = answer["text"], answer["answer_start"]
    return bool(text.strip()) and start >= 0 and context[start : start + len(text)] == text


def _examples(path) -> Iterator[tuple[dict, str]]:
    """Yields each question as `(example, its place in the file)`."""
    for article, where in _dicts(_data(path), f"{path}, data"):
        title = _part(article, "title", str, where) if "title" in article else ""
        paragraphs = _part(article, "paragraphs", list, where)
        for paragraph, where_paragraph in _dicts(paragraphs, f"{where}.paragraphs"):
            context = _part(paragraph, "context", str, where_paragraph)
            questions = _part(paragraph, "qas", list, where_paragraph)
            for question, place in _dicts(questions, f"{where_paragraph}.qas"):
                yield _example(question, title, context, place), place


def _report(example, reports):
    context, answers = example["context"], example["answers"]
    misplaced = sum(not is_placed(context, answer) for answer in answers)
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
        raise ValueError(f"{place}.answers must be a list; got {shown(answers)}.")
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
            f"{path}, line {error.lineno}: not JSON ({error.msg}). SQuAD is a single JSON file."
        ) from error
    except RecursionError as error:
        raise ValueError(f"{path} holds lists or objects that are nested too deeply.") from error
    except ValueError as error:
        if path in str(error):
            raise
        raise ValueError(f"{path} holds a number with too many digits: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        got = shown(content)
        if isinstance(content, dict):
            got = f"an object of {', '.join(list(content)[:8]) or 'nothing'}"
        raise ValueError(
            f'{path} is JSON, but not SQuAD\'s, which is {{"data": [{{"title", "paragraphs": '
            f'[{{"context", "qas": [{{"id", "question", "answers"}}]}}]}}]}}; got {got}.'
        )
    return content["data"]


def _dicts(values, place):
    """Yields each value as `(value, its place)`; raises a ValueError if it is not a dict."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise ValueError(f"{place}[{index}] must be an object; got {shown(value)}.")
        yield value, f"{place}[{index}]"


def _part(value, key, kind, place):
    if not isinstance(value.get(key), kind) or (kind is int and isinstance(value[key], bool)):
        kinds = {list: "a list", str: "a string", int: "an integer", bool: "true or false"}
        raise ValueError(
            f"{place}.{key} must be {kinds[kind]}, as in SQuAD's files; "
            + (f"got {shown(value[key])}." if key in value else "it is missing.")
        )
    if kind is str:
        try:
            value[key].encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{place}.{key} holds half of a character, a lone surrogate at {error.start}: "
                f"{shown(value[key])}. Write the file again as UTF-8."
            ) from error
    return value[key]
