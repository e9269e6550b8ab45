import numpy as np
import pytest
import tensorflow as tf

from keras_bert import Batching, BertTokenClassifierPreprocessor
from keras_bert.metrics.entities import tagged_entities
from keras_bert.preprocessing.bert_token_classifier_preprocessor import holds_words
from keras_bert.preprocessing.texts import in_parts

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "E-PER", "S-PER"]
WORDS = [["ab", "c"], ["d"], ["abc", "defg", "h"]]
TAGS = [["O", "B-LOC"], ["S-PER"], ["B-LOC", "I-LOC", "O"]]


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return BertTokenClassifierPreprocessor(tokenizer, sequence_length=10, label_names=NAMES)


def test_tags_are_trained_on_by_name_and_by_number(preprocessor):
    numbers = [[NAMES.index(tag) for tag in sentence] for sentence in TAGS]
    assert preprocessor.targets(TAGS) == preprocessor.targets(numbers) == numbers
    data = preprocessor.batches(WORDS, TAGS, batching=Batching(2, pad_to="full"))
    expected = preprocessor.read(WORDS, numbers).batch(np.arange(3), Batching(pad_to="full"))
    found = tf.nest.map_structure(lambda *parts: np.concatenate(parts), *data)
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_without_names_labels_are_numbers(tokenizer, refused):
    preprocessor = BertTokenClassifierPreprocessor(tokenizer, sequence_length=10)
    assert preprocessor.targets([[3, np.int64(1)], []]) == [[3, 1], []]
    for labels, message in (([[0], [-1]], "has the tag -1"), ([["O"]], "'O', .*need label_names")):
        refused(message, preprocessor.targets, labels)


def test_words_are_told_from_texts():
    for words in (WORDS, [np.array(["a"])], [("a",), ()], {"words": WORDS}, np.array([["a"]])):
        assert holds_words(words)
    for texts in ("a b", ["a", "b"], np.array(["a"]), [], tf.data.Dataset.from_tensors("a")):
        assert not holds_words(texts)


def test_sentences_of_a_document_stay_together(preprocessor):
    words, documents = [[letter] for letter in "abcdefghij"], [0, 0, 0, 1, 2, 2, 2, 2, 3, 3]
    assert [*map(len, in_parts(preprocessor.listed(words), size=4))] == [4, 4, 2]
    parts = in_parts(preprocessor.listed({"words": words, "documents": documents}), size=4)
    assert [[*part.documents] for part in parts] == [[0, 0, 0, 1], [2] * 4, [3, 3]]
    parts = list(in_parts(preprocessor.listed({"words": words, "documents": documents}), size=2))
    assert [*map(len, parts)] == [3, 5, 2]
    assert sum((part.words for part in parts), []) == words


def test_words_get_their_tags_and_probabilities(preprocessor):
    rows = preprocessor.read(WORDS)
    logits = np.random.default_rng(1).normal(0, 3, (3, 10, 7)).astype("float32")
    found = preprocessor.answers(logits, rows)
    expected = rows.at_words(logits)
    labels = np.concatenate(found["label"]).tolist()
    assert labels == [NAMES[number] for number in expected.argmax(axis=-1)]
    assert [*map(len, found["label"])] == [2, 1, 3]
    probabilities = np.exp(expected) / np.exp(expected).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(np.concatenate(found["probabilities"]), probabilities, rtol=1e-5)
    prepared = preprocessor.answers(logits)
    assert prepared["label"].shape == (3, 10) and prepared["probabilities"].shape == (3, 10, 7)
    for answers in (found, prepared):
        assert answers["labels"].tolist() == [NAMES] * 3


