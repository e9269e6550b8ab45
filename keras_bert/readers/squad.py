"""Reader of questions about paragraphs, in the JSON format of SQuAD 1.1 and 2.0."""

import json
import os
import re

from keras_bert.files.json_files import JsonFields
from keras_bert.files.remote import read_utf8
from keras_bert.messages import logger, shown
from keras_bert.reports import Reports

MISPLACED = "answers that are not at their answer_start, not used for training"
UNANSWERED = "questions without an answer that are not impossible, not used for training"
CONTRADICTORY = "impossible questions that have answers, read as impossible"


class SquadExamples(list):
    """A list of dicts, one per question, from `read_squad`, with `reports` of irregularities."""

    def __init__(self, path: str, examples: list[dict], reports: Reports):
        super().__init__(examples)
        self.path = path
        self.reports = reports

    def __repr__(self):
        impossible = sum(example.get("is_impossible", False) for example in self)
        more = f", {impossible:,} impossible" if impossible else ""
        return f"SquadExamples({self.path!r}: {len(self):,} questions{more})"


def read_squad(path: str | os.PathLike) -> SquadExamples:
    """Reads a SQuAD 1.1 or 2.0 file (Rajpurkar et al. 2016 and 2018).

    Args:
        path: the JSON file; any path that `tf.io.gfile` can open.

    Returns:
        A list of dicts, one per question: `id`, `title`, `question`, `context`, `answers` (a list
        of dicts of `text` and `answer_start`, in characters) and, in 2.0 files, `is_impossible`.
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
    examples = SquadExamples(path, [], Reports())
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


def _examples(path):
    """Yields each example with its position in the file."""
    text = read_utf8(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}. SQuAD is a single JSON file.") from error
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise ValueError(
            f'{path} is JSON, but not SQuAD\'s, which is {{"data": [{{"title", "paragraphs": '
            f'[{{"context", "qas": [{{"id", "question", "answers"}}]}}]}}]}}; got {shown(content)}.'
        )
    for article in _Fields(path, content).listed_fields("data"):
        title = article.text("title") if "title" in article else ""
        for paragraph in article.listed_fields("paragraphs"):
            context = paragraph.text("context")
            for question in paragraph.listed_fields("qas"):
                yield _example(question, title, context), f"{path}: {question.place}"


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
    answers = []
    if "answers" in question:
        for answer in question.listed_fields("answers"):
            start = answer.integer("answer_start", low=-(2**31))
            answers.append({"text": answer.text("text"), "answer_start": start})
    example = {
        "id": question.text("id"),
        "title": title,
        "question": question.text("question"),
        "context": context,
        "answers": answers,
    }
    if "is_impossible" in question:
        example["is_impossible"] = question.boolean("is_impossible")
    return example


def _report(example, reports):
    question = f"question {example['id']}"
    answers = example["answers"]
    num_misplaced = sum(not is_placed(example["context"], answer) for answer in answers)
    if num_misplaced:
        reports.add(MISPLACED, num_misplaced, question)
    is_impossible = example.get("is_impossible", False)
    if is_impossible and answers:
        reports.add(CONTRADICTORY, 1, question)
    if not is_impossible and not answers:
        reports.add(UNANSWERED, 1, question)
