import numpy as np
import pytest
import tensorflow as tf

from keras_bert.metrics.entities import tagged_entities
from keras_bert.preprocessing.bert_preprocessor import BertPreprocessor
from keras_bert.preprocessing.found_entities import entity_dicts, found_entities
from keras_bert.preprocessing.text_words import text_words
from keras_bert.text.tokenizer import BertTokenizer

LETTERS = "abcdefghijklmnopqrst"
MARKS = ".,()'@-"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *MARKS, "中", "国"]
VOCABULARY += [f"##{c}" for c in LETTERS]
NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "E-PER", "S-PER"]


@pytest.fixture(scope="module")
def preprocessor():
    return BertPreprocessor(BertTokenizer(VOCABULARY), sequence_length=10)


def strings(text, words):
    data = text.encode()
    spans = zip(words.start.numpy(), words.end.numpy(), strict=True)
    return [data[start:end].decode() for start, end in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc de", ["abc", "de"]),
        ("(don't)", ["(", "don't", ")"]),
        ("in a-b, cd.", ["in", "a-b", ",", "cd", "."]),
        ("...", [".", ".", "."]),
        ("@abc  'a.b.'\n", ["@", "abc", "'", "a.b", ".", "'"]),
        ("中国 a中b", ["中", "国", "a", "中", "b"]),
        ("«ab» zz, za?", ["«", "ab", "»", "zz", ",", "za", "?"]),  # unknown marks, unknown words
        ("龍a", ["龍", "a"]),
        ("e\u0301t a\u0301 Ä", ["e\u0301t", "a\u0301", "Ä"]),
        ("", []),
        ("  \u200b ", []),
    ],
)
def test_words_are_those_of_tagged_files(preprocessor, text, expected):
    assert strings(text, text_words(tf.constant([text]), preprocessor)) == expected


def test_words_of_several_texts_and_in_a_graph_are_those_of_each(preprocessor):
    texts = ["ab, c", "", "中 (d", "a" * 30 + " b " * 40, "x"]
    in_graph = tf.function(lambda t: vars(text_words(t, preprocessor)), autograph=False)
    together = in_graph(tf.constant(texts))
    apart = [text_words(tf.constant([text]), preprocessor) for text in texts]
    for name in ("position", "start", "end"):
        found = np.concatenate([getattr(words, name) for words in apart])
        assert together[name].numpy().tolist() == found.tolist()
    offsets = np.cumsum([0] + [int(words.windows.nrows()) for words in apart])
    windows = [words.window + offset for words, offset in zip(apart, offsets, strict=False)]
    assert together["window"].numpy().tolist() == np.concatenate(windows).tolist()
    rows = [row for words in apart for row in words.windows.to_list()]
    assert together["windows"].to_list() == rows


@pytest.mark.parametrize("sequence_length", [3, 4, 5, 10, 33])
@pytest.mark.parametrize("length", [1, 7, 8, 9, 12, 13, 100, 333])
def test_every_word_of_a_long_text_is_read_where_it_stands_amid(sequence_length, length):
    tokenizer = BertTokenizer(VOCABULARY)
    letters = np.random.default_rng(length).choice(list(LETTERS), length)
    preprocessor = BertPreprocessor(tokenizer, sequence_length)
    words = text_words(tf.constant([" ".join(letters)]), preprocessor)
    token_ids = preprocessor.pack(words.windows)["token_ids"].numpy()
    read = token_ids[words.window.numpy(), words.position.numpy()]
    assert [tokenizer.id_to_token(int(i)) for i in read] == letters.tolist()
    window, room = words.window.numpy(), sequence_length - 2
    assert (np.diff(window) >= 0).all() and set(window) <= set(range(len(token_ids)))
    inner = (window > 0) & (window < len(token_ids) - 1)
    distance = np.minimum(words.position.numpy(), room + 1 - words.position.numpy())
    assert (distance[inner] >= room // 4).all()


def test_entities_of_texts_are_those_of_conlleval(preprocessor):
    generator = np.random.default_rng(3)
    texts = ["ab (ä) c.", "", "中国 d", " ".join(LETTERS)]
    for _ in range(20):
        words = text_words(tf.constant(texts), preprocessor)
        logits = generator.normal(0, 3, (len(words.start), len(NAMES))).astype("float32")
        found = entity_dicts(found_entities(logits, words, tf.constant(texts), NAMES))
        probabilities = tf.nn.softmax(logits).numpy()
        of_text, start, end = (part.numpy() for part in (words.text, words.start, words.end))
        for row, text in enumerate(texts):
            mine = np.flatnonzero(of_text == row)
            tags = [NAMES[label] for label in logits[mine].argmax(axis=1)]
            expected = [
                {
                    "text": text.encode()[start[mine[a]] : end[mine[b - 1]]].decode(),
                    "type": type_,
                    "score": probabilities[mine[a:b]].max(axis=1).mean(),
                }
                for type_, a, b in tagged_entities(tags)
            ]
            assert len(found[row]) == len(expected)
            for entity, other in zip(found[row], expected, strict=True):
                assert (entity["text"], entity["type"]) == (other["text"], other["type"])
                assert text[entity["start"] : entity["end"]] == entity["text"]
                assert entity["score"] == pytest.approx(other["score"], rel=1e-5)


def test_tags_without_prefixes_are_entities_of_one_word(preprocessor):
    texts = tf.constant(["a b c"])
    words = text_words(texts, preprocessor)
    logits = 9 * np.eye(3, dtype="float32")[[0, 0, 2]]
    found = entity_dicts(found_entities(logits, words, texts, ["NN", "O", "VB"]))[0]
    assert [(entity["text"], entity["type"]) for entity in found] == [
        ("a", "NN"),
        ("b", "NN"),
        ("c", "VB"),
    ]
