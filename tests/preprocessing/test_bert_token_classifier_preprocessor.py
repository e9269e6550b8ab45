import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from keras_bert import BertTokenClassifierPreprocessor
from keras_bert.metrics.entities import tagged_entities
from keras_bert.preprocessing.bert_token_classifier_preprocessor import holds_words
from keras_bert.preprocessing.texts import in_parts

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "E-PER", "S-PER"]
WORDS = [["ab", "c"], ["d"], ["abc", "defg", "h"]]
ENTITY = ("type", "text", "start", "end", "score")
TAGS = [["O", "B-LOC"], ["S-PER"], ["B-LOC", "I-LOC", "O"]]


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertTokenClassifierPreprocessor(tokenizer, sequence_length=10, label_names=NAMES)


def test_without_names_labels_are_numbers(tokenizer, refused):
    preprocessor = BertTokenClassifierPreprocessor(tokenizer, sequence_length=10)
    assert preprocessor.targets([[3, np.int64(1)], []]) == [[3, 1], []]
    refused("has the tag -1", preprocessor.targets, [[0], [-1]])
    refused("'O', .*need label_names", preprocessor.targets, [["O"]])


def test_words_are_told_from_texts():
    for words in (WORDS, [np.array(["a"])], [("a",), ()], {"words": WORDS}):
        assert holds_words(words)
    for texts in (
        "a b",
        ["a", "b"],
        np.array(["a"]),
        [],
        tf.data.Dataset.from_tensors("a"),
    ):
        assert not holds_words(texts)


def test_sentences_of_a_document_stay_together(preprocessor):
    words = [[letter] for letter in "abcdefghij"]
    documents = [0, 0, 0, 1, 2, 2, 2, 2, 3, 3]
    for sentences, size, counts in (
        (words, 4, [4, 4, 2]),
        ({"words": words, "documents": documents}, 2, [3, 5, 2]),
    ):
        parts = list(in_parts(preprocessor.listed(sentences), size))
        assert [*map(len, parts)] == counts and sum((part.words for part in parts), []) == words


def test_words_get_their_tags_and_probabilities(preprocessor, assert_close):
    rows = preprocessor.read(WORDS)
    logits = np.random.default_rng(1).normal(0, 3, (3, 10, 7)).astype("float32")
    found, prepared = preprocessor.answers(logits, rows), preprocessor.answers(logits)
    probabilities = softmax(rows.at_words(logits), axis=-1)
    labels = [NAMES[number] for number in probabilities.argmax(axis=-1)]
    assert [*map(len, found["label"])] == [*map(len, WORDS)]
    assert np.concatenate(found["label"]).tolist() == labels
    assert_close(np.concatenate(found["probabilities"]), probabilities)
    assert_close(prepared["probabilities"], softmax(logits, axis=-1))
    assert found["labels"].tolist() == prepared["labels"].tolist() == [NAMES] * 3


def test_entities_of_texts_are_those_of_conlleval(tokenizer):
    generator = np.random.default_rng(3)
    texts = ["ab (ä) c.", "", "中国 d", " ".join("abcdefghijklmnopqrst")]
    for names in 20 * [NAMES] + [["NN", "VB"], ["PER", "O", "LOC"]]:
        preprocessor = BertTokenClassifierPreprocessor(tokenizer, 10, label_names=names)
        words = preprocessor.read(texts)
        shape = len(words.num_tokens()), 10, len(names)
        outputs = generator.normal(0, 3, shape).astype("float32")
        found = preprocessor.answers(outputs, words)
        probabilities = softmax(outputs[words.window, words.position], axis=-1)
        for row, text in enumerate(texts):
            mine = np.flatnonzero(words.text == row)
            tags = [names[label] for label in probabilities[mine].argmax(axis=1)]
            if names[0] == "PER":  # neighbors are one entity
                tags = [tag.replace("PER", "I-PER").replace("LOC", "I-LOC") for tag in tags]
            expected = []
            for type_, first, end in tagged_entities(tags):
                start, stop = words.start[mine[first]], words.end[mine[end - 1]]
                score = probabilities[mine[first:end]].max(axis=1).mean()
                score = pytest.approx(score, rel=1e-5)
                expected.append((type_, text[start:stop], start, stop, score))
            columns = [found[f"entity_{name}"][row] for name in ENTITY]
            assert list(zip(*columns, strict=True)) == expected
            assert found["num_entities"][row] == len(expected)


def test_a_period_within_a_name_belongs_to_it(preprocessor):
    for texts, tags, expected in (
        ("st. l moved.", "B-LOC O I-LOC O O", "st. l"),
        ("a b. c. d", "B-PER I-PER O I-PER B-LOC E-PER", "a b. c. d"),
        ("a . b", "B-LOC O I-LOC", "a|b"),
        ("a, b", "B-LOC O I-LOC", "a|b"),
        ("a. b", "B-LOC O I-PER", "a|b"),
        ("a. b", "B-LOC O B-LOC", "a|b"),
        ("a. b. c", "I-LOC O I-LOC O B-LOC", "a|b|c"),  # IOB1: three names
        ("a.|b", "B-LOC O I-LOC", "a|b"),
    ):
        words = preprocessor.read(texts.split("|"))
        logits = np.zeros((len(words.num_tokens()), 10, 7), "float32")
        logits[words.window, words.position, list(map(NAMES.index, tags.split()))] = 9
        entities = np.concatenate(preprocessor.answers(logits, words)["entity_text"])
        assert "|".join(entities) == expected, texts


def test_examples_that_are_not_words_with_tags_are_refused(preprocessor, refused):
    for message, *arguments in (
        ("a list of spans.*; got 0. Tags are for lists of words", ["a b"], [0]),
        ("no sample_weight", WORDS, TAGS, [1, 1, 1]),
        ("3 sentences but 1 documents", {"words": WORDS, "documents": [0]}),
        (
            "Sentence 0 has the tag 'LOC'.*7 classes: O, B-LOC",
            WORDS,
            [["O", "LOC"], [], []],
        ),
        ("must have a list of tags; number 0", WORDS[:1], tf.constant(["O"])),
        ("2 words in sentence 0 but 1 labels", WORDS, [["O"], [], []]),
        ("There are no words", [[], []]),
        ("The word 3 of sentence 1", [["a"], ["a", 3]]),
    ):
        refused(message, preprocessor.read, *arguments)
    refused("need the tags of each sentence", preprocessor.read, WORDS, with_labels=True)
    refused("trains on lists of words.*got texts", preprocessor.read, ["a"], with_labels=True)
