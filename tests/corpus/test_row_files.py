"""The same texts in every kind of file: Parquet, JSON lines, compressed or not, on a hub."""

import bz2
import gzip
import itertools
import json
import os
import random
import subprocess
import sys

import pytest

import keras_bert
from keras_bert.corpus import corpus_plan, corpus_slice, row_files, text_files
from keras_bert.corpus.corpus_plan import find_inputs, plan_slices
from keras_bert.corpus.documents import Settings
from keras_bert.reports import Reports
from tests.corpus.conftest import WORDS

pyarrow = pytest.importorskip("pyarrow", reason='pip install ".[corpus]"')
parquet = pytest.importorskip("pyarrow.parquet", reason='pip install ".[corpus]"')


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


def write_texts(folder, kind, texts, row_group_size=8, **columns):
    """Writes texts as a kind of file; returns the inputs of `prepare_corpus`."""
    folder.mkdir()
    stem, _, packing = kind.partition("+")
    if stem == "txt":
        for number, text in enumerate(texts):
            (folder / f"{number:03d}.txt{packing}").write_bytes(PACK[packing](text.encode()))
        return folder
    path = folder / f"texts.{stem}{packing}"
    table = pyarrow.table({"id": range(len(texts)), "text": texts, **columns})
    if stem == "parquet":
        parquet.write_table(table, path, row_group_size=row_group_size)
        return path
    lines = [
        json.dumps(row, ensure_ascii=number % 2) for number, row in enumerate(table.to_pylist())
    ]
    data = "".join(f"{line}\n" for line in lines)
    path.write_bytes(PACK[packing](data.encode()))
    return path


def shards(folder):
    return {path.name: path.read_bytes() for path in folder.glob("shard-*")}


