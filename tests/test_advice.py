"""Advice works: a wrong call names what to write instead, and the call that follows it runs.

A row has the wrong call, what its message must name, and the right call, unless other tests run it.
Both begin in an empty folder.
"""

import keras
import numpy as np
import pytest

import keras_bert as kb
from keras_bert import losses, metrics

tf = pytest.importorskip("tensorflow")
if keras.backend.backend() != "tensorflow":
    pytest.skip("messages are the same on all backends", allow_module_level=True)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxy"]
TOKENIZER = kb.BertTokenizer(WORDS)
READER = kb.BertClassifierPreprocessor(TOKENIZER, 12)
X, Y, N = ["a b", "c", "d e", "f"], ["no", "yes", "yes", "no"], [0, 1, 1, 0]
HOT = np.eye(2)[N]
PAIRS = (X, X[::-1])
CATEGORICAL = keras.losses.CategoricalCrossentropy(from_logits=True)
slices, zipped = tf.data.Dataset.from_tensor_slices, tf.data.Dataset.zip


def encoder(**arguments):
    return kb.BertBackbone(30, 1, 2, 16, 16, max_sequence_length=16, **arguments)


def task(kind="Classifier", arguments=(), **settings):
    """Makes a tiny task, with arguments of its own and settings of its preprocessor."""
    names = {"Classifier": ["no", "yes"], "TokenClassifier": ["O", "B-X"]}
    if kind in names:
        settings = {"label_names": names[kind], **settings}
    task_class = getattr(kb, f"Bert{kind}")
    reader = task_class.preprocessor_class()(TOKENIZER, 12, **settings)
    return task_class(encoder(), preprocessor=reader, **dict(arguments))


def train(model, *data, loss=None, optimizer="sgd", weighted_metrics=None, **options):
    model.compile(optimizer, loss, weighted_metrics=weighted_metrics, run_eagerly=True)
    model.fit(*data, verbose=0, **options)
    return model


def fit(*data, kind="Classifier", settings=None, **options):
    return train(task(kind, **settings or {}), *data, **options)


def after(change, call, model=None):
    """Calls two functions of a new classifier, or of another model."""
    model = model or task()
    change(model)
    return call(model)


def frozen(kind, *data):
    model = task(kind)
    model.backbone.trainable = False
    return train(model, *data) if data else model


def unfreeze(model):
    model.backbone.unfreeze()


def enable_lora(model):
    model.enable_lora(2)


def load(source=None, **arguments):
    (source or task("Embedder")).save_to_preset("preset")
    return kb.BertClassifier.from_preset("preset", **arguments)


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
        lambda: task("Embedder").batches(X),
        "pairs scores labels",
        lambda: [task("Embedder").batches(*data) for data in ((PAIRS,), (PAIRS, N), (X, N))],
    ),
    (lambda: losses.WeightedBinaryCrossentropy(iter([])), "pos_weight list"),
    # Training
    (lambda: task().compile(learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (lambda: fit(X, Y, learning_rate=1e-3), "compile(AdamW(learning_rate))"),
    (
        lambda: train(frozen("Embedder"), PAIRS),
        "unfreeze() enable_lora(rank)",
        lambda: [
            after(thaw, lambda model: train(model, PAIRS), frozen("Embedder"))
            for thaw in (unfreeze, enable_lora)
        ],
    ),
    (
        lambda: after(unfreeze, lambda model: model.fit(X, Y), frozen("Classifier", X, Y)),
        "Compile optimizer",
    ),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None"),
    # Tasks and presets
    (
        lambda: kb.BertClassifier(num_classes=2),
        "BertBackbone BertClassifier.from_preset(source",
        lambda: load(num_classes=2),
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
        lambda: after(
            lambda model: setattr(model, "preprocessor", READER.like(READER, threshold=0.3)),
            lambda model: model.answer("a"),
        ),
    ),
    (lambda: kb.BertPretrainer(encoder(), masked_lm_activation=len), "activation name"),
    # Corpora and files
    (lambda: kb.Corpus("."), "prepare_corpus"),
    (lambda: metrics.retrieval_scores([1], [2]), "relevance query document"),
]


@pytest.mark.parametrize("row", ADVICE)
def test_advice_works(row, tmp_path, monkeypatch):
    wrong, named, *right = row
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        wrong()
    assert [part for part in named.split() if part not in str(caught.value)] == []
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for call in right:
        call()
