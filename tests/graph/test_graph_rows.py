"""Texts in a graph are read and answered as in Python: rows, windows and answers of every task."""

import unicodedata

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")

from keras_bert import (
    BertClassifierPreprocessor,
    BertMultipleChoicePreprocessor,
    BertPreprocessor,
    BertRerankerPreprocessor,
    BertSpanLabelerPreprocessor,
    BertTokenClassifierPreprocessor,
    BertTokenizer,
)
from keras_bert.preprocessing.question_windows import question_windows
from keras_bert.preprocessing.text_rows import located, ops_of
from keras_bert.preprocessing.text_words import text_words
from keras_bert.preprocessing.texts import TextExamples
from keras_bert.text import numpy_ops
from keras_bert.text.tokens import TRUNCATIONS

LENGTH = 14
TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER", "E-PER", "S-PER"]
PIECES = [*"abcdeé中字Σσς.,()'#", "ab", "bc", "ss", "ᄒ", "ᅡ", "ᆫ"]
ODD = [*"ABÉßΣΣσςİıǅﬁ龍한ß한«»$\0\t\n"]
ODD += "\u0301\u0327\u0345\u200b\u200d\u00ad\ufeff\ufffd\u2028\u3000"
ODD += "😀 👩\u200d🚒 e\u0301 O\u0308\u0327 ΑΣ Σ. 𝒜 क\u094d مُ [MASK] ##a".split()
LOGITS = np.random.default_rng(0).normal(0, 3, 10_007).astype("float32")
LARGEST = np.abs(LOGITS).max()


def odd_texts(count, seed, most=12):
    """Texts of up to `most` words, some of six times as many, of usual and odd characters."""
    generator = np.random.default_rng(seed)
    others = map(chr, generator.integers(0x80, 0x30000, 900).tolist())
    # Marks outside category Mn keep a wrong order in a graph, as `GraphTokenizer` documents.
    others = [c for c in others if unicodedata.category(c) not in ("Cs", "Mc", "Me")]
    characters = np.array([*"abcde" * 60, *".,'( " * 20, *ODD * 6, *others], object)
    numbers = generator.integers(0, most, count) * np.where(generator.random(count) < 0.05, 6, 1)
    letters = generator.choice(characters, (int(numbers.sum()), 4)).tolist()
    sizes = generator.integers(1, 5, len(letters)).tolist()
    words = ("".join(some[:size]) for some, size in zip(letters, sizes, strict=True))
    return [" ".join(next(words) for _ in range(number)) for number in numbers]


def keys(inputs):
    """A number for each token of inputs, `[..., S]`, from which logits are drawn."""
    ops = ops_of(inputs)
    ids, segments = (ops.cast(inputs[name], "int64") for name in ("token_ids", "segment_ids"))
    return (ids + 90 * segments) * (7 + ops.arange(ids.shape[-1] or tf.shape(ids)[-1]) ** 2)


def logits(keys, classes):
    """Random logits in the place of a model's, `[..., C]`, for keys `[...]`."""
    ops = ops_of(keys)
    return ops.take(LOGITS, (31 * keys[..., None] + 101 * np.arange(classes)) % len(LOGITS))


def classified(preprocessor, *columns):
    """Inputs and answers of a classifier: of texts, pairs or windows."""
    rows = preprocessor.rows(TextExamples(columns))
    [inputs] = rows.as_batch()
    outputs = logits(rows.ops.row_sums(keys(inputs)), len(preprocessor.label_names))
    return inputs, preprocessor.answers(rows.pooled(outputs))


def reranked(preprocessor, *columns):
    rows = preprocessor.rows(TextExamples(columns))
    [inputs] = rows.as_batch()
    return inputs, preprocessor.answers(logits(keys(inputs)[:, :, 1], 1)[..., 0], rows)


def found_entities(preprocessor, texts):
    rows = text_words(located(preprocessor, texts), preprocessor.packer)
    [inputs] = rows.as_batch()
    return inputs, preprocessor.answers(logits(keys(inputs), len(TAGS)), rows)


