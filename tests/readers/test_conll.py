import itertools

import numpy as np
import pytest

from keras_bert.metrics.entities import tagged_entities
from keras_bert.readers.conll import encode_entities, read_conll, write_conll


def tags_of(write, tags, **options):
    return read_conll(write("".join(f"w {tag}\n" for tag in tags)), **options)


def test_two_and_four_columns_give_the_same(write):
    four = "Ada NNP B-NP B-PER\nsleeps VBZ B-VP O\n\n\u00a0Köln NNP B-NP B-LOC\n. . O O\n"
    two = "\ufeffAda B-PER\nsleeps O\n\n\u00a0Köln B-LOC\n. O"
    for text, by, end in itertools.product((four, two), ("\t", " ", "  "), ("\n", "\r\n")):
        sentences = read_conll(write(text.replace(" ", by).replace("\n", end)))
        assert sentences.words == [["Ada", "sleeps"], ["\u00a0Köln", "."]]
        assert sentences.tags == [["B-PER", "O"], ["B-LOC", "O"]]
        assert sentences.lines == [[1, 2], [4, 5]]
        assert sentences.class_numbers(sentences.tag_names()) == [[2, 0], [1, 0]]
        assert sentences.documents == [0, 1] and len(sentences) == 2


def test_documents_begin_at_docstart(write):
    text = "-DOCSTART- -X- O O\n\na x x O\n\n\n \t\nb x x O\n\n-DOCSTART- -X- -X- O\nc x x O\n"
    sentences = read_conll(write(text))
    assert sentences.words == [["a"], ["b"], ["c"]]
    assert sentences.documents == [0, 0, 1]
    assert read_conll(write("a O\n\n-DOCSTART- O\n\nb O\n")).documents == [0, 1]


def test_every_scheme_is_recognised_and_rewritten(write):
    iob1 = "I-A I-A I-A I-B O I-A B-A".split()
    bio = "B-A I-A I-A B-B O B-A B-A".split()
    bioes = "B-A I-A E-A S-B O S-A S-A".split()
    bilou = "B-A I-A L-A U-B O U-A U-A".split()
    for tags in (iob1, bio, bioes, bilou):
        found = tags_of(write, tags, repair=True)
        assert (found.tags, found.num_repaired) == ([bio], 0)
        assert tags_of(write, tags, scheme="bioes").tags == [bioes]
        assert tags_of(write, tags, scheme=None).tags == [tags]
    assert encode_entities(tagged_entities(bio), 7, "iob1") == iob1


def test_tags_against_their_scheme(write, refused):
    for tags, message, repaired in (
        (
            "B-A O I-A",
            "line 3: 'I-A' .* 'B-A' in BIO, and line 1: .* 'I-A' in IOB1",
            "B-A O B-A",
        ),
        ("B-A I-B", "line 2: 'I-B' must be 'B-B' in BIO, and line 1", "B-A B-B"),
        ("B-A O S-A", "line 1: 'B-A' must be 'S-A' in BIOES", "B-A O B-A"),
        ("O I-A E-A", "line 2: 'I-A' must be 'B-A' in BIOES", "O B-A I-A"),
    ):
        refused(f"{message}.*repair=True", tags_of, write, tags.split())
        sentences = tags_of(write, tags.split(), repair=True)
        assert (sentences.tags, sentences.num_repaired) == ([repaired.split()], 1)
        assert "repaired tags: 1" in repr(sentences)


def test_other_columns_are_chosen_by_number(write, refused):
    path = write("Ada NNP B-NP B-PER\nsleeps VBZ B-VP O\n")
    refused("scheme must be one of", read_conll, path, scheme="iob")
    assert read_conll(path, tag_column=1).tags == [["NNP", "VBZ"]]
    assert read_conll(path, tag_column=-2).tags == [["B-NP", "B-VP"]]
    for column in (0, 4, -4):
        refused(f"4 columns.*up to 3.*{column}", read_conll, path, tag_column=column)
    assert read_conll(path, word_column=1).words == [["NNP", "VBZ"]]


def test_other_files_are_refused_with_the_line(write, refused):
    for text, message in (
        ("a O\nb\n", "line 2: 1 columns, a tag is missing: 'b'"),
        ("a O\nb x O\n", "line 2: 3 columns, line 1 has 2"),
        ("-DOCSTART- O\n", "has no words"),
        ("a B-A\nb I\n", "line 2: the tag 'I' has no prefix.*scheme=None"),
        ("w\t\r\t", "line 1: 1 columns"),
    ):
        refused(f"rows.tsv.*{message}", read_conll, write(text))
    sentences = read_conll(write("a O\nb B-A\n"))
    message = "line 2: the tag 'B-A' is none of the 2 classes: O, B-B"
    refused(message, sentences.class_numbers, ["O", "B-B"])


def test_a_word_that_begins_like_a_byte_order_mark_is_written_and_read(tmp_path):
    words, tags = [["\ufeffThe", "book"], ["\ufeff"]], [["O", "O"], ["O"]]
    for given in (words, [np.array(words[0]), [words[1][0].encode()]]):
        write_conll(tmp_path / "a.conll", given, tags)
        assert read_conll(tmp_path / "a.conll").words == words


@pytest.mark.shared
def test_real_tweets_are_read_whole(shared_data):
    for name, sentences, entities in (  # of WNUT 2017, counted with grep -c
        ("wnut17train.conll", 3394, 1975),
        ("emerging.dev.conll", 1009, 836),
        ("emerging.test.annotated", 1287, 1079),
    ):
        read = read_conll(shared_data / "ner" / name)
        assert len(read) == sentences
        assert sum(map(len, map(tagged_entities, read.tags))) == entities
