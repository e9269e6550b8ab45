import itertools

from keras_bert.corpus import text_files
from keras_bert.corpus.documents import Settings, _ends_paragraph, wrap_width
from keras_bert.corpus.sentences import split_sentences
from keras_bert.corpus.text_files import TextSpan
from keras_bert.reports import Reports

NEWLINES = ("\n", "\r\n", "\r")


def read(path, start=0, stop=None, **settings):
    """Documents of a span as lists of sentences, and the reports."""
    size = path.stat().st_size
    span = TextSpan(str(path), start, size if stop is None else stop, size)
    reports, documents = Reports(), {}
    for number, rule, texts in span.passages(Settings(**settings), reports):
        sentences = [s for text in texts for s in (split_sentences(text, rule) if rule else [text])]
        documents.setdefault(number, []).extend(s for s in sentences if s)
    return [sentences for sentences in documents.values() if sentences], reports.as_dict()


def test_sentences_end_where_a_reader_ends_them():
    text = (
        'Mr. Smith and J. R. R. Tolkien met at 5 p.m. in the U.S. Army. "Did you go?" asked Tom. '
        "Wait... what? It cost $3.50. He left."
    )
    assert split_sentences(text) == [
        "Mr. Smith and J. R. R. Tolkien met at 5 p.m. in the U.S. Army.",
        '"Did you go?" asked Tom.',
        "Wait... what?",
        "It cost $3.50.",
        "He left.",
    ]


def test_texts_without_words_have_no_sentences():
    assert split_sentences("") == split_sentences(" ") == []


def test_long_speeches_are_split_inside_their_quotation_marks():
    speech = '"' + " ".join(f"This is sentence {i} of a speech." for i in range(30)) + '" He sat.'
    sentences = split_sentences(speech)
    assert len(sentences) == 31 and max(map(len, sentences)) < 60
    assert sentences[0] == '"This is sentence 0 of a speech.'
    assert sentences[29] == 'This is sentence 29 of a speech."' and sentences[30] == "He sat."


def test_a_sentence_a_line_and_blank_lines_between_documents(write):
    text = "One a. Still one.\nTwo.\n\n \n\nThree, no stop\n\n"
    expected = [["One a. Still one.", "Two."], ["Three, no stop"]]
    for newline in NEWLINES:
        path = write(text.replace("\n", newline))
        assert read(path, text_format="sentences") == (expected, {}), repr(newline)


def test_wrapped_lines_are_joined_and_paragraphs_are_not(write):
    first = "The quick brown fox jumps over the lazy dog and then\nit rests for a while. It sleeps."
    second = "A title\n\nAnother paragraph begins here and goes on into the\nnext line. Short end."
    third = "Without a blank line a short line ends the paragraph\nof Mr.\nSmith."
    for text in (
        f"{first}\n\n{second}\n{third}\n",
        f"{first}\n\n\n\t{second}\n  {third}",
    ):
        documents, _ = read(write(text))
        assert documents == [
            [
                "The quick brown fox jumps over the lazy dog and then it rests for a while.",
                "It sleeps.",
                "A title",
                "Another paragraph begins here and goes on into the next line.",
                "Short end.",
                "Without a blank line a short line ends the paragraph of Mr. Smith.",
            ]
        ]


def test_a_first_word_that_fits_and_longer_lines_begin_paragraphs():
    for width in (5, 6):
        assert _ends_paragraph("a b.", "c d", width) == (width == 6)
    assert [wrap_width([n * "a"] * 3) for n in (200, 201)] == [200, 0]


def test_lines_are_paragraphs_and_separators_stand_between_documents(write):
    first = ["A title", "He said so.", "She went."]
    second = ["It went on."]
    last = ["It ended."]
    lines = [*first, "", *second, "CHAPTER II", *last, ""]
    path = write("\n".join(lines))
    for separator, documents in (
        (None, [[line for line in lines if line]]),
        ("^CHAPTER ", [first + second, last]),
        (r"^\s*$", [first, [*second, "CHAPTER II", *last]]),
    ):
        assert read(path, document_separator=separator)[0] == documents, separator


def test_every_span_of_a_file_is_read_as_wrapped_as_its_beginning(write):
    wrapped = "It was a day on\nwhich nothing had\nhappened to her\n***\n"
    path = write(4 * wrapped + "A title\nShe went. He stayed.\n***\nAnother\nIt ended.\n")
    settings = {"document_separator": r"^\*\*\*"}
    documents, _ = read(path, **settings)
    assert documents[-1] == ["Another It ended."]
    cut = path.read_text().index("A title")  # the lines after it are paragraphs, by themselves
    parts = [read(path, *span, **settings)[0] for span in ((0, cut), (cut, None))]
    assert parts[0] + parts[1] == documents
    assert read(path, path.read_text().index("ended"), **settings)[0] == []


def test_byte_order_marks_say_the_encoding(write, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 17)
    lines = ["Grüße aus Köln.", "Αθήνα 東京 🙂."] * 5
    for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        path = write("\r\n".join(["\ufeff" + lines[0], *lines[1:]]).encode(encoding))
        assert read(path) == ([lines], {}), encoding


def test_invalid_utf8_is_replaced_and_reported_with_its_place(write, monkeypatch):
    data = b"First line.\r\nCaf\xe9 au lait.\r\nGr\xc3\xbc\xc3 ok.\nAlready \xef\xbf\xbd lost.\n"
    lines = ["First line.", "Caf\ufffd au lait.", "Grü\ufffd ok.", "Already \ufffd lost."]
    for block_bytes in (7, 12, 2**20):  # 12 end in the CR of a CR LF
        monkeypatch.setattr(text_files, "BLOCK_BYTES", block_bytes)
        documents, reports = read(write(data), text_format="sentences")
        assert documents == [lines], block_bytes
        broken, replaced = reports[text_files.BROKEN], reports[text_files.REPLACED]
        assert broken["count"] == 2 and broken["examples"][0].endswith("a.txt, byte 16")
        assert replaced["count"] == 1 and replaced["examples"][0].endswith("a.txt, byte 46")
    _, reports = read(write(b"A.\n\nB\xe9.\n"), start=3)  # places are the file's
    assert reports[text_files.BROKEN]["examples"][0].endswith("a.txt, byte 5")


def test_a_file_that_shrank_since_it_was_planned_is_refused(write, refused):
    refused("a.txt shrank while it was read", read, write("Word."), stop=99)


def test_spans_hold_each_sentence_once_wherever_a_document_is_cut(write):
    # `tests/fuzz` cuts files of several documents.
    lines = [f"Größe {number}.\n" * (number % 4) for number in range(20)]
    for newline in NEWLINES:
        path = write("\n".join(lines).replace("\n", newline))
        [whole], _ = read(path)
        for step in (1, 7, 60):
            ends = [*range(0, path.stat().st_size, step), None]
            parts = [read(path, *span)[0] for span in itertools.pairwise(ends)]
            assert sum(sum(parts, []), []) == whole
