"""The same texts in every kind of file: Parquet, JSON lines, compressed or not, on a hub."""

import bz2
import gzip
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import textwrap

import pytest

import keras_bert
from keras_bert.corpus import corpus_plan, corpus_slice, row_files, text_files
from keras_bert.corpus.row_files import ParquetSpan
from keras_bert.files.remote import size_and_time

pyarrow = pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')
parquet = pytest.importorskip("pyarrow.parquet", reason='pip install ".[corpus]"')

WORDS = [f"word{i}" for i in range(50)]


@pytest.fixture(scope="module")
def texts():
    """Documents of a few paragraphs, with what a file of one may hold."""
    rng = random.Random(7)
    documents = []
    for number in range(40):
        lines = [" ".join(rng.choices(WORDS, k=9)) + "." for _ in range(1 + number % 5)]
        documents.append("\n".join(lines) + "\n")
    documents[3] += "\nGrüße\u2028aus Köln 🙂.\r\n"
    documents[5] = 'Word1 "word2". A \ufffd.'
    documents[7] = "\n"  # no document
    return documents


def zstd(data):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd}


def write(folder, kind, texts, row_group_size=8, **columns):
    """Writes texts as a kind of file; returns the inputs of `prepare_corpus`."""
    folder.mkdir()
    stem, _, packing = kind.partition("+")
    if stem == "txt":
        for number, text in enumerate(texts):
            (folder / f"{number:03d}.txt{packing}").write_bytes(PACK[packing](text.encode()))
        return folder
    path = folder / f"texts.{stem}{packing}"
    table = {"id": range(len(texts)), "text": texts, **columns}
    if stem == "parquet":
        parquet.write_table(pyarrow.table(table), path, row_group_size=row_group_size)
        return path
    lines = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    data = "".join(
        json.dumps(line, ensure_ascii=number % 2) + "\n" for number, line in enumerate(lines)
    )
    path.write_bytes(PACK[packing](data.encode()))
    return path


def shards(folder):
    return {path.name: path.read_bytes() for path in folder.glob("shard-*")}


@pytest.mark.parametrize("text_format", ["prose", "sentences"])
def test_the_same_texts_give_the_same_shards_in_every_kind(tmp_path, prepare, texts, text_format):
    kinds = [f"{stem}+{packing}" for stem in ("txt", "jsonl") for packing in PACK]
    kinds += ["json+.gz", "parquet"]
    expected = None
    for kind in kinds:
        inputs = write(tmp_path / f"in_{kind}", kind, texts)
        corpus = prepare(inputs, tmp_path / kind, text_format=text_format)
        expected = expected or shards(tmp_path / kind)
        assert shards(tmp_path / kind) == expected, kind
        assert "word" in keras_bert.learn_vocabulary(inputs, 60, num_workers=1, progress=False)
    assert corpus.num_documents == 39 + (text_format == "sentences") and len(expected) == 1


@pytest.mark.parametrize("kind, group", [("jsonl+", 8), ("parquet", 8), ("parquet", 1000)])
def test_slices_of_rows_lose_nothing(tmp_path, prepare, texts, kind, group, monkeypatch):
    texts = [text for text in texts if text.strip()] * 3
    inputs = write(tmp_path / "in", kind, texts, row_group_size=group)
    whole = prepare(inputs, tmp_path / "whole")
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 1500)
    cut = prepare(inputs, tmp_path / "cut")
    assert len(whole.shards) == 1 and len(cut.shards) > 4
    for name in ("num_documents", "num_sentences", "num_tokens"):
        assert getattr(cut, name) == getattr(whole, name)


def test_folders_and_patterns(tmp_path, prepare, texts, refused):
    inputs = write(tmp_path / "in", "txt+.gz", texts)
    write(inputs / "more", "parquet", texts)
    (inputs / "more" / "README.md").write_text("x")
    (inputs / "more" / os.fsdecode(b"caf\xe9.jpg")).write_text("x")
    (inputs / "more" / "vocab.txt").write_text("[PAD]")
    same = (inputs, [f"{inputs}/*.gz", f"{inputs}/more"], f"{inputs}/**/*", [inputs, inputs])
    for number, paths in enumerate(same):
        assert prepare(paths, tmp_path / f"{number}").num_documents == 2 * 39
    refused(r"\*\.bz2 does not exist", prepare, f"{inputs}/*.bz2", tmp_path / "d")
    write(tmp_path / "elsewhere", "txt", texts[:7])
    (inputs / "linked").symlink_to(tmp_path / "elsewhere")
    (inputs / "more" / "circle").symlink_to(inputs)
    (inputs / "more" / "again").symlink_to(tmp_path / "elsewhere")
    (inputs / "more" / "link.parquet").symlink_to(next((inputs / "more").glob("*.parquet")))
    shutil.copytree(tmp_path / "elsewhere", inputs / ".hidden")
    assert prepare(inputs, tmp_path / "linked").num_documents == 2 * 39 + 7
    (inputs / "broken.txt").symlink_to("nowhere")
    refused("broken.txt is a link to a file that doesn't exist", prepare, inputs, tmp_path / "e")


