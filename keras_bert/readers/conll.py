"""CoNLL files: a word and its tags a line, a blank line between sentences."""

import os

from keras_bert.files.utf8 import read_utf8
from keras_bert.metrics.entities import begins_entity, split_tag, tagged_entities

_DOCUMENT = "-DOCSTART-"
_SCHEMES = ("bio", "bioes", None)


class TaggedSentences:
    """What `read_conll` gives: sentences of words and tags. W words in a sentence.

    Args:
        path: the file they come from, for messages.
        words: lists of str, those of each sentence.
        tags: lists of str, as many.
        documents: `[n]` ints, the document of each sentence, for document context; without
            -DOCSTART- lines each sentence is one.
        lines: lists of int, the line in the file of each word.
        num_repaired: int, how many tags didn't follow their scheme and were repaired.
    """

    def __init__(self, path, words, tags, documents, lines, num_repaired=0):
        self.path = path
        self.words = words
        self.tags = tags
        self.documents = documents
        self.lines = lines
        self.num_repaired = num_repaired

    def __len__(self):
        return len(self.words)

    def tag_names(self):
        """The different tags, sorted, "O" first: `label_names` of a `BertTokenClassifier`."""
        names = {tag for tags in self.tags for tag in tags}
        return sorted(names, key=lambda name: (name != "O", name))

    def class_numbers(self, names):
        """The tags as their places in `names`.

        Args:
            names: list of str, the classes.

        Returns:
            Lists of int.

        Raises:
            ValueError: at the first tag that `names` lacks, with its line and the known ones.
        """
        numbers = {name: number for number, name in enumerate(names)}
        for tags, lines in zip(self.tags, self.lines, strict=True):
            for tag, line in zip(tags, lines, strict=True):
                if tag not in numbers:
                    raise ValueError(
                        f"{self.path}, line {line}: the tag {tag!r} is none of the {len(names)} "
                        f"classes: {', '.join(names)}. Mend it, or train with this class too."
                    )
        return [[numbers[tag] for tag in tags] for tags in self.tags]

    def write_predictions(self, path, predicted):
        """Writes a word, its true and its predicted tag a line, as `conlleval` reads them.

        Args:
            path: the file.
            predicted: lists of str, the predicted tags of each sentence.
        """
        with open(path, "w", encoding="utf-8") as file:
            for rows in zip(self.words, self.tags, predicted, strict=True):
                for word, true, tag in zip(*rows, strict=True):
                    print(word.replace(" ", "_"), true, tag, file=file)
                print(file=file)


def read_conll(path, *, scheme="bio", tag_column=-1, repair=False):
    r"""Reads sentences of tagged words from a file of CoNLL's columns.

    A line holds a word first and a tag last, with any columns between, parted by tabs or spaces; a
    blank line ends a sentence, and a line that begins with -DOCSTART- a document. Of CoNLL-2003,
    `tag_column=1` is the part of speech and `tag_column=2` the chunk.

    Which scheme the tags follow is seen from the file: BIO (also called IOB2: every entity begins
    with B-), IOB1 (B- only where an entity follows another of its type), or BIOES (with E- at the
    end, and S- for a single word). They are rewritten in the one that `scheme` names. Tags without
    prefixes, as those of parts of speech, stay as they are.

    Args:
        path: the file; anything that `tf.io.gfile` opens. UTF-8.
        scheme: "bio", "bioes", or None to leave the tags as they are.
        tag_column: int, the column of the tags.
        repair: bool, whether tags that follow no scheme are read as `conlleval` reads them, and
            counted in `num_repaired`, instead of an error.

    Returns:
        `TaggedSentences`.

    Raises:
        ValueError: if the file can't be read or holds no words, or a line lacks columns or has a
            tag against the scheme, with the line.

    Example:
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.txt")
    >>> with open(path, "w") as file:
    ...     print("Ada NNP I-PER\nsleeps VBZ O\n\nParis NNP I-LOC", file=file)
    >>> sentences = read_conll(path)
    >>> sentences.words, sentences.tags
    ([['Ada', 'sleeps'], ['Paris']], [['B-PER', 'O'], ['B-LOC']])
    """
    if scheme not in _SCHEMES:
        raise ValueError(f"scheme must be one of {_SCHEMES}; got {scheme!r}.")
    path = os.fspath(path)
    sentences = _parse(path, tag_column)
    if scheme is None or not _has_prefixes(sentences):
        return sentences
    found = "bioes" if _kinds(sentences) & {"E", "S"} else "bio"
    fault = _fault(sentences, found)
    if fault and not repair:
        raise ValueError(
            f"{path}, {fault} Mend the tags, or read them with repair=True, which takes an entity "
            "to begin and end where conlleval would."
        )
    entities = [tagged_entities(tags) for tags in sentences.tags]
    if fault:
        as_they_should_be = [
            encode_entities(spans, len(tags), found)
            for spans, tags in zip(entities, sentences.tags, strict=True)
        ]
        sentences.num_repaired = sum(
            a != b
            for pair in zip(as_they_should_be, sentences.tags, strict=True)
            for a, b in zip(*pair, strict=True)
        )
    sentences.tags = [
        encode_entities(spans, len(tags), scheme)
        for spans, tags in zip(entities, sentences.tags, strict=True)
    ]
    return sentences


