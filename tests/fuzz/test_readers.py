"""Files of examples: a valid result, or a ValueError that names the file."""

import csv
import io
import json

import pytest

pytest.importorskip("hypothesis", reason='pip install ".[dev]"')

from hypothesis import given
from hypothesis import strategies as st

from keras_bert.metrics.entities import split_tag, tagged_entities
from keras_bert.readers import read_choices, read_conll, read_squad
from keras_bert.readers.conll import encode_entities, write_conll
from keras_bert.readers.separated import separated_rows
from keras_bert.readers.squad import is_impossible, training_answer
from paper.minimal_pairs import read_minimal_pairs

marks = st.sampled_from([*"\t\n\r,\"' |0123", "\r\n", "\ufeff", "\0", "\u2028", "\x1c", "é", "nan"])
cells = st.lists(marks | st.text(max_size=4), max_size=4).map("".join)
plain = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
rows = st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n)))


@pytest.fixture(scope="session")
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


damaged = st.binary() | st.lists(marks | st.text(max_size=9)).map(lambda t: "".join(t).encode())


@given(content=damaged, quoting=st.booleans(), delimiter=st.sampled_from(",\t;"))
def test_any_bytes_are_rows_or_an_error(written, content, quoting, delimiter):
    rows, malformed = read(separated_rows, written(content), delimiter, quoting) or ([], [])
    lines = [line for line, _ in rows + malformed]
    assert len(set(lines)) == len(lines) and len({len(row) for _, row in rows}) <= 1


@given(rows=rows, line_end=st.sampled_from(["\n", "\r\n", "\r"]), delimiter=st.sampled_from(",\t"))
def test_written_rows_are_read_back(written, rows, line_end, delimiter):
    file = io.StringIO()
    options = {"lineterminator": line_end, "delimiter": delimiter, "quoting": csv.QUOTE_ALL}
    csv.writer(file, **options).writerows(rows)
    found = read(separated_rows, written(file.getvalue()), delimiter, True)
    assert (found is None) == (not rows)
    assert not rows or [row for _, row in found[0]] == rows


deep = st.sampled_from([b"[" * 9999, b'{"data": [' + b"9" * 9999 + b"]}"])


@given(content=damaged | deep)
def test_any_bytes_are_minimal_pairs_or_an_error(written, content):
    path = written(content, "a.jsonl")
    read(read_minimal_pairs, path)


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


def one_or_two(values):
    return st.lists(values, min_size=1, max_size=2)


numbers = st.booleans() | st.integers() | st.floats()
values = st.recursive(
    st.none() | numbers | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
any_text, dicts = st.text(max_size=20), st.fixed_dictionaries
answer = dicts({"text": any_text, "answer_start": st.integers(-1, 9)}, optional={"x": values})
question = dicts(
    {"id": st.text(max_size=3), "question": any_text},
    optional={"answers": st.lists(answer, max_size=2), "is_impossible": st.booleans()},
)
paragraph = dicts({"context": any_text, "qas": one_or_two(question)})
article = dicts({"paragraphs": one_or_two(paragraph)}, optional={"title": any_text})
squad = dicts({"data": one_or_two(article)})


def places(content):
    if isinstance(content, (dict, list)):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield content, key
            yield from places(content[key])


@st.composite
def damaged_json(draw, content):
    """Valid content, with a value replaced or removed."""
    content = draw(content)
    holder, key = draw(st.sampled_from(list(places(content))))
    if draw(st.booleans()):
        holder[key] = draw(values)
    else:
        del holder[key]
    return content


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
    return examples


@given(content=squad)
def test_questions_are_read_as_written(written, content):
    examples = check_squad(written(json.dumps(content), "a.json"))
    questions = [q for a in content["data"] for p in a["paragraphs"] for q in p["qas"]]
    if len({q["id"] for q in questions}) < len(questions):
        assert examples is None
    else:
        assert [e["question"] for e in examples] == [q["question"] for q in questions]


@given(content=damaged_json(squad) | damaged_json(squad) | values)
def test_damaged_questions_are_examples_or_an_error(written, content):
    check_squad(written(json.dumps(content), "a.json"))


@given(content=damaged | deep)
def test_any_bytes_are_questions_or_an_error(written, content):
    check_squad(written(content, "a.json"))


HEADS = ["sent1\tsent2\tending0\tending1\tlabel\n", "sent1,sent2,ending0,ending1,label\n", ""]
endings = st.lists(st.sampled_from(["a", "b c", "", "0", "1", "2", "\t", ",", "\n", '"', "²"]))


@given(
    head=st.sampled_from(HEADS),
    rows=endings.map("".join) | damaged,
    name=st.sampled_from(["a.csv", "a.tsv"]),
)
def test_any_rows_are_choices_or_an_error(written, head, rows, name):
    rows = rows.encode() if isinstance(rows, str) else rows
    for example in read(read_choices, written(head.encode() + rows, name)) or ():
        assert len(example["choices"]) >= 2 and all(text.strip() for text in example["choices"])
        assert example["label"] in range(len(example["choices"]))
