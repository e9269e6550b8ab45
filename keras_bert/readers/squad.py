"""Reader of questions about paragraphs, in the JSON format of SQuAD 1.1 and 2.0."""

import json
import os
import re
from typing import Any

from keras_bert.files.json_files import JsonFields
from keras_bert.files.remote import read_text
from keras_bert.messages import logger, shown
from keras_bert.reports import Reports

MISPLACED = "answers that are not at their answer_start, not used for training"
UNANSWERED = "questions without an answer that are not impossible, not used for training"
CONTRADICTORY = "impossible questions that have answers, read as impossible"


class SquadExamples(list):
    """A list of dicts, one per question, from `read_squad`, with `reports` of irregularities."""

    def __init__(self, path: str):
        super().__init__()
        self.path = path
        self.reports = Reports()

    def __repr__(self):
        impossible = sum(map(is_impossible, self))
        more = f", {impossible:,} impossible" if impossible else ""
        return f"SquadExamples({self.path!r}: {len(self):,} questions{more})"


def read_squad(path: str | os.PathLike) -> SquadExamples:
    """Reads a SQuAD 1.1 or 2.0 file (Rajpurkar et al. 2016 and 2018).

    Args:
        path: the JSON file, of nested paragraphs or, as Hugging Face's `datasets` write it, of one
            object for each question, in a list or on a line each; any path that `tf.io.gfile` can
            open.

    Returns:
        A list of dicts, one per question: `id`, `title`, `question`, `context`, `answers` (a list
        of dicts of `text` and `answer_start`, in characters; empty if the context has no answer)
        and, if the file has it, `is_impossible`.
        Its attribute `reports` counts irregularities, which are also logged.

    Raises:
        ValueError: if the file is not SQuAD's JSON (the message names the place), or an id occurs
            twice.

    Example:
    >>> import json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "dev.json")
    >>> answer = {"text": "a book", "answer_start": 6}
    >>> questions = [{"id": "1", "question": "What is it?", "answers": [answer]}]
    >>> paragraphs = [{"context": "It is a book.", "qas": questions}]
    >>> with open(path, "w") as file:
    ...     json.dump({"data": [{"paragraphs": paragraphs}]}, file)
    >>> [example] = read_squad(path)
    >>> example["context"], example["answers"][0]["text"]
    ('It is a book.', 'a book')
    """
    path = os.fspath(path)
    examples = SquadExamples(path)
    ids = set()
    for example, position in _examples(path):
        id_ = example["id"]
        if id_ in ids:
            raise ValueError(f"{position}: the id {id_!r} occurs twice. Make ids unique.")
        ids.add(id_)
        _report(example, examples.reports)
        examples.append(example)
    if not examples:
        raise ValueError(f"{path} has no questions.")
    for line in examples.reports.lines():
        logger.warning("%s: %s", path, line)
    return examples


def training_answer(example: dict) -> tuple[int, int] | None:
    """Returns the answer that an example is trained on, `(start, end)` in characters.

    It is `(0, 0)` for an impossible question, and None if no answer is at its `answer_start`.
    """
    if is_impossible(example):
        return 0, 0
    for answer in example.get("answers", ()):
        if _is_placed(example["context"], answer):
            text = answer["text"].lstrip()
            start = answer["answer_start"] + len(answer["text"]) - len(text)
            return start, start + len(text.rstrip())
    return None


def is_impossible(example: dict) -> bool:
    """Returns whether a question has no answer in its context: it says so, or lists none."""
    has_none = "answers" in example and not example["answers"]
    return bool(example.get("is_impossible", has_none))


def listed_answers(answers: Any) -> Any:
    """Returns answers as a list of dicts, with whole numbers as int; anything else unchanged.

    >>> listed_answers({"text": ["a book"], "answer_start": [6.0]})
    [{'text': 'a book', 'answer_start': 6}]
    """
    if isinstance(answers, dict):
        texts = answers.get("text")
        starts = answers.get("answer_start")
        if not _is_column(texts) or not _is_column(starts) or len(texts) != len(starts):
            return answers
        pairs = zip(texts, starts, strict=True)
        answers = [{"text": text, "answer_start": start} for text, start in pairs]
    if not isinstance(answers, (list, tuple)):
        return answers
    return list(map(_with_whole_start, answers))


def _is_column(values):
    return hasattr(values, "__len__") and not isinstance(values, (str, dict))


def _with_whole_start(answer):
    if isinstance(answer, dict):
        start = answer.get("answer_start")
        if isinstance(start, float) and start.is_integer():
            return answer | {"answer_start": int(start)}
    return answer


def _is_placed(context, answer):
    """Returns whether an answer is not blank and is at its `answer_start` in the context."""
    text = answer["text"]
    start = answer["answer_start"]
    return bool(text.strip()) and start >= 0 and context.startswith(text, start)


def _examples(path):
    """Yields each example with its position in the file."""
    content = {"data": _rows(path)}
    for article in _Fields(path, content).listed_fields("data"):
        title = article.text("title") if "title" in article else ""
        if "question" in article:
            yield _example(article, title, article.text("context")), f"{path}: {article.place}"
            continue
        for paragraph in article.listed_fields("paragraphs"):
            context = paragraph.text("context")
            for question in paragraph.listed_fields("qas"):
                yield _example(question, title, context), f"{path}: {question.place}"


def _rows(path):
    """Returns the objects of a file: articles, or questions."""
    text = read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        try:
            content = [json.loads(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            raise ValueError(f"{path} is not JSON: {error}. Give SQuAD's JSON.") from error
    rows = content.get("data") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f'{path} is JSON, but not SQuAD\'s, which is {{"data": [{{"title", "paragraphs": '
            f'[{{"context", "qas": [{{"id", "question", "answers"}}]}}]}}]}}; got {shown(content)}.'
        )
    return rows


class _Fields(JsonFields):
    """A JSON object whose values must be given, and texts without halves of characters."""

    def value(self, key, default=None):
        if key not in self:
            raise self.error(key, "given", None)
        return self.values[key]

    def text(self, key, default=None):
        text = super().text(key)
        if re.search("[\ud800-\udfff]", text):
            raise self.error(key, "a text, without halves of characters (lone surrogates)", text)
        return text


def _example(question, title, context):
    if isinstance(question.value("id"), (int, float)):
        question.values["id"] = str(question.values["id"])
    example = {
        "id": question.text("id"),
        "title": title,
        "question": question.text("question"),
        "context": context,
    }
    if "answers" in question:
        question.values["answers"] = listed_answers(question.values["answers"])
        example["answers"] = []
        for answer in question.listed_fields("answers"):
            start = answer.integer("answer_start", low=-(2**31))
            example["answers"].append({"text": answer.text("text"), "answer_start": start})
    if "is_impossible" in question:
        example["is_impossible"] = question.boolean("is_impossible")
    return example


def _report(example, reports):
    question = f"question {example['id']}"
    answers = example.get("answers", [])
    num_misplaced = sum(not _is_placed(example["context"], answer) for answer in answers)
    if num_misplaced:
        reports.add(MISPLACED, num_misplaced, question)
    if is_impossible(example) and answers:
        reports.add(CONTRADICTORY, 1, question)
    if not is_impossible(example) and not answers:
        reports.add(UNANSWERED, 1, question)
