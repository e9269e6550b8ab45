"""Advice works: a wrong call names what to write instead, and the call that follows it runs.

A row has the wrong call, what its message must name, and the right call, unless other tests run it.
"""

import keras
import numpy as np
import pytest

import keras_bert as kb
from keras_bert import losses, metrics

tf = pytest.importorskip("tensorflow")
if keras.backend.backend() != "tensorflow":
    pytest.skip("messages are the same on all backends", allow_module_level=True)

TOKENIZER = kb.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"])
READER = kb.BertClassifierPreprocessor(TOKENIZER, 12)
X, Y, N = ["a b", "c", "d e", "f"], ["no", "yes", "yes", "no"], [0, 1, 1, 0]
HOT = np.eye(2)[N]
PAIRS = (X, X[::-1])
WORDS, TAGS = [["a", "b"]], [["B", "O"]]
CATEGORICAL = keras.losses.CategoricalCrossentropy(from_logits=True)
slices, zipped = tf.data.Dataset.from_tensor_slices, tf.data.Dataset.zip


def encoder():
    return kb.BertBackbone(11, 1, 2, 16, 16, max_sequence_length=16)


def task(**settings):
    """Makes a classifier, with settings of its preprocessor."""
    reader = READER.like(READER, **{"label_names": ["no", "yes"], **settings})
    return kb.BertClassifier(encoder(), preprocessor=reader)


def embedder():
    return kb.BertEmbedder(encoder(), preprocessor=kb.BertEmbedderPreprocessor(TOKENIZER, 12))


def tagger():
    reader = kb.BertTokenClassifierPreprocessor(TOKENIZER, 12, label_names=["O", "B"])
    return kb.BertTokenClassifier(encoder(), preprocessor=reader)


def fit(*data, model=None, loss=None, **options):
    model = model or task()
    model.compile("sgd", loss, run_eagerly=True)
    model.fit(*data, verbose=0, **options)
    return model


def frozen(model):
    model.backbone.trainable = False
    return model


def unfrozen(model):
    model.backbone.unfreeze()
    return model


def adapted(model):
    model.enable_lora(2)
    return model


ADVICE = [
    # Data
    (lambda: fit("train.csv"), "read_csv y"),
    (
        lambda: fit((slices(X), slices(X)), N),
        "tf.data.Dataset.zip",
        lambda: fit(zipped((zipped((slices(X), slices(X))), slices(N)))),
    ),
    (lambda: task()(X), "model.preprocessor(texts)"),
    (
        lambda: task().predict({"text": X, "label": 1}),
        "Columns lists",
        lambda: task().predict({"text": X, "label": N}),
    ),
    (
        lambda: task().scores(slices(HOT).batch(2)),
        "raw examples token_ids dict",
        lambda: task().scores(slices((X, N))),
    ),
    # Labels, weights and losses
    (
        lambda: fit(X, Y, loss=CATEGORICAL),
        "keras_bert.losses.LogitCrossentropy label_smoothing",
        lambda: fit(X, Y, loss=losses.LogitCrossentropy(label_smoothing=0.1)),
    ),
    (lambda: task(label_names=["0", "1"]).batches(X, Y), "label_names=['no', 'yes']"),
    (lambda: task().batches(X, [["no"], ["no", "yes"], [], ["no"]]), "multi_label=True"),
    (
        lambda: embedder().batches(X),
        "pairs scores labels",
        lambda: [embedder().batches(*data) for data in ((PAIRS,), (PAIRS, N), (X, N))],
    ),
    (lambda: losses.WeightedBinaryCrossentropy(iter([])), "pos_weight list"),
    (
        lambda: tagger().fit(WORDS, TAGS, class_weight={"O": 0.1}),
        "leave it out",
        lambda: tagger().fit(WORDS, TAGS, verbose=0),
    ),
    (
        lambda: task().predict([{"id": "7", "review": "a"}]),
        "'text' 'sentence1' 'sentence2' table['review'] tuple",
        lambda: [task().predict(x) for x in ([{"id": "7", "text": "a"}], ["a"], (["a"], ["b"]))],
    ),
    (
        lambda: tagger().scores(["a b"], [[(0, 1, "X")]]),
        "preprocessor.words_and_tags(texts, spans)",
        lambda: tagger().scores(*tagger().preprocessor.words_and_tags(["a b"], [[(0, 1, "B")]])),
    ),
    # Training
    (lambda: task().compile(learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda: fit(X, Y, learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (
        lambda: fit(PAIRS, model=frozen(embedder())),
        "unfreeze() enable_lora(rank)",
        lambda: fit(PAIRS, model=unfrozen(frozen(embedder()))),
        lambda: fit(PAIRS, model=adapted(frozen(embedder()))),
    ),
    (lambda: unfrozen(fit(X, Y, model=frozen(task()))).fit(X, Y), "Compile optimizer"),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None"),
    # Tasks and presets
    (
        lambda: kb.BertClassifier(num_classes=2),
        "BertBackbone BertClassifier.from_preset(source",
    ),
    (
        lambda: kb.BertClassifier(encoder(), 2, sequence_length=12),
        "BertClassifierPreprocessor(tokenizer",
        lambda: kb.BertClassifier(encoder(), 2, READER),
    ),
    (lambda: task().label_names, "preprocessor.label_names"),
    (
        lambda: task().answer("a", threshold=0.3),
        "model.preprocessor.like(model.preprocessor, threshold=",
        lambda: READER.like(READER, threshold=0.3),
    ),
    (lambda: kb.BertPretrainer(encoder(), masked_lm_activation=len), "activation name"),
    # Corpora and files
    (lambda: kb.Corpus("."), "prepare_corpus"),
    (lambda: metrics.retrieval_scores([1], [2]), "relevance query document"),
]


@pytest.mark.parametrize("row", ADVICE)
def test_advice_works(row):
    wrong, named, *right = row
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        wrong()
    assert [part for part in named.split() if part not in str(caught.value)] == []
    for call in right:
        call()
