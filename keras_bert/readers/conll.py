"""Reader of CoNLL files: a word and its tags per line, a blank line between sentences."""

import dataclasses
import os
import re
from collections.abc import Iterator

from keras_bert.files.remote import read_text
from keras_bert.files.whole import whole_file
from keras_bert.messages import check_one_of, shortened, shown
from keras_bert.metrics.entities import split_tag, tagged_entities

_DOCUMENT = "-DOCSTART-"
_OTHER_WRITINGS = [
    re.compile(r"(?P<prefix>[bies])[-_: ](?P<type>.+)", re.IGNORECASE),
    re.compile(r"(?P<type>.+)[-_: ](?P<prefix>[BIES])"),
]
_COMMENT = re.compile(r"#\s+(id|sent_id|text|newdoc|newpar|global\.columns)\b|#.*(://| = )")


@dataclasses.dataclass(repr=False, eq=False)
class TaggedSentences:
    """Sentences of tagged words from `read_conll`.

    Args:
        path: str, the file.
        words: lists of str, the words of each sentence.
        tags: lists of str.
        documents: a number for each sentence. Without -DOCSTART- lines, each is a document.
        lines: lists of int, the lines of the words in the file.
        num_repaired: int, the number of tags that violated their scheme and were repaired.
    """

    path: str
    words: list[list[str]]
    tags: list[list[str]]
    documents: list[int]
    lines: list[list[int]]
    num_repaired: int = 0

    def __len__(self):
        return len(self.words)

    def __getitem__(self, part: slice) -> "TaggedSentences":
        return TaggedSentences(
            self.path, self.words[part], self.tags[part], self.documents[part], self.lines[part]
        )

    def __repr__(self):
        num_words = sum(map(len, self.words))
        repaired = f"; repaired tags: {self.num_repaired:,}" if self.num_repaired else ""
        return (
            f"TaggedSentences({self.path!r}: {len(self):,} sentences, {num_words:,} words; "
            f"tags {shortened(', '.join(self.tag_names()))}{repaired})"
        )

    def tag_lines(self) -> Iterator[tuple[str, int]]:
        """Yields each tag with its line."""
        for tags, lines in zip(self.tags, self.lines, strict=True):
            yield from zip(tags, lines, strict=True)

    def tag_names(self) -> list[str]:
        """Lists the distinct tags, sorted, "O" first: `label_names` of a `BertTokenClassifier`."""
        names = set().union(*self.tags)
        return sorted(names, key=lambda name: (name != "O", name))

    def class_numbers(self, names: list[str]) -> list[list[int]]:
        """Converts the tags to their indices in `names`; an error names the line of another tag."""
        indices = {name: index for index, name in enumerate(names)}
        for tag, line in self.tag_lines():
            if tag not in indices:
                raise ValueError(
                    f"{self.path}, line {line}: the tag {tag!r} is none of the {len(names)} "
                    f"classes: {', '.join(names)}. Fix it, or add the class to training."
                )
        return [[indices[tag] for tag in tags] for tags in self.tags]

    def write_predictions(self, path: str | os.PathLike, predicted: list[list[str]]) -> None:
        """Writes each word with its true and predicted tags, in the format of `conlleval`."""
        write_conll(path, self.words, self.tags, predicted)


