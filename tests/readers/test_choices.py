import numpy as np
import pytest
import tensorflow as tf
from keras_bert.preprocessing.checked_choices import checked_choices
from keras_bert.preprocessing.choice_dataset import choice_dataset

from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.readers.choices import read_choices
from keras_bert.text.tokenizer import BertTokenizer

LETTERS = "abcdefghijklmnopqrst"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS)]
SWAG = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,label\n"


def write(folder, text, name):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_swag_is_read(tmp_path):
    path = write(
        tmp_path,
        SWAG + '0,v1,7,"He ran, fast. He","He ran, fast.",He,gold,"falls, ""hard"".",waits.,nan,2\n'
        "1,v1,8,Snow. Someone,Snow.,Someone,gold0-orig,shovels.,melts.,sings.,0\n",
        "train.csv",
    )
    assert read_choices(path) == [
        {
            "context": "He ran, fast.",
            "choices": ['He falls, "hard".', "He waits.", "He nan"],
            "label": 2,
        },
        {
            "context": "Snow.",
            "choices": ["Someone shovels.", "Someone melts.", "Someone sings."],
            "label": 0,
        },
    ]


def test_swag_without_labels_is_read(tmp_path):
    path = write(
        tmp_path, "sent1\tsent2\tending1\tending0\nIt rains.\t\tI swim.\tI fly.\n", "test.tsv"
    )
    assert read_choices(path) == [{"context": "It rains.", "choices": ["I fly.", "I swim."]}]


def test_codah_is_read_and_its_quotes_stand(tmp_path):
    path = write(tmp_path, 'o\tI said\t"no\tyes" and\t"so"\t2\n\n\t"b\tc\td"\te\t0\n', "codah.tsv")
    assert read_choices(path) == [
        {"context": "I said", "choices": ['"no', 'yes" and', '"so"'], "label": 2},
        {"context": '"b', "choices": ["c", 'd"', "e"], "label": 0},
    ]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("o\ta\tb\tc\t0\no\ta\tb\t1\n", "a.tsv", r"a\.tsv, line 2: 4 columns, but.*has 5"),
        ("o\ta\tb\tc\t0\n\no\ta\tb\t \t1\n", "a.tsv", r"line 3: ending 1 of 2 is empty"),
        ("o\ta\tb\tc\t0\no\ta\tb\tc\t2\n", "a.tsv", r"line 2: the label '2' is not.*0 to 1"),
        ("o\ta\tb\tc\t-1\n", "a.tsv", r"line 1: the label '-1' is not"),
        ("o\ta\tb\tc\t²\n", "a.tsv", r"line 1: the label '²' is not"),
        ("question\tx\ty\tz\tlabel\no\ta\tb\tc\t0\n", "a.tsv", "line 1: the label 'label'.*sent1"),
        ("o\ta\tb\t0\n", "a.tsv", "has 4 columns.*two or more choices"),
        ("sent1,sent2,ending0\na,b,c\n", "a.csv", "no column 'ending1'"),
        ("sent1,sent2,ending0,ending2\na,b,c,d\n", "a.csv", "no column 'ending1'"),
        ("sent1,ending0,ending1\na,b,c\n", "a.csv", "no column 'sent2'"),
        ("ending0,ending1,sent2\na,b,c\n", "a.csv", "no column 'sent1'"),
        ('sent1,sent2,ending0,ending1,label\n"a\nb",c,d,,0\n', "a.csv", "line 2: ending 1"),
        ('sent1,sent2,ending0,ending1,label\n"a\nb",c,d,e,0\na,c,d,e,\n', "a.csv", "line 4: .*''"),
        ("sent1,sent2,ending0,ending1,label\na,c,d,e,2\n", "a.csv", "line 2: .*'2'.*0 to 1"),
        ("", "a.tsv", "is empty"),
    ],
)
def test_other_files_are_refused_with_the_line(tmp_path, text, name, message):
    with pytest.raises(ValueError, match=message):
        read_choices(write(tmp_path, text, name))