def encode_entities(entities, num_words, scheme="bio"):
    """The tags of a sentence whose entities are `(type, start, end)`, in BIO or BIOES.

    >>> encode_entities([("LOC", 0, 2), ("PER", 3, 4)], 4, "bioes")
    ['B-LOC', 'E-LOC', 'O', 'S-PER']
    """
    tags = ["O"] * num_words
    for type_, start, end in entities:
        kinds = ["B"] + ["I"] * (end - start - 1)
        if scheme == "bioes":
            kinds[-1] = "E" if end - start > 1 else "S"
        tags[start:end] = [f"{kind}-{type_}" for kind in kinds]
    return tags


def _parse(path, tag_column):
    """`TaggedSentences` with the tags that the file has."""
    words, tags, lines, documents = [], [], [], []
    is_new, document, has_documents, first = True, -1, False, None
    for line, text in enumerate(read_utf8(path).split("\n"), start=1):
        text = text.rstrip("\r")
        if not text.strip(" \t"):
            is_new = True
            continue
        fields = text.split("\t") if "\t" in text else text.split(" ")
        fields = [field for field in (part.strip(" ") for part in fields) if field]
        if fields[0] == _DOCUMENT:
            is_new, has_documents, document = True, True, document + 1
            continue
        first = first or (len(fields), line)
        if len(fields) < 2 or len(fields) != first[0]:
            expected = f"line {first[1]} has {first[0]}" if len(fields) > 1 else "2 or more needed"
            raise ValueError(
                f"{path}, line {line}: {len(fields)} columns, {expected}: {text[:80]!r}. A line "
                "holds a word, its tag last, parted by tabs or spaces."
            )
        if not -len(fields) <= tag_column < len(fields) or tag_column % len(fields) == 0:
            raise ValueError(
                f"{path} has {len(fields)} columns, the word first; tag_column={tag_column} is "
                f"none of a tag. Give one from 1 to {len(fields) - 1}, or -1 for the last."
            )
        if is_new:
            for part in (words, tags, lines):
                part.append([])
            documents.append(document if has_documents else len(documents))
            is_new = False
        words[-1].append(fields[0])
        tags[-1].append(fields[tag_column])
        lines[-1].append(line)
    if not words:
        raise ValueError(f"{path} holds no words: lines of a word and its tag are needed.")
    return TaggedSentences(path, words, tags, documents, lines)


def _kinds(sentences):
    return {split_tag(tag)[0] for tags in sentences.tags for tag in tags}


def _has_prefixes(sentences):
    """Whether tags are entities' in a scheme; raises a ValueError if only some are."""
    plain = {}
    for tags, lines in zip(sentences.tags, sentences.lines, strict=True):
        for tag, line in zip(tags, lines, strict=True):
            if tag != "O" and split_tag(tag)[1] in ("", tag):
                plain.setdefault(tag, line)
    names = set(sentences.tag_names()) - {"O"}
    if plain and len(plain) < len(names):
        tag, line = next(iter(plain.items()))
        raise ValueError(
            f"{sentences.path}, line {line}: the tag {tag!r} has no prefix (B-, I-, ...), and "
            f"others, as {min(names - set(plain))!r}, have one. Mend the tags, or read them as "
            "they are with scheme=None."
        )
    return bool(names) and not plain


def _fault(sentences, scheme):
    """What of the tags is against every scheme, or None; `scheme` is that of their letters."""
    late, needless = None, None
    for tags, lines in zip(sentences.tags, sentences.lines, strict=True):
        before, type_before, line_before = "O", "", None
        for tag, line in [*zip(tags, lines, strict=True), ("O", None)]:
            kind, type_ = split_tag(tag)
            open_before = before in "BI" and before != "O"
            goes_on = kind in "IE" and open_before and type_ == type_before
            if scheme == "bioes" and open_before != goes_on:
                return f"line {line_before}: an entity of BIOES has no end (E- or S-)."
            if kind in "IE" and not goes_on:
                late = late or (line, tag)
                if scheme == "bioes":
                    return f"line {line}: {tag!r} goes on with no entity."
            if kind == "B" and begins_entity(before, type_before, "I", type_):
                needless = needless or (line, tag)
            before, type_before, line_before = kind, type_, line
    if late and needless and scheme == "bio":
        return (
            f"line {late[0]}: {late[1]!r} begins an entity, as in IOB1, but in line {needless[0]} "
            f"{needless[1]!r} does, as in BIO."
        )
    return None
