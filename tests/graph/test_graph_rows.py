"""Texts in a graph are read and answered as in Python: rows, windows and answers of each task.

Those of choices are compared by `serving/test_served_answers.py`.
"""

import functools
import unicodedata

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text", reason="pip install tensorflow-text")

import keras_bert
from keras_bert.graph.datasets import as_dataset
from keras_bert.preprocessing.text_rows import ops_of
from keras_bert.text.tokens import TRUNCATIONS
from tests.marks import weekly

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
    pool = np.array([*"abcde" * 60, *".,'(" * 20, *" " * 500, *ODD * 6, *others], object)
    numbers = generator.integers(0, most, count) * np.where(generator.random(count) < 0.05, 6, 1)
    return ["".join(generator.choice(pool, 4 * number)) for number in numbers]


def predict(kind, classes, inputs):
    """Random outputs in the place of a model's, drawn from all of a token's or a row's inputs."""
    ops = ops_of(inputs)
    names = ("token_ids", "segment_ids", "padding_mask")
    ids, segments, mask = (ops.cast(inputs[name], "int64") for name in names)
    positions = ops.arange(ids.shape[-1] or tf.shape(ids)[-1])
    keys = (ids + 90 * segments + 180 * mask) * (7 + positions**2)  # [..., S]
    if kind not in ("TokenClassifier", "SpanLabeler"):
        keys = ops.cumsum(keys, -1)[..., -1]
    outputs = ops.take(LOGITS, (31 * keys[..., None] + 101 * np.arange(classes)) % len(LOGITS))
    if kind == "SpanLabeler":
        return {"start": outputs[..., 0], "end": outputs[..., 1]}
    return outputs if kind in ("Classifier", "TokenClassifier") else outputs[..., 0]


@pytest.fixture(scope="module")
def tokenizer():
    special = "[PAD] [UNK] [CLS] [SEP] [MASK]".split()
    return keras_bert.BertTokenizer([*special, *PIECES, *(f"##{piece}" for piece in PIECES)])


@pytest.fixture(params=[150, weekly(20_000)])
def count(request):
    return request.param


NAMES = ["bad", "fine", "good"]
SPANS = {"document_stride": 3, "max_question_length": 4, "max_answer_length": 5}
CASES = {  # the task, its preprocessor's settings, the most words of each text, the classes
    "windows": ("Classifier", {"window_stride": 5, "label_names": NAMES}, [12], 3),
    "several": ("Classifier", {"multi_label": True, "label_names": NAMES}, [12], 3),
    "documents": ("Reranker", {}, [12, 12], 1),
    "logits": ("Reranker", {"activation": "linear"}, [12, 12], 1),
    "entities": ("TokenClassifier", {"label_names": TAGS}, [12], 7),
    "questions": ("SpanLabeler", SPANS, [4, 12], 2),
    "no answers": ("SpanLabeler", {**SPANS, "null_threshold": -2.0}, [4, 12], 2),
}
for truncation in TRUNCATIONS:
    settings = {"truncation": truncation, "threshold": 0.3, "label_names": NAMES[:2]}
    CASES[truncation] = "Classifier", settings, [12], 2
    CASES[f"{truncation} of pairs"] = "Classifier", settings, [12, 12], 2


@pytest.mark.parametrize("name", CASES)
def test_a_graph_answers_texts_as_python_does(tokenizer, same, count, name):
    kind, settings, sizes, classes = CASES[name]
    columns = [odd_texts(count, seed, most) for seed, most in enumerate(sizes)]
    x = columns[0] if len(columns) == 1 else tuple(columns)
    served = columns
    if kind == "Classifier" and len(columns) == 2:
        served = [list(zip(*columns, strict=True))]
    if kind == "SpanLabeler":
        x = [{"question": a, "context": b} for a, b in zip(*columns, strict=True)]
    reader = getattr(keras_bert, f"Bert{kind}Preprocessor")(tokenizer, LENGTH, **settings)
    outputs_of = functools.partial(predict, kind, classes)
    rows = reader.read(x)
    expected = reader.answers(rows.pooled(outputs_of(rows.as_batch()[0])), rows)
    tensors = [*map(tf.constant, served)]
    specs = [tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype) for tensor in tensors]
    serve = tf.function(functools.partial(reader.serve, outputs_of), specs, autograph=False)
    same(serve(*tensors), expected, size=LARGEST)


def test_calls_in_a_graph_are_those_of_python(tokenizer, same, count):
    texts, pairs = odd_texts(count, 1), odd_texts(count, 2)
    reader = keras_bert.BertPreprocessor(tokenizer, LENGTH)
    column = tf.TensorSpec([None], tf.string)
    in_graph = tf.function(reader, [column] * 2, autograph=False)
    same(in_graph(tf.constant(texts), tf.constant(pairs)), reader(texts, pairs))
    settings = {"prompts": {"query": "ab c"}, "default_prompt_name": "query"}
    prompted = keras_bert.BertEmbedderPreprocessor(tokenizer, LENGTH, **settings)
    in_graph = tf.function(prompted, [column], autograph=False)
    same(in_graph(tf.constant(texts)), prompted(texts))


def test_a_dataset_has_the_batches_and_their_dtypes(tokenizer, same):
    rows = keras_bert.BertPreprocessor(tokenizer, LENGTH).read(["a", "b c", ""])
    batches = rows.batches(keras_bert.Batching(2, shuffle=False))
    for found, expected in zip(as_dataset(batches), batches, strict=True):
        same(found, expected)
