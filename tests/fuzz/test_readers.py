"""Files of examples: a valid result, or a ValueError that names the file."""

import csv
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_bert.metrics.entities import split_tag, tagged_entities
from keras_bert.readers import read_conll, read_squad
from keras_bert.readers.conll import encode_entities, write_conll
from keras_bert.readers.separated import separated_rows
from keras_bert.readers.squad import is_impossible, training_answer
from paper.minimal_pairs import read_minimal_pairs
from tests.fuzz.drawn import damaged_bytes, damaged_json, seeds

marks = st.sampled_from([*"\t\n\r,\"' |0123", "\r\n", "\ufeff", "\0", "\u2028", "\x1c", "é", "nan"])
cells = st.lists(marks | st.text(max_size=4), max_size=4).map("".join)
plain = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
rows = st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n)))
deep = st.sampled_from([b"[" * 9999, b'{"data": [' + b"9" * 9999 + b"]}"])
damaged = st.binary() | st.lists(marks | st.text(max_size=9)).map(lambda t: "".join(t).encode())
delimiters = st.sampled_from(",\t;")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")

    def write(content, name="a.tsv"):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read(reader, path, *arguments, **options):
    """Returns what a reader returns, or None if it raises a ValueError that names the file."""
    try:
        return reader(path, *arguments, **options)
    except ValueError as error:
        assert str(path) in str(error)


@pytest.mark.slow
@given(content=damaged | deep, quoting=st.booleans(), delimiter=delimiters)
def test_any_bytes_are_examples_or_an_error(written, content, quoting, delimiter):
    path = written(content, "a.jsonl")
    read(read_minimal_pairs, path)
    check_squad(path)
    rows, malformed = read(separated_rows, path, delimiter, quoting) or ([], [])
    lines = [line for line, _ in rows + malformed]
    assert len(set(lines)) == len(lines) and len({len(row) for _, row in rows}) <= 1


@given(rows=rows, line_end=st.sampled_from(["\n", "\r\n", "\r"]), delimiter=delimiters)
def test_written_rows_are_read_back(written, rows, line_end, delimiter):
    file = io.StringIO()
    options = {
        "lineterminator": line_end,
        "delimiter": delimiter,
        "quoting": csv.QUOTE_ALL,
    }
    csv.writer(file, **options).writerows(rows)
    found = read(separated_rows, written(file.getvalue()), delimiter, True)
    assert (found is None) == (not rows)
    assert not rows or [row for _, row in found[0]] == rows


tags = st.sampled_from("O B-X I-X E-X S-X B-Y I-Y X B- - O-X b-X".split())
other_lines = st.sampled_from(["", " ", "-DOCSTART- O", "a\tb c\tO"])
token_lines = st.lists(st.builds("{} {}".format, plain, tags) | other_lines)


@given(
    lines=token_lines | damaged,
    scheme=st.sampled_from(["bio", "bioes", None]),
    column=st.integers(-2, 2),
    repair=st.booleans(),
)
def test_any_lines_are_tagged_sentences_or_an_error(written, lines, scheme, column, repair):
    path = written("\n".join(lines) if isinstance(lines, list) else lines, "a.conll")
    options = {"scheme": scheme, "tag_column": column, "repair": repair}
    found = read(read_conll, path, **options)
    if found is None:
        return
    for words, tags, lines in zip(found.words, found.tags, found.lines, strict=True):
        assert len(words) == len(tags) == len(lines) > 0 and all(words) and all(tags)
        types = {split_tag(tag)[1] for tag in tags if tag != "O"}
        if scheme and types and types.isdisjoint(["", *tags]):  # the tags have prefixes
            assert encode_entities(tagged_entities(tags), len(tags), scheme) == tags
    again_path = written("", "again.conll")
    write_conll(again_path, found.words, found.tags)
    again = read_conll(again_path, scheme=scheme)
    for part, before in ((again.words, found.words), (again.tags, found.tags)):
        assert part == [[field.replace(" ", "_") for field in row] for row in before]


QUESTIONS = [
    {"id": "1", "question": "a?", "answers": [{"text": "Bb", "answer_start": 2}]},
    {"id": "2", "question": "b?", "answers": [], "is_impossible": True},
]
SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": "a Bb, c", "qas": QUESTIONS}]}]}


def check_squad(path):
    examples = read(read_squad, path)
    for example in examples or ():
        texts = [example[key] for key in ("id", "title", "question", "context")]
        answers = example.get("answers", [])
        texts += [answer["text"] for answer in answers]
        assert all(isinstance(text, str) and text.encode() is not None for text in texts)
        assert all(isinstance(answer["answer_start"], int) for answer in answers)
        found = training_answer(example)
        if found and not is_impossible(example):
            start, end = found
            assert 0 <= start < end <= len(example["context"])


@given(seed=seeds)
def test_damaged_questions_are_examples_or_an_error(written, seed):
    chance = random.Random(seed)
    damaged = damaged_json(SQUAD, chance)
    check_squad(written(damaged, "a.json"))
    check_squad(written(damaged_bytes(damaged.encode(), chance), "a.json"))