def test_the_same_texts_give_the_same_shards_in_every_kind(tmp_path, prepare, texts, monkeypatch):
    kinds = [f"{stem}+{packing}" for stem in ("txt", "jsonl") for packing in PACK]
    kinds += ["json+.gz", "parquet"]
    inputs = [write_texts(tmp_path / f"in_{kind}", kind, texts) for kind in kinds]
    for paths in inputs:
        assert "word" in keras_bert.learn_vocabulary(paths, 60, num_workers=1, progress=False)
    for text_format, block_bytes in (
        ("prose", 2**20),
        ("prose", 40),
        ("sentences", 2**20),
    ):
        monkeypatch.setattr(text_files, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(row_files, "BLOCK_BYTES", block_bytes)
        written = set()
        for kind, paths in zip(kinds, inputs, strict=True):
            out = tmp_path / f"{kind}_{text_format}_{block_bytes}"
            corpus = prepare(paths, out, text_format=text_format)
            written |= {*shards(out).items()}
            assert len(written) == 1, out
        assert corpus.num_documents == 39 + (text_format == "sentences")


def test_slices_hold_each_row_once(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 1500)
    monkeypatch.setattr(row_files, "_BATCH_BYTES", 500)  # several in a row group
    for kind, group in (("jsonl+", 8), ("parquet", 8), ("parquet", 1000)):
        inputs = write_texts(tmp_path / f"{kind}{group}", kind, texts * 3, row_group_size=group)
        slices = plan_slices(find_inputs(inputs, Reports()), Settings())
        parts = [list(slice_.spans[0].rows(["text"])) for slice_ in slices]
        assert sum(map(bool, parts)) > 4
        places, rows = zip(*itertools.chain.from_iterable(parts), strict=True)
        assert [row["text"] for row in rows] == texts * 3 and len(set(places)) == len(places)
    assert [place.split()[2] for place in places] == [str(n) for n in range(1, 121)]


def test_folders_and_patterns(tmp_path, refused):
    folder, more = tmp_path / "in", tmp_path / "in" / "more"
    read = ["a.txt.gz", "b.txt.gz", "more/texts.parquet"]
    others = [
        "more/README.md",
        "more/vocab.txt",
        os.fsdecode(b"caf\xe9.jpg"),
        ".hidden/d.txt",
    ]
    for name in (*read, *others, "../elsewhere/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")

    def found(inputs):
        return sorted(os.path.relpath(file.path, folder) for file in find_inputs(inputs, Reports()))

    for inputs in (
        folder,
        [f"{folder}/*.gz", f"{folder}/more"],
        f"{folder}/**/*",
        [folder] * 2,
    ):
        assert found(inputs) == read
    refused(r"\*\.bz2 does not exist", found, f"{folder}/*.bz2")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (more / "again").symlink_to(tmp_path / "elsewhere")
    (more / "circle").symlink_to(folder)
    (more / "link.parquet").symlink_to(more / "texts.parquet")
    names = [os.path.basename(os.path.realpath(folder / name)) for name in found(folder)]
    assert sorted(names) == ["a.txt.gz", "b.txt.gz", "c.txt", "texts.parquet"]
    (folder / "broken.txt").symlink_to("nowhere")
    refused("broken.txt is a link to a file that doesn't exist", found, folder)


def test_a_corpus_and_its_summary_tell_what_is_in_it(tmp_path, prepare, capsys):
    texts = ["Word1 word2. Word3.", "Wort1 word2.", "Word1 word2. Word3."]
    for kind in ("parquet", "jsonl+.gz"):
        inputs = write_texts(tmp_path / kind, kind, texts, code=["en", "de", None]).parent
        (inputs / "b.txt").write_bytes(b"\xef\xbb\xbfWord1.\r\nWord\xff.\r\n")
        (inputs / "README.md").write_text("x")
        more = {"language": "fr", "language_column": "code", "progress": True}
        corpus = prepare(inputs, tmp_path / f"out_{kind}", **more)
        assert corpus.description["languages"] == {"fr": 2, "en": 1, "de": 1}
        assert "[UNK]: 11.76%, longest document: 5 tokens, documents in fr: 2" in repr(corpus)
        out, err = capsys.readouterr()
        assert f"{corpus}: 17 tokens in" in out and "tokens/s" in err
        assert f"1 invalid byte sequences, dropped ({inputs}/b.txt, byte 15)" in out
        assert f"neither texts nor rows, skipped ({inputs}/README.md)" in out


def test_short_and_repeated_documents_are_counted_and_left_out(tmp_path, prepare, monkeypatch):
    monkeypatch.setattr(corpus_plan, "MIN_SLICE_BYTES", 1900)
    few = ["Word1 word2.", "Word3.", "Word1 word2.", "Word4 word5.\nWord6."] * 60
    long = "\n".join(["Word1 word2 word3."] * 200)  # is cut into equal slices
    for kind, texts, num_tokens, num_shards, short, repeated in (
        ("parquet", few, [3, 5], 1, 1, 240 - 3),  # slices without documents have no shard
        ("txt", [long], [800], 2, 0, 0),
        ("txt", [long] * 2, [800], 2, 0, 1),
    ):
        name = f"{kind} {len(texts)}"
        inputs = write_texts(tmp_path / name, kind, texts)
        corpus = prepare(inputs, tmp_path / f"out {name}", drop_repeated=True, min_tokens=3)
        assert (corpus.num_documents, corpus.num_tokens) == (
            len(num_tokens),
            sum(num_tokens),
        )
        assert len(corpus.shards) == num_shards
        reports = corpus.description["reports"]
        for report, count in (
            (corpus_slice.SHORT, short),
            (corpus_slice.REPEATED, repeated),
        ):
            assert reports.get(report, {"count": 0})["count"] == count, (name, report)


def test_rows_without_text_and_bytes_that_are_no_text_are_reported(tmp_path, prepare):
    path, other = tmp_path / "a.parquet", tmp_path / "a.jsonl"
    texts = pyarrow.array([b"Word1.", None, b"Word2 \xff.", b"Word3."])
    parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=3)
    other.write_text('{"text": ""}\n{"text": null}\n{"text": "Word2 \\ud800."}')
    corpus = prepare([path, other], tmp_path / "out")
    assert corpus.num_documents == 4
    nulls, broken = (corpus.description["reports"][k] for k in (row_files.NULLS, text_files.BROKEN))
    assert nulls == {
        "count": 2,
        "examples": [f"{path}, row 2 (row group 0)", f"{other}, line 2"],
    }
    places = [f"{path}, row 3 (row group 0), byte 6", f"{other}, line 3, byte 6"]
    assert broken == {"count": 1 + 3, "examples": places}  # the bytes of half a pair