def test_entities_of_texts_are_those_of_conlleval(preprocessor):
    generator = np.random.default_rng(3)
    texts = ["ab (ä) c.", "", "中国 d", " ".join("abcdefghijklmnopqrst")]
    words = preprocessor.read(texts)
    for _ in range(20):
        outputs = generator.normal(0, 3, (len(words.num_tokens()), 10, 7)).astype("float32")
        found = preprocessor.answers(outputs, words)
        found = {name: [values.tolist() for values in each] for name, each in found.items()}
        logits = outputs[words.window, words.position]
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        for row, text in enumerate(texts):
            mine = np.flatnonzero(words.text == row)
            expected = tagged_entities([NAMES[label] for label in logits[mine].argmax(axis=1)])
            assert found["num_entities"][row] == len(expected)
            spans = [(words.start[mine[a]], words.end[mine[b - 1]]) for _, a, b in expected]
            assert found["entity_start"][row] == [a for a, _ in spans]
            assert found["entity_end"][row] == [b for _, b in spans]
            assert found["entity_text"][row] == [text[a:b] for a, b in spans]
            assert found["entity_type"][row] == [type_ for type_, _, _ in expected]
            ends = found["entity_start_byte"][row], found["entity_end_byte"][row]
            bytes_ = [text.encode()[a:b] for a, b in zip(*ends, strict=True)]
            assert [part.decode() for part in bytes_] == found["entity_text"][row]
            scores = [probabilities[mine[a:b]].max(axis=1).mean() for _, a, b in expected]
            np.testing.assert_allclose(found["entity_score"][row], scores, rtol=1e-5)


@pytest.mark.parametrize(
    ("texts", "tags", "expected"),
    [
        (["st. l moved."], "B-LOC O I-LOC O O", ["st. l"]),
        (["a b. c. d"], "B-PER I-PER O I-PER B-LOC E-PER", ["a b. c. d"]),
        (["a . b"], "B-LOC O I-LOC", ["a", "b"]),
        (["a, b"], "B-LOC O I-LOC", ["a", "b"]),
        (["a. b"], "B-LOC O I-PER", ["a", "b"]),
        (["a. b"], "B-LOC O B-LOC", ["a", "b"]),
        (["a. b. c"], "I-LOC O I-LOC O B-LOC", ["a", "b", "c"]),  # IOB1: three names
        (["a.", "b"], "B-LOC O I-LOC", ["a", "b"]),
    ],
)
def test_a_period_within_a_name_belongs_to_it(preprocessor, texts, tags, expected):
    words = preprocessor.read(texts)
    logits = np.zeros((len(words.num_tokens()), 10, 7), "float32")
    logits[words.window, words.position, list(map(NAMES.index, tags.split()))] = 9
    in_graph = preprocessor.serve(lambda inputs: tf.constant(logits), tf.constant(texts))
    entities = [name.decode() for name in in_graph["entity_text"].flat_values.numpy()]
    in_memory = np.concatenate(preprocessor.answers(logits, words)["entity_text"])
    assert entities == in_memory.tolist() == expected


def test_tags_without_prefixes_are_entities_of_one_word(tokenizer):
    preprocessor = BertTokenClassifierPreprocessor(tokenizer, 10, label_names=["NN", "O", "VB"])
    words = preprocessor.read("a b c")
    logits = np.zeros((1, 10, 3), "float32")
    logits[0, [1, 2, 3], [0, 0, 2]] = 9
    found = preprocessor.answers(logits, words)
    assert found["entity_text"][0].tolist() == ["a", "b", "c"]
    assert found["entity_type"][0].tolist() == ["NN", "NN", "VB"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a b"], [0]), "trains on lists of words.*got texts"),
        ((("a", "b"),), "up to 1 text.*got 2"),
        ((WORDS, TAGS, [1, 1, 1]), "no sample_weight"),
        (({"words": WORDS, "documents": [0]},), "3 sentences but 1 documents"),
        ((WORDS, [["O", "LOC"], [], []]), "Sentence 0 has the tag 'LOC'.*7 classes: O, B-LOC"),
        ((WORDS[:1], tf.constant(["O"])), "must have a list of tags; number 0"),
        ((WORDS, [["O", 7], [], []]), "Sentence 0 has the tag 7"),
        ((WORDS, [["O"], [], []]), "2 words in sentence 0 but 1 labels"),
        ((WORDS, [["O", -1], [], []]), "Sentence 0 has the tag -1"),
        (([[], []],), "There are no words"),
        (([["a"], ["a", 3]],), "The word 3 of sentence 1"),
        ((WORDS, []), "3 sentences but 0 lists of labels"),
    ],
)
def test_examples_that_are_not_words_with_tags_are_refused(
    preprocessor, arguments, message, refused
):
    refused(message, preprocessor.read, *arguments)
    refused("need the tags of each sentence", preprocessor.read, WORDS, with_labels=True)