def write_conll(path: str | os.PathLike, words: list[list[str]], *tags: list[list[str]]) -> None:
    """Writes sentences in CoNLL's columns, with underscores for spaces inside words and tags."""
    lines = []
    for sentence in zip(words, *tags, strict=True):
        for row in zip(*sentence, strict=True):
            lines.append(" ".join(map(_field, row)))
        lines.append("")
    if lines and lines[0].startswith("\ufeff"):
        lines[0] = "\ufeff" + lines[0]  # readers take the first for a byte order mark
    with whole_file(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def _field(text):
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return text.replace(" ", "_")


def read_conll(
    path: str | os.PathLike,
    *,
    scheme: str | None = "bio",
    tag_column: int = -1,
    word_column: int | None = None,
    repair: bool = False,
    encoding: str = "utf-8",
) -> TaggedSentences:
    r"""Reads sentences of tagged words from a file in CoNLL's column format.

    A line has the word first and a tag last, with any columns between, separated by tabs or
    spaces. A blank line ends a sentence, and a line that starts with -DOCSTART- starts a document.
    In CoNLL-2003, `tag_column=1` is the part of speech and `tag_column=2` the chunk. Words may be
    numbered in the column before them, as in CoNLL-U, where numbers such as 1-2 and 1.1 stand for
    no word. Before a sentence, a line that begins with "# " and has other columns, or an id, is a
    comment.

    The scheme of the tags is detected: BIO (also called IOB2: every entity starts with B-), IOB1
    (B- only for an entity right after another of its type), or BIOES (with E- for the last word
    and S- for a single word). The tags are converted to the scheme that `scheme` names. Tags
    without prefixes, such as parts of speech, are unchanged.

    Args:
        path: the file; any path that `tf.io.gfile` can open.
        scheme: "bio", "bioes", or None to leave the tags unchanged.
        tag_column: int, the column of the tags.
        word_column: int, the column of the words; None is the first that doesn't number them.
        repair: bool, whether tags that violate their scheme are read as `conlleval` reads them
            and counted in `num_repaired`. By default they are an error.
        encoding: str, such as "cp1252". UTF-16 is known by its mark.

    Returns:
        `TaggedSentences`.

    Raises:
        ValueError: if the file can't be read or has no words, or a line lacks columns or has a
            tag that violates the scheme. The message names the line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     print("Ada NNP I-PER\nsleeps VBZ O\n\nParis NNP I-LOC", file=file)
    >>> sentences = read_conll(path)
    >>> sentences.words, sentences.tags
    ([['Ada', 'sleeps'], ['Paris']], [['B-PER', 'O'], ['B-LOC']])
    """
    check_one_of("scheme", scheme, ("bio", "bioes", None))
    path = os.fspath(path)
    sentences = _parse(path, read_text(path, encoding), tag_column, word_column)
    if scheme is None or not _has_prefixes(sentences):
        return sentences
    prefixes = {split_tag(tag)[0] for tag in sentences.tag_names()}
    schemes = ["bio", "iob1"]
    if prefixes & {"E", "S"}:
        schemes = ["bioes"]
    changes = [_changes(sentences, name) for name in schemes]
    if all(changes):
        faults = []
        for name, changed in zip(schemes, changes, strict=True):
            tag, line, right = changed[0]
            faults.append(f"line {line}: {tag!r} must be {right!r} in {name.upper()}")
        if not repair:
            raise ValueError(f"{path}, {', and '.join(faults)}. Fix it, or read with repair=True.")
        sentences.num_repaired = len(changes[0])
    sentences.tags = [_converted(tags, scheme) for tags in sentences.tags]
    return sentences


def encode_entities(
    entities: list[tuple[str, int, int]], num_words: int, scheme: str = "bio"
) -> list[str]:
    """Returns a sentence's tags in "bio", "iob1" or "bioes" from entities `(type, start, end)`.

    >>> encode_entities([("LOC", 0, 2), ("PER", 3, 4)], 4, "bioes")
    ['B-LOC', 'E-LOC', 'O', 'S-PER']
    """
    tags = ["O"] * num_words
    before = None  # type and end of the last entity
    for type_, start, end in entities:
        prefixes = "B" + "I" * (end - start - 1)
        if scheme == "bioes":
            prefixes = "S" if end - start == 1 else prefixes[:-1] + "E"
        if scheme == "iob1" and before != (type_, start):
            prefixes = "I" * (end - start)
        tags[start:end] = [f"{prefix}-{type_}" for prefix in prefixes]
        before = type_, end
    return tags


def _parse(path, text, tag_column, word_column):
    rows, documents = _rows(path, text)
    if not rows:
        raise ValueError(f"{path} has no words. Each line needs a word and its tag.")
    num_columns = len(rows[0][0][1])
    columns = range(-num_columns, num_columns)
    are_numbered = num_columns > 2 and all(map(_is_numbered, rows))
    if word_column is None:
        word_column = int(are_numbered)
    is_same = (tag_column - word_column) % num_columns == 0
    if tag_column not in columns or word_column not in columns or is_same:
        raise ValueError(
            f"{path} has {num_columns} columns, with words in {word_column}: tag_column must be "
            f"another one, up to {num_columns - 1}, or -1 for the last; got {tag_column}."
        )
    sentences = TaggedSentences(path, [], [], documents, [])
    for sentence in rows:
        if are_numbered:
            sentence = [row for row in sentence if row[1][0].isdecimal()]
        sentences.words.append([fields[word_column] for _, fields in sentence])
        sentences.tags.append([fields[tag_column] for _, fields in sentence])
        sentences.lines.append([line for line, _ in sentence])
    return sentences


def _is_numbered(sentence):
    """Returns whether the first column counts words; 1-2 is a range, 1.1 a word left out."""
    expected = 1
    for _, (number, *_) in sentence:
        if number == str(expected):
            expected += 1
        elif number.isdecimal() or not re.fullmatch(r"\d+[-.]\d+", number):
            return False
    return True


def _rows(path, text):
    """Returns the `(line, fields)` of each sentence, and the number of its document."""
    rows = []
    documents = []
    is_new = True
    document = None  # its number, after the first -DOCSTART-
    first = None  # the line and the number of columns of the first word
    for line, columns in enumerate(text.split("\n"), start=1):
        fields = _fields(columns)
        if not fields or fields[0] == _DOCUMENT:
            is_new = True
            if fields:
                document = len(rows) if document is None else document + 1
            continue
        if is_new and _is_comment(columns, first):
            continue
        if first is None:
            first = (line, len(fields))
        fault = None
        if len(fields) == 1:
            fault = "a tag is missing"
        elif len(fields) != first[1]:
            fault = f"line {first[0]} has {first[1]}"
        if fault:
            raise ValueError(
                f"{path}, line {line}: {len(fields)} columns, {fault}: {shown(columns)}."
            )
        if is_new:
            documents.append(len(rows) if document is None else document)
            rows.append([])
            is_new = False
        rows[-1].append((line, fields))
    return rows, documents


def _is_comment(text, first):
    """Returns whether a line before a sentence is a comment, and not a word "#" with its tags."""
    if not text.startswith(("# ", "#\t")):
        return False
    has_other_columns = first is not None and len(_fields(text)) != first[1]
    return has_other_columns or _COMMENT.match(text) is not None


def _fields(text):
    columns = text.split("\t" if "\t" in text else " ")
    fields = [column.strip(" \r") for column in columns]
    return [field for field in fields if field]


def _has_prefixes(sentences):
    """Returns whether the tags have prefixes; raises a ValueError if only some do."""
    names = set(sentences.tag_names()) - {"O"}
    prefixed = {name for name in names if split_tag(name)[1] not in ("", name)}
    if not prefixed:
        _check_writing(sentences, names)
        return False
    for tag, line in sentences.tag_lines():
        if tag in names - prefixed:
            raise ValueError(
                f"{sentences.path}, line {line}: the tag {tag!r} has no prefix (B-, I-, ...), "
                f"unlike {min(prefixed)!r}. Fix the tags, or leave them unchanged with scheme=None."
            )
    return True


def _check_writing(sentences, names):
    """Raises a ValueError if all tags have a prefix, but written as in "PER-B", "B_PER" or "b-per".

    Each would be an entity of one word.
    """
    names = names - {"o"}
    for writing in _OTHER_WRITINGS:
        matches = list(map(writing.fullmatch, names))
        if all(matches) and any(match["prefix"] in "Bb" for match in matches):
            tag, line = next(pair for pair in sentences.tag_lines() if pair[0] in names)
            match = writing.fullmatch(tag)
            right = f"{match['prefix'].upper()}-{match['type']}"
            raise ValueError(
                f"{sentences.path}, line {line}: the tag {tag!r} must be written {right!r}. Change "
                "all of them, or leave them unchanged, as names of one word, with scheme=None."
            )


def _converted(tags, scheme):
    """Writes the entities of a sentence's tags in a scheme."""
    return encode_entities(tagged_entities(tags), len(tags), scheme)


def _changes(sentences, scheme):
    """Lists the `(tag, line, right tag)` that differ when the entities are written in a scheme."""
    changes = []
    for tags, lines in zip(sentences.tags, sentences.lines, strict=True):
        for tag, line, right in zip(tags, lines, _converted(tags, scheme), strict=True):
            if split_tag(tag) != split_tag(right):
                changes.append((tag, line, right))
    return changes