def answered(preprocessor, questions, contexts):
    texts = preprocessor.tokenized(questions), located(preprocessor, contexts)
    ops = texts[0].ops
    rows = question_windows(preprocessor, *texts, ops.arange(ops.num_rows(texts[0].lengths)))
    [inputs] = rows.as_batch()
    outputs = logits(keys(inputs), 2)
    outputs = {"start": outputs[..., 0], "end": outputs[..., 1]}
    places = rows.places(LENGTH)
    parts = rows.question, rows.first, rows.length, places["begins"], places["in_context"]
    return inputs, parts, preprocessor.answers(outputs, rows)


@pytest.fixture(scope="module")
def tokenizer():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return BertTokenizer([*special, *PIECES, *(f"##{piece}" for piece in PIECES)])


@pytest.fixture(scope="module")
def same_in_both(tokenizer, same):
    """A function that asserts that a function makes the same in a graph and in Python."""

    def check(function, kind, *columns, **settings):
        preprocessor = kind(tokenizer, LENGTH, **settings)
        tensors = [tf.constant(column) for column in columns]
        in_graph = tf.function(
            lambda *tensors: function(preprocessor, *tensors),
            [tf.TensorSpec([None, *t.shape[1:]], t.dtype) for t in tensors],
            autograph=False,
        )
        same(in_graph(*tensors), function(preprocessor, *columns), size=LARGEST)

    return check


@pytest.fixture(params=[300, pytest.param(20_000, marks=pytest.mark.weekly)])
def count(request):
    return request.param


NAMES = ["bad", "fine", "good"]


@pytest.mark.parametrize("truncation", TRUNCATIONS)
def test_texts_and_pairs(same_in_both, count, truncation):
    kind, texts, pairs = BertClassifierPreprocessor, odd_texts(count, 1), odd_texts(count, 2)
    settings = {"truncation": truncation, "threshold": 0.3}
    same_in_both(classified, kind, texts, label_names=NAMES, **settings)
    same_in_both(classified, kind, texts, pairs, label_names=NAMES[:2], **settings)
    same_in_both(lambda reader, *texts: reader(*texts), BertPreprocessor, texts, pairs)


def test_windows(same_in_both, count):
    for multi_label in (False, True):
        settings = {"label_names": NAMES, "multi_label": multi_label, "window_stride": 5}
        same_in_both(classified, BertClassifierPreprocessor, odd_texts(count, 3), **settings)


def test_documents(same_in_both, count):
    columns = [odd_texts(count, seed) for seed in (4, 5, 6)]
    same_in_both(reranked, BertRerankerPreprocessor, *columns)
    same_in_both(reranked, BertRerankerPreprocessor, *columns[:2], activation="linear")


def test_entities(same_in_both, count):
    kind, texts = BertTokenClassifierPreprocessor, odd_texts(count, 7)
    same_in_both(found_entities, kind, texts, label_names=TAGS)


def test_answers_to_questions(same_in_both, count):
    settings = {"document_stride": 3, "max_question_length": 4, "max_answer_length": 5}
    columns = odd_texts(count, 8, most=4), odd_texts(count, 9)
    for threshold in (None, -2.0):
        settings["null_threshold"] = threshold
        same_in_both(answered, BertSpanLabelerPreprocessor, *columns, **settings)


def test_choices(tokenizer, same, count):
    contexts, texts = odd_texts(count, 14), odd_texts(4 * count, 15)
    choices = np.array(texts, object).reshape(count, 4)
    choices[:, 1:3] += "a"  # two are there; the others may be missing
    preprocessor = BertMultipleChoicePreprocessor(tokenizer, LENGTH)

    def predict(inputs):
        ops = ops_of(inputs)
        is_empty = ops.cast(inputs["padding_mask"][..., 0] == 0, "float32")
        return logits(ops.cumsum(keys(inputs), -1)[..., -1], 1)[..., 0] - 1e9 * is_empty

    questions = zip(contexts, choices.tolist(), strict=True)
    rows = preprocessor.read([{"context": a, "choices": b} for a, b in questions])
    expected = preprocessor.answers(predict(rows.as_batch()[0]), rows)
    expected |= {"probabilities": np.stack(expected["probabilities"])}
    expected |= {"choice": numpy_ops.strings(expected["choice"])}
    serve = tf.function(lambda *texts: preprocessor.serve(predict, *texts), autograph=False)
    found = serve(tf.constant(contexts), tf.constant(choices.tolist()))
    same(found, expected, size=LARGEST)