def test_a_corpus_tells_what_is_in_it(tmp_path, prepare, capsys):
    texts = ["Word1 word2. Word3.", "Wort1 word2.", "Word1 word2. Word3."]
    languages = ["en", "de", None]
    for kind in ("parquet", "jsonl+.gz"):
        inputs = write(tmp_path / kind, kind, texts, code=languages)
        output = tmp_path / f"out_{kind}"
        more = {"language": "fr", "language_column": "code", "progress": True}
        corpus = prepare(inputs, output, **more)
        assert corpus.description["languages"] == {"en": 1, "de": 1, "fr": 1}
        assert corpus.description["num_unknown"] == 1 and corpus.num_tokens == 13
        line = "[UNK]: 7.69%, longest document: 5 tokens, documents in en: 1, documents in de: 1"
        assert line in repr(corpus) and repr(corpus) in capsys.readouterr().out


def test_short_and_repeated_documents_are_counted_and_left_out(tmp_path, prepare, monkeypatch):
    texts = ["Word1 word2.", "Word3.", "Word1 word2.", "Word4 word5.\nWord6."] * 30
    inputs = write(tmp_path / "in", "parquet", texts)
    corpus = prepare(inputs, tmp_path / "a", drop_repeated=True, min_tokens=3)
    assert corpus.num_documents == 2 and corpus.num_tokens == 3 + 5
    reports = corpus.description["reports"]
    assert reports[corpus_slice.REPEATED]["count"] == 120 - 3
    assert reports[corpus_slice.SHORT]["count"] == 1
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 1000)
    cut = prepare(inputs, tmp_path / "b", drop_repeated=True)
    assert cut.num_documents == 3 and len(cut.shards) == 1  # slices without documents have none


def test_a_text_that_repeats_itself_is_whole_and_its_copy_is_left_out(tmp_path, prepare):
    text = "Word1 word2 word3.\n" * (2**22 // 19)  # is cut into equal slices
    one = prepare(write(tmp_path / "one", "txt", [text]), tmp_path / "a", drop_repeated=True)
    two = prepare(write(tmp_path / "two", "txt", [text, text]), tmp_path / "b", drop_repeated=True)
    assert one.num_tokens == two.num_tokens == 4 * text.count("\n")
    assert one.num_documents == two.num_documents == 1 and len(one.shards) == 2
    assert two.description["reports"][corpus_slice.REPEATED]["count"] == 1
    assert corpus_slice.REPEATED not in one.description["reports"]


def test_a_long_row_is_read_like_a_text_file(tmp_path, prepare):
    def wrapped(width):
        return "\n".join(textwrap.wrap("Word1 word2 word3 word4. " * 2**15, width))

    text = wrapped(70) + "\n" + wrapped(76) + "\n" + "word5 " * 2**18
    contents = set()
    for kind in ("txt+.gz", "jsonl", "parquet"):
        prepare(write(tmp_path / f"in_{kind}", kind, [text]), tmp_path / kind)
        contents |= {*shards(tmp_path / kind).values()}
    assert len(contents) == 1


def test_rows_without_text_and_bytes_that_are_no_text_are_reported(tmp_path, prepare):
    path = tmp_path / "a.parquet"
    texts = pyarrow.array([b"Word1.", None, b"Word2 \xff.", b"Word3."])
    parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=3)
    lines = ['{"text": "Word1."}', '{"text": ""}', '{"text": null}', '{"text": "Word2 \\ud800."}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    corpus = prepare([path, tmp_path / "a.jsonl"], tmp_path / "out")
    assert corpus.num_documents == 5
    nulls, broken = (corpus.description["reports"][k] for k in (row_files.NULLS, text_files.BROKEN))
    assert nulls["count"] == 2 and broken["count"] == 1 + 3  # the bytes of half a pair
    assert nulls["examples"] == [f"{path}, row 2 (row group 0)", f"{tmp_path}/a.jsonl, line 3"]
    places = [f"{path}, row 3 (row group 0), byte 6", f"{tmp_path}/a.jsonl, line 4, byte 6"]
    assert broken["examples"] == places


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.jsonl", b'{"text": "A."}\n{"body": ""}', "line 2: .*'text' isn't there.*are: body"),
        ("a.jsonl", b'\n\n{"text": 5, "n": 1}', "line 3: .*'text' holds 5, no text.*are: text, n"),
        ("a.jsonl", b'{"text": "A."}\n{"text"', "line 2: .* is no JSON object"),
        ("a.jsonl", b"[1]", "line 1: .* no JSON object"),
        ("a.parquet", {"body": ["A."]}, "row 1 .row group 0.: .*'text' isn't.*: body. .*text_col"),
        ("a.parquet", {"text": [1]}, "column 'text' holds 1, no text"),
        ("a.parquet", {"text": [["a"]]}, "column 'text' holds .'a'., no text"),
        ("a.parquet", {}, "a.parquet has no columns"),
        ("a.parquet", b"PAR1 no more", "a.parquet is damaged, or of another kind"),
        (
            "a.txt.gz",
            gzip.compress(b"Word1. " * 99, mtime=0)[:-9],
            "a.txt.gz is damaged, .* kind: Trunc",
        ),
        ("a.txt.bz2", b"Word1. " * 9, "a.txt.bz2 is damaged, or of another kind"),
        ("a.txt.zst", b"Word1. " * 9, "a.txt.zst is damaged, or of another kind"),
        ("a.jsonl.xz", b"", "unknown kind or compression.*.gz, .bz2, .zst"),
        ("a.parquet.gz", b"", "unknown kind or compression"),
    ],
)
def test_bad_files_are_refused(tmp_path, prepare, name, data, message, refused):
    path = tmp_path / name
    if isinstance(data, dict):
        parquet.write_table(pyarrow.table(data), path)
    else:
        path.write_bytes(data)
    refused(message, prepare, path, tmp_path / "out")
    (tmp_path / "a.txt").write_text("Word1.")  # another try in the same folder
    assert prepare(tmp_path / "a.txt", tmp_path / "out").num_documents == 1


