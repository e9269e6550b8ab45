"""Advice works: a wrong call names what to write instead, and the call that follows it runs.

A row has the wrong call, what its message must name, and the right call. Both begin in an empty
folder.
"""

from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert as kb
from keras_bert import callbacks, losses, metrics

tf = pytest.importorskip("tensorflow")
if keras.backend.backend() != "tensorflow":
    pytest.skip("messages are the same on all backends", allow_module_level=True)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxy"]
TOKENIZER = kb.BertTokenizer(WORDS)
READER = kb.BertClassifierPreprocessor(TOKENIZER, 12)
X, Y, N = ["a b", "c", "d e", "f"], ["no", "yes", "yes", "no"], [0, 1, 1, 0]
HOT, SEVERAL = np.eye(2)[N], [["no"], ["no", "yes"], [], ["no"]]
PAIRS = (X, X[::-1])
FEATURES, TWO = {"text": X, "features": HOT}, {"num_features": 2}
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


def corpus(documents=2, **settings):
    paths = [f"{index}.txt" for index in range(documents)]
    for index, path in enumerate(paths):
        Path(path).write_text(f"a b c.\nd e.\n{'f ' * index}.\n")
    settings = {"progress": False, "num_workers": 1, **settings}
    return kb.prepare_corpus(paths, "corpus", TOKENIZER, **settings)


def pretraining(documents=2, **settings):
    return kb.pretraining_dataset(corpus(documents), batch_size=1, sequence_length=8, **settings)


def resumable(folder, **arguments):
    fit(X, Y, callbacks=[kb.TrainingCheckpoint(folder)], **arguments)


ADVICE = [
    # Data
    (lambda: fit("train.csv"), "read_csv y", lambda: fit(X, Y)),
    (
        lambda: fit((slices(X), slices(X)), N),
        "tf.data.Dataset.zip",
        lambda: fit(zipped((zipped((slices(X), slices(X))), slices(N)))),
    ),
    (
        lambda: fit(X, Y, validation_data=[X, Y]),
        "(x, y)",
        lambda: fit(X, Y, validation_data=(X, Y)),
    ),
    (lambda: task()(X), "model.preprocessor(texts)", lambda: task()(READER(X))),
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
    (
        lambda: task(arguments=TWO).answer(X),
        "{'text': 'features':",
        lambda: task(arguments=TWO).answer(FEATURES),
    ),
    # Labels, weights and losses
    (
        lambda: fit(X, Y, loss=CATEGORICAL),
        "keras_bert.losses.LogitCrossentropy label_smoothing",
        lambda: fit(X, Y, loss=losses.LogitCrossentropy(label_smoothing=0.1)),
    ),
    (
        lambda: task(label_names=["0", "1"]).batches(X, Y),
        "label_names=['no', 'yes']",
        lambda: task(label_names=["no", "yes"]).batches(X, Y),
    ),
    (
        lambda: task().batches(X, SEVERAL),
        "multi_label=True",
        lambda: task(multi_label=True).batches(X, SEVERAL),
    ),
    (
        lambda: fit(slices((X, N)), class_weight="balanced"),
        "dict y",
        lambda: fit(slices((X, N)), class_weight={"yes": 2}),
    ),
    (
        lambda: task("Embedder").batches(X),
        "pairs scores labels",
        lambda: [task("Embedder").batches(*data) for data in ((PAIRS,), (PAIRS, N), (X, N))],
    ),
    (
        lambda: losses.WeightedBinaryCrossentropy(iter([])),
        "pos_weight list",
        lambda: losses.WeightedBinaryCrossentropy([1.0]),
    ),
    # Training
    (
        lambda: task().compile(learning_rate=1e-3),
        "compile(AdamW(learning_rate))",
        lambda: task().compile(kb.AdamW(1e-3)),
    ),
    (
        lambda: fit(X, Y, learning_rate=1e-3),
        "compile(AdamW(learning_rate))",
        lambda: fit(X, Y, optimizer=kb.AdamW(1e-3)),
    ),
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
        lambda: after(unfreeze, lambda model: train(model, X, Y), frozen("Classifier", X, Y)),
    ),
    (lambda: kb.TrainingCheckpoint(None), "folder Path None", lambda: resumable(Path("run"))),
    (lambda: callbacks.Throughput("x"), "tokens_per_step", lambda: callbacks.Throughput(64)),
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
    (
        lambda: task().label_names,
        "preprocessor.label_names",
        lambda: task().preprocessor.label_names,
    ),
    (
        lambda: task().answer("a", threshold=0.3),
        "model.preprocessor.like(model.preprocessor, threshold=",
        lambda: after(
            lambda model: setattr(model, "preprocessor", READER.like(READER, threshold=0.3)),
            lambda model: model.answer("a"),
        ),
    ),
    (
        lambda: kb.BertPretrainer(encoder(), masked_lm_activation=len),
        "activation name",
        lambda: kb.BertPretrainer(encoder(), masked_lm_activation="relu"),
    ),
    # Corpora and files
    (lambda: kb.Corpus("."), "prepare_corpus", lambda: kb.Corpus(corpus().folder)),
    (lambda: corpus(seed={1}), "seed integer", lambda: corpus(seed=1)),
    (
        lambda: corpus(document_separator=["^x"]),
        "document_separator regular",
        lambda: corpus(document_separator="^x"),
    ),
    (
        lambda: pretraining(1),
        "document_separator next_sentence=False",
        lambda: pretraining(1, next_sentence=False),
    ),
    (
        lambda: corpus().check_tokenizer(kb.BertTokenizer(WORDS, lowercase=False)),
        "BertTokenizer('corpus/vocab.txt', lowercase=True)",
        lambda: corpus().check_tokenizer(kb.BertTokenizer("corpus/vocab.txt", lowercase=True)),
    ),
    (
        lambda: metrics.retrieval_scores([1], [2]),
        "relevance query document",
        lambda: metrics.retrieval_scores({"q": {"d": 1}}, {"q": {"d": 2}}),
    ),
]


@pytest.mark.parametrize(("wrong", "named", "right"), ADVICE)
def test_advice_works(wrong, named, right, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        wrong()
    assert [part for part in named.split() if part not in str(caught.value)] == []
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    right()
