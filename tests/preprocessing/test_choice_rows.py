import numpy as np
import pytest

from keras_bert import Batching, BertMultipleChoicePreprocessor

LETTERS = "abcdefghijklmnopqrst"
FULL, LONGEST = Batching(pad_to="full"), Batching(pad_to="longest")
GOOD = {"context": "a", "choices": ["b", "c"], "label": 0}


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertMultipleChoicePreprocessor(tokenizer, sequence_length=14)


@pytest.fixture(scope="module")
def examples():
    """Forty questions of two to five choices, some longer than a sequence, some without text."""
    generator = np.random.default_rng(1)

    def text():
        return " ".join(generator.choice(list(LETTERS), generator.integers(0, 12)))

    counts = generator.integers(2, 6, 40)
    return [
        {
            "context": text(),
            "choices": [text() or " " for _ in range(count)],
            "label": int(generator.integers(count)),
        }
        for count in counts
    ]


@pytest.fixture(scope="module")
def rows(preprocessor, examples):
    return preprocessor.read(examples, with_labels=True)


@pytest.mark.parametrize("batching", [FULL, LONGEST])
def test_every_choice_is_packed_with_its_context(preprocessor, examples, rows, batching):
    numbers = np.random.default_rng(2).permutation(40)
    inputs, labels = rows.batch(numbers, batching)
    assert {values.shape for values in inputs.values()} == {(40, 5, 14)}
    for row, number in enumerate(numbers):
        example = examples[number]
        there = len(example["choices"])
        expected = preprocessor([example["context"]] * there, example["choices"])
        for name, values in expected.items():
            assert np.array_equal(inputs[name][row, :there], values)
            assert not inputs[name][row, there:].any()
        assert rows.num_tokens()[number] == inputs["padding_mask"][row].sum(axis=-1).max()
        assert labels[row] == example["label"]


def test_a_choice_of_nothing_keeps_its_place(preprocessor):
    example = {"context": "a b", "choices": ["c", "", "d"], "label": 2}
    inputs, labels = preprocessor.read([example], with_labels=True).batch(np.arange(1), LONGEST)
    assert labels.tolist() == [2]
    assert inputs["padding_mask"][0].sum(axis=-1).tolist() == [6, 0, 6]
    assert inputs["token_ids"][0, :, 4].tolist() == [7, 0, 8]


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([GOOD, "a"], "number 1 is 'a'"),
        ([GOOD, {**GOOD, "context": 3}], "number 1 is"),
        ([{**GOOD, "choices": "bc"}], "a dict of a string and of two or more strings"),
        ([{"context": "a", "label": 0}], "number 0 is"),
        ([GOOD, {**GOOD, "choices": ["b", ""]}], "number 1 is .*'b', ''"),
        ([{**GOOD, "label": 2}], "question 0 .*choices, 0, 1; got 2"),
        ([{**GOOD, "label": -1}], "got -1"),
        ([{**GOOD, "label": True}], "got True"),
        ([{"context": "a", "choices": ["b", "c"]}], "got None"),
        ([{**GOOD, "choices": ["", "b", "c"]}], "choices, 1, 2; got 0"),
    ],
)
def test_examples_that_are_no_questions_are_named(preprocessor, examples, message):
    with pytest.raises(ValueError, match=message):
        preprocessor.read(examples, with_labels=True)