def test_columns_that_cannot_be_told_apart_or_read_are_refused(tmp_path, refused):
    path, texts = tmp_path / "a.parquet", pyarrow.array([b"A", b"\xff"]).view("string")
    parquet.write_table(pyarrow.table([texts], ["text"]), path)
    refused("a.parquet, row group 0: a text after row 0 is not UTF-8.*0xff", rows_of, path)
    parquet.write_table(pyarrow.table([[1], [2]], ["n", "n"]), path)
    refused("a.parquet has two columns of one name: n, n", rows_of, path)


def rows_of(path):
    size, _ = size_and_time(path)
    return list(ParquetSpan(path, 0, size, size).rows(["text"]))


def test_a_damaged_row_group_is_named(tmp_path, prepare, texts, refused):
    path = write(tmp_path / "in", "parquet", texts)
    start = parquet.ParquetFile(path).metadata.row_group(2).column(1).data_page_offset
    data = path.read_bytes()
    path.write_bytes(data[:start] + b"\xff" * 20 + data[start + 20 :])
    message = "texts.parquet is damaged.*: row group 2 of 5, from row 17"
    refused(message, prepare, path, tmp_path / "out")


def test_missing_packages_are_named(tmp_path, prepare, texts, monkeypatch):
    inputs = [write(tmp_path / kind, kind, texts) for kind in ("parquet", "jsonl+.zst")]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for path in inputs:
        with pytest.raises(ImportError, match=r'pyarrow: pip install "keras3-bert\[corpus\]"'):
            prepare(path, tmp_path / f"out{path.suffix}")


def test_remote_files_are_read(tmp_path, prepare, texts):
    tf = pytest.importorskip("tensorflow")
    inputs = [write(tmp_path / kind, kind, texts) for kind in ("parquet", "jsonl+.zst")]
    for path in inputs:
        tf.io.gfile.makedirs("ram://rows")
        tf.io.gfile.copy(str(path), f"ram://rows/{path.name}", overwrite=True)
    prepare(inputs, tmp_path / "local")
    assert prepare("ram://rows/*", tmp_path / "remote").num_documents == 2 * 39
    assert len(rows_of(f"ram://rows/{inputs[0].name}")) == len(texts)


def test_a_json_line_without_an_end_is_refused(tmp_path, prepare, refused, monkeypatch):
    monkeypatch.setattr(row_files, "MAX_LINE", 2**20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "Word1."}\n' + b"a" * 2**22))
    refused("a.jsonl.gz, line 2 has more than 1,048,576 char", prepare, path, tmp_path / "out")


READ_DAMAGED = """
import sys
from keras_bert.corpus.row_files import ParquetSpan

path = sys.argv[1]
data = open(path, "rb").read()
refused = 0
for place in range(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), len(data)):
    damaged = bytearray(data)
    damaged[place] ^= 4
    open(path, "wb").write(damaged)
    print(place, flush=True)
    try:
        list(ParquetSpan(path, 0, len(data), len(data)).rows(["text"]))
    except ValueError:
        refused += 1
print("refused", refused)
"""


def test_no_flipped_bit_of_a_parquet_footer_ends_the_process(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"text": ["one", "two", None]}), path, row_group_size=2)
    command = [sys.executable, "-c", READ_DAMAGED, path]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, f"{process.stdout[-20:]} {process.stderr[-400:]}"
    assert int(process.stdout.split()[-1]) > 100


def test_spans_of_a_parquet_file_hold_each_row_once(tmp_path):
    path, texts = tmp_path / "rows.parquet", ["word " * (n % 7) for n in range(200)]
    parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=60)
    size = path.stat().st_size
    cuts = [0, 1, size // 3, size // 2, size - 1, size]
    spans = [ParquetSpan(path, *ends, size) for ends in itertools.pairwise(cuts)]
    parts = [list(span.rows(["text"])) for span in spans]
    rows = [row for part in parts for row in part]
    assert [place.split()[2] for place, _ in rows] == [str(n) for n in range(1, 201)]
    assert [row["text"] for _, row in rows] == texts
    assert len([part for part in parts if part]) > 2
