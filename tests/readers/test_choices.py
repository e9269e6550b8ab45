import gzip

from keras_bert.readers.choices import read_choices

SWAG = """\
,video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,label
0,v1,7,"He ran, fast. He","He ran, fast.",He,gold,"falls, ""hard"".",waits.,nan,2
1,v1,8,Snow. Someone,Snow.,Someone,gold0-orig,shovels.,melts.,sings.,0
"""


def test_swag_is_read(write):
    first = ['He falls, "hard".', "He waits.", "He nan"]
    second = ["Someone shovels.", "Someone melts.", "Someone sings."]
    assert read_choices(write(gzip.compress(SWAG.encode()), "train.csv.gz")) == [
        {"context": "He ran, fast.", "choices": first, "label": 2},
        {"context": "Snow.", "choices": second, "label": 0},
    ]
    unlabeled = "sent1\tsent2\tending1\tending0\nIt rains.\t\tI swim.\tI fly.\n"
    examples = read_choices(write(unlabeled, "test.tsv"))
    assert examples == [{"context": "It rains.", "choices": ["I fly.", "I swim."]}]


def test_codah_is_read_and_its_quotes_stand(write):
    path = write('o\tI said\t"no\tyes" and\t"so"\t2\n\n\t"b\tc\td"\te\t0\n', "codah.tsv")
    assert read_choices(path) == [
        {"context": "I said", "choices": ['"no', 'yes" and', '"so"'], "label": 2},
        {"context": '"b', "choices": ["c", 'd"', "e"], "label": 0},
    ]


def test_other_files_are_refused_with_the_line(write, refused):
    for text, name, message in (
        (
            "o\ta\tb\tc\t0\no\ta\tb\t1\n",
            "a.tsv",
            r"a\.tsv, line 2: 4 columns, but.*has 5",
        ),
        ("o\ta\tb\tc\t0\n\no\ta\tb\t \t1\n", "a.tsv", r"line 3: ending 1 of 2 is empty"),
        (
            "o\ta\tb\tc\t0\no\ta\tb\tc\t2\n",
            "a.tsv",
            r"line 2: the label '2' is not.*0 to 1",
        ),
        ("o\ta\tb\tc\t²\n", "a.tsv", r"line 1: the label '²' is not"),
        (
            "question\tx\ty\tz\tlabel\no\ta\tb\tc\t0\n",
            "a.tsv",
            "line 1: the label 'label'.*sent1",
        ),
        ("o\ta\tb\t0\n", "a.tsv", "has 4 columns.*two or more choices"),
        ("sent1,sent2,ending0,ending2\na,b,c,d\n", "a.csv", "no column 'ending1'"),
        ("sent1,ending0,ending1\na,b,c\n", "a.csv", "no column 'sent2'"),
        (
            'sent1,sent2,ending0,ending1,label\n"a\nb",c,d,e,0\na,c,d,e,\n',
            "a.csv",
            "line 4: .*''",
        ),
        ("sent1,sent2,ending0,ending1\n", "a.csv", "no rows"),
    ):
        refused(message, read_choices, write(text, name))