@pytest.mark.shared
def test_codah_is_read_whole(shared_data):
    path = shared_data / "choice" / "codah.tsv"
    examples = read_choices(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(examples) == len(lines) == 2776
    for example, line in zip(examples, lines, strict=True):
        _, context, *choices, label = line.split("\t")
        assert example == {"context": context, "choices": choices, "label": int(label)}
    counts = np.bincount([example["label"] for example in examples])
    assert counts.tolist() == [689, 684, 697, 706]


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(BertTokenizer(VOCABULARY), sequence_length=14)


@pytest.fixture(scope="module")
def examples():
    """Forty questions of two to five choices, some longer than a sequence, some without text."""
    generator = np.random.default_rng(1)

    def text(most):
        words = generator.choice(list(LETTERS), generator.integers(0, most))
        return " ".join(words)

    made = []
    for _ in range(40):
        choices = [text(12) or " " for _ in range(generator.integers(2, 6))]
        label = int(generator.integers(len(choices)))
        made.append({"context": text(12), "choices": choices, "label": label})
    return made


def rows(dataset):
    """The rows of a dataset's batches, without a pipeline of their own."""
    found = []
    for batch in dataset.as_numpy_iterator():
        size = len(tf.nest.flatten(batch)[0])
        found += [tf.nest.map_structure(lambda part, i=i: part[i], batch) for i in range(size)]
    return found


@pytest.mark.parametrize("trim", [False, True])
def test_every_choice_is_packed_with_its_context(preprocessor, examples, trim):
    data = choice_dataset(examples, preprocessor=preprocessor, batch_size=8, trim=trim)
    assert len(data) == 5
    found = rows(data)
    for (inputs, label), example in zip(found, examples, strict=True):
        number = len(example["choices"])
        expected = preprocessor([example["context"]] * number, example["choices"])
        for name, values in expected.items():
            length = inputs[name].shape[1]
            assert np.array_equal(inputs[name][:number], values[:, :length])
            assert not np.any(values[:, length:]) and not inputs[name][number:].any()
        assert label == example["label"]
    if trim:
        for inputs, _ in data.as_numpy_iterator():
            assert inputs["padding_mask"].sum(axis=-1).max() == inputs["token_ids"].shape[2]
    else:
        assert data.element_spec[0]["token_ids"] == tf.TensorSpec([None, 5, 14], tf.int32)
        assert data.element_spec[1] == tf.TensorSpec([None], tf.int32)


def test_a_choice_of_nothing_keeps_its_place(preprocessor):
    example = {"context": "a b", "choices": ["c", "", "d"], "label": 2}
    [(inputs, label)] = rows(choice_dataset([example], preprocessor=preprocessor, batch_size=1))
    assert label == 2
    assert inputs["padding_mask"].sum(axis=-1).tolist() == [6, 0, 6]
    assert inputs["token_ids"][:, 4].tolist() == [7, 0, 8]


def test_lengths_and_batches_of_buckets(preprocessor, examples):
    short = [{"context": "a", "choices": ["b", "c d"], "label": 0}] * 5
    data = choice_dataset(
        examples[5:] + short,
        preprocessor=preprocessor,
        batch_size=1,
        bucket_lengths=(8, 14),
        tokens_per_batch=5 * 14 * 3,
        shuffle=True,
        seed=3,
    )
    shapes = {tuple(inputs["token_ids"].shape) for inputs, _ in data}
    assert {shape[1:] for shape in shapes} == {(5, 8), (5, 14)}
    assert max(5 * shape[0] * shape[2] for shape in shapes) <= 5 * 14 * 3
    assert sum(len(labels) for _, labels in data) == 40 and len(list(data)) == len(data)


def test_shuffling_is_seeded_and_loses_nothing(preprocessor, examples):
    def epoch(seed):
        data = choice_dataset(
            examples, preprocessor=preprocessor, batch_size=8, shuffle=True, seed=seed
        )
        return [inputs["token_ids"].tolist() for inputs, _ in rows(data)]

    one, again, other = epoch(1), epoch(1), epoch(2)
    assert one == again != other and sorted(one) == sorted(other)


def test_without_labels_there_are_inputs_alone(preprocessor):
    example = {"context": "a", "choices": ("b", "c")}
    data = choice_dataset([example], preprocessor=preprocessor, batch_size=1, labelled=False)
    assert set(data.element_spec) == {"token_ids", "segment_ids", "padding_mask"}


GOOD = {"context": "a", "choices": ["b", "c"], "label": 0}


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "There are no questions"),
        ([GOOD, "a"], "number 1 is 'a'"),
        ([GOOD, {**GOOD, "context": 3}], "number 1 is"),
        ([{**GOOD, "choices": "bc"}], "a dict of a string and a list of strings"),
        ([{**GOOD, "choices": ["b", 3]}], "number 0 is"),
        ([{"context": "a", "label": 0}], "number 0 is"),
        ([GOOD, {**GOOD, "choices": ["b", ""]}], "Question 1 has 1 choices that aren't empty"),
        ([{**GOOD, "label": 2}], "Question 0 has the label 2.*places: 0, 1"),
        ([{**GOOD, "label": -1}], "the label -1"),
        ([{**GOOD, "label": "0"}], "the label '0'"),
        ([{**GOOD, "label": True}], "the label True"),
        ([{"context": "a", "choices": ["b", "c"]}], "the label None"),
        ([{**GOOD, "choices": ["", "b", "c"]}], "the label 0.*places: 1, 2"),
    ],
)
def test_what_is_no_question_is_named(preprocessor, examples, message):
    with pytest.raises(ValueError, match=message):
        choice_dataset(examples, preprocessor=preprocessor, batch_size=1)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        choice_dataset([GOOD], preprocessor=preprocessor, batch_size=0)


def test_labels_of_datasets_are_checked_on_their_way(preprocessor):
    examples = [GOOD, {**GOOD, "choices": ["b", "c", "d"], "label": 2}]
    data = choice_dataset(examples, preprocessor=preprocessor, batch_size=2)
    checked = checked_choices(data)
    assert checked.element_spec == data.element_spec
    assert [labels.tolist() for _, labels in checked.as_numpy_iterator()] == [[0, 2]]
    for labels in ([2, 2], [0, 3], [-1, 0]):
        wrong = data.map(lambda x, y, labels=labels: (x, tf.constant(labels), tf.ones(2)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="numbered from 0"):
            list(checked_choices(wrong))
    with pytest.raises(ValueError, match="must give .inputs, label."):
        checked_choices(data.map(lambda x, y: x))
    bare = data.map(lambda x, y: ({"token_ids": x["token_ids"]}, y))
    assert len(list(checked_choices(bare))) == 1