def of_parquet(names, *columns):
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns, names.split()), sink)
    return sink.getvalue().to_pybytes()


NOT_UTF8 = pyarrow.array([b"A", b"\xff"]).view("string")
LONG_LINE = gzip.compress(b'{"text": "A."}\n' + b"a" * 5000)
CYRILLIC = "Мать и мачеха росли у дороги.".encode("cp1251") * 9
BAD = [
    (
        "a.jsonl",
        b'\n\n{"text": 5, "n": 1}',
        "line 3: .*'text' holds 5, no text.*are: text, n",
    ),
    ("a.jsonl", b"[1]", "line 1: .* no JSON object"),
    ("a.jsonl.gz", LONG_LINE, "line 2: .*at most 4,096 characters"),
    (
        "a.parquet",
        of_parquet("body", ["A."]),
        "row 1 .row group 0.: .*'text' isn't.*are: body",
    ),
    ("a.parquet", of_parquet("text text", ["A."], ["B."]), "two columns 'text'"),
    (
        "a.parquet",
        of_parquet("text", NOT_UTF8),
        "row group 0: a text after row 0 .*UTF-8.*0xff",
    ),
    ("a.parquet", b"PAR1 no more", "a.parquet is damaged, or of another kind"),
    (
        "a.txt.gz",
        gzip.compress(b"Word1. " * 99)[:-9],
        "a.txt.gz is damaged, .* kind: Trunc",
    ),
    ("a.jsonl.xz", b"", "unknown kind or compression.*.gz, .bz2, .zst"),
    ("a.txt", b"\x7fELF\x00\x00\x01", "not a text file .* and 2 zero"),
    ("a.txt", CYRILLIC, "in UTF-8: .* iconv"),
    ("a.txt", b"\xef\xbb\xbf \n\n", "no text in the input"),
]


def test_bad_files_leave_no_corpus(write, tmp_path, prepare, monkeypatch, refused):
    monkeypatch.setattr(row_files, "MAX_LINE", 2**12)
    output = tmp_path / "out"
    for name, data, message in BAD:  # another try in the same folder
        refused(message, prepare, write(data, name), output)
        left = [name for _, _, names in os.walk(output) for name in names]
        assert {*left} <= {"plan.json"}, name
    assert prepare(write("Word1.", "b.txt"), output).num_documents == 1


def test_a_damaged_row_group_is_named(tmp_path, prepare, texts, refused):
    path = write_texts(tmp_path / "in", "parquet", texts)
    start = parquet.ParquetFile(path).metadata.row_group(2).column(1).data_page_offset
    data = path.read_bytes()
    path.write_bytes(data[:start] + b"\xff" * 20 + data[start + 20 :])
    message = "texts.parquet is damaged.*: row group 2 of 5, from row 17"
    refused(message, prepare, path, tmp_path / "out")


def test_a_missing_package_is_named(tmp_path, prepare, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ImportError, match=r'pyarrow: pip install "keras3-bert\[corpus\]"'):
        prepare(tmp_path / "a.parquet", tmp_path / "out")


def test_remote_files_are_read_and_written(tmp_path, prepare, texts):
    tf = pytest.importorskip("tensorflow")
    inputs = [write_texts(tmp_path / kind, kind, texts) for kind in ("parquet", "jsonl+.zst")]
    tf.io.gfile.makedirs("ram://rows")
    for path in inputs:
        tf.io.gfile.copy(str(path), f"ram://rows/{path.name}", overwrite=True)
    prepare(sorted(inputs, key=lambda path: path.name), tmp_path / "local")
    remote = prepare("ram://rows/*", "ram://corpora/remote")
    assert remote.num_documents == 2 * 39
    for name, data in shards(tmp_path / "local").items():
        with tf.io.gfile.GFile(f"{remote.folder}/{name}", "rb") as file:
            assert file.read() == data


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
