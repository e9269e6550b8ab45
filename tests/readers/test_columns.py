import pytest

from keras_bert.readers import read_table, texts_from_columns

PETS = """Name,Description,Age,Dept. No
Rex,A good dog,3,7
Tom,,1.50,8
,  ,,9
"""


@pytest.fixture
def table(write):
    return read_table(write(PETS, "pets.csv"))


def test_columns_are_written_into_texts_and_empty_sentences_left_out(table):
    assert texts_from_columns(table, "{Name}. {Description}. I'm {Age} years old.") == [
        "Rex. A good dog. I'm 3 years old.",
        "Tom. I'm 1.50 years old.",
        "",
    ]


def test_a_sentence_with_some_value_stays(table):
    texts = texts_from_columns(table, "{Name} of {Dept. No}, {Age}! {{{Description}}}")
    assert texts == ["Rex of 7, 3! {A good dog}", "Tom of 8, 1.50!", "of 9, !"]


def test_sentences_without_columns_are_in_every_text(table):
    texts = texts_from_columns(table, "A pet.\n{Name}?  End")
    assert texts == ["A pet. Rex? End", "A pet. Tom? End", "A pet. End"]


def test_a_dict_of_columns_is_accepted(refused):
    assert texts_from_columns({"a": [1, 2]}, "<{a}>") == ["<1>", "<2>"]
    assert texts_from_columns({"a": [None, 2.5, float("nan")]}, "It is {a}.")[::2] == ["", ""]
    refused("no column 'b'. The columns are: a", texts_from_columns, {"a": [1]}, "{b}")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{Nmae}.", "no column 'Nmae'.*Name, Description, Age.*Did you mean 'Name'"),
        ("no column", "must name columns"),
        ("{Name", "malformed"),
        ("{Age:.2f}", "without a format"),
        ("{Age!r}", "without a format"),
        ("{}", "no column ''"),
    ],
)
def test_templates_that_cannot_be_filled_are_refused(table, template, message, refused):
    refused(message, texts_from_columns, table, template)


def test_numbers_stand_side_by_side(table, refused):
    assert table.numbers(["Dept. No"]).tolist() == [[7], [8], [9]]
    with pytest.raises(ValueError, match=r"pets.csv, line 4: '' in column 'Age' is not a finite"):
        table.numbers(["Dept. No", "Age"])
    refused("no column 'age'.*Did you mean 'Age'", table.numbers, ["age"])


def test_several_labels_stand_in_one_cell(write):
    table = read_table(write("tags,n\na | b,1\n,2\nb|,3\n", "a.csv"))
    assert table.label_lists("tags") == [["a", "b"], [], ["b"]]
    lists = read_table(write('{"tags": ["a", "b|c"]}\n{"tags": []}\n{"tags": "[d"}', "a.jsonl"))
    assert lists.label_lists("tags") == [["a", "b|c"], [], ["[d"]]
